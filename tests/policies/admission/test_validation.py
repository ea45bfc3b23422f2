"""The decision on an object, by the enforcement of the policies that hold it."""

from __future__ import annotations

from typing import Any

import pytest

from policies.admission.decision import AdmissionVerdict, Decision
from policies.admission.injection import decide_mutation
from policies.admission.review_cost import ReviewLimits, unlimited
from policies.admission.validation import decide_validation
from policies.config.context import AdmissionContext
from policies.model.version import KubernetesVersion
from tests.builders import a_constraint, a_pod, a_policy, a_workload
from tests.planning.clusters import two_full_zones
from tests.policies.config.contexts import a_context, defaults, read

BAD = {"topologySpreadConstraints": [a_constraint(maxSkew=0, minDomains=-1)]}
GOOD = {"topologySpreadConstraints": [a_constraint()]}


def validate(obj: dict[str, Any], context: AdmissionContext, old: dict[str, Any] | None = None) -> Decision:
    before = None if old is None else read(old, context)
    return decide_validation(read(obj, context, stored=before is not None), before, context)


@pytest.mark.parametrize(
    ("enforcements", "verdict", "errors", "warnings", "audited"),
    [
        pytest.param(["deny"], AdmissionVerdict.DENIED, 2, 0, True, id="deny: refused with 2 errors"),
        pytest.param(["warn"], AdmissionVerdict.WARNED, 0, 2, True, id="warn: 2 warnings"),
        pytest.param(["audit"], AdmissionVerdict.ALLOWED, 0, 0, True, id="audit: the audit log alone"),
        pytest.param(
            ["audit", "warn"], AdmissionVerdict.WARNED, 0, 2, True, id="warn is stricter than audit"
        ),
        pytest.param(["warn", "deny"], AdmissionVerdict.DENIED, 2, 0, True, id="deny is stricter than warn"),
    ],
)
def test_enforcement(
    enforcements: list[str],
    verdict: AdmissionVerdict,
    errors: int,
    warnings: int,
    audited: bool,  # noqa: FBT001
) -> None:
    """All errors are told in the way of the strictest policy in scope, and the audit log has them always."""
    context = a_context(*(a_policy(name, enforcement=name) for name in enforcements))
    decision = validate(a_pod(spec=BAD), context)

    assert (verdict, errors, warnings, audited) == (
        decision.verdict,
        len(decision.errors),
        len(decision.warnings),
        "violations" in decision.audit,
    )
    assert ("max-skew-not-positive", "min-domains-not-positive") == decision.rules


def test_a_controller_s_pods_are_warned_about_in_the_audit_log_alone() -> None:
    """Nobody reads a warning on a pod that a controller creates."""
    pod = a_pod(spec=BAD, owner=("apps/v1", "ReplicaSet", "web-1"))
    decision = validate(pod, a_context(a_policy(enforcement="warn")))

    assert (AdmissionVerdict.WARNED, (), 2) == (decision.verdict, decision.warnings, len(decision.rules))
    assert "violations" in decision.audit


@pytest.mark.parametrize(
    ("value", "warned"), [("false", False), ("true", False), ("no", True), ("False", True)]
)
def test_values_of_the_opt_out_that_do_nothing_are_told(value: str, warned: bool) -> None:  # noqa: FBT001
    """Only "false" opts out; whoever writes anything else but "true" is told."""
    decision = validate(a_workload(template_annotations={"evenkeel.dev/inject": value}), a_context())

    assert warned == bool(decision.warnings)


def test_audit_warns_nobody() -> None:
    """Under audit not even a useless exemption is told to the person."""
    annotations = {"evenkeel.dev/ignore": "max-skew-not-positive"}
    decision = validate(a_workload(annotations=annotations), a_context(a_policy(enforcement="audit")))

    assert Decision(verdict=AdmissionVerdict.ALLOWED) == decision


def test_out_of_scope_is_let_through() -> None:
    """An object that no policy holds is allowed, whatever it is."""
    context = a_context(a_policy(scope={"excludeNamespaces": ["sh*"]}))

    assert validate(a_pod(spec=BAD), context) == Decision(verdict=AdmissionVerdict.ALLOWED)


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        pytest.param(GOOD, BAD, ["max-skew-not-positive", "min-domains-not-positive"], id="good before"),
        pytest.param(BAD, BAD, [], id="as bad as before"),
        pytest.param(
            {"topologySpreadConstraints": [a_constraint(maxSkew=0)]},
            BAD,
            ["min-domains-not-positive"],
            id="one rule broken before, one kept",
        ),
        pytest.param(BAD, {"topologySpreadConstraints": "?"}, ["wrong-type"], id="another rule"),
        pytest.param(BAD, GOOD, [], id="mended"),
    ],
)
def test_updates_are_held_to_rules_that_the_old_object_kept(
    old: dict[str, Any], new: dict[str, Any], rules: list[str]
) -> None:
    """An object that was bad stays editable in its other fields, and may get no worse."""
    decision = validate(a_workload(spec=new), a_context(), a_workload(spec=old))

    assert rules == list(decision.rules)
    assert bool(rules) == (decision.verdict is AdmissionVerdict.DENIED)


def entries(*given: dict[str, Any]) -> dict[str, Any]:
    return {"topologySpreadConstraints": [a_constraint() | each for each in given]}


#: One mistake each: of the API's rules by value and by type, and of a rule of ours.
ZERO: dict[str, Any] = {"maxSkew": 0}
FLOAT: dict[str, Any] = {"maxSkew": 1.0}
ALL: dict[str, Any] = {"labelSelector": None}
HOSTS: dict[str, Any] = {"topologyKey": "kubernetes.io/hostname"}
SOFT: dict[str, Any] = {"whenUnsatisfiable": "ScheduleAnyway"}
UNKNOWN: dict[str, Any] = {"nodeTaintsPolicy": "Perhaps"}
#: What an object may keep: an error of each rule that leaves a constraint readable.
KEPT: dict[str, dict[str, Any]] = {
    "a text": {"maxSkew": "1"},
    "zero": ZERO,
    "an unknown field": {"maxSkews": 2},
    "no domains": {"minDomains": 0},
    "domains of a soft constraint": SOFT | {"minDomains": 2},
    "an unknown policy": {"nodeAffinityPolicy": "Perhaps"},
    "a requirement without values": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
}


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        pytest.param([FLOAT], [FLOAT | {"minDomains": 2.0}], {"wrong-type"}, id="of another field"),
        pytest.param([FLOAT], [FLOAT | ALL], {"selector-missing"}, id="of a rule, beside a wrong type"),
        *(
            pytest.param([kept], [kept | ALL], {"selector-missing"}, id=f"of a rule, beside {name}")
            for name, kept in KEPT.items()
        ),
        *(
            pytest.param([kept], [kept | UNKNOWN], {"node-inclusion-policy-unknown"}, id=f"beside {name}")
            for name, kept in KEPT.items()
        ),
        pytest.param(
            [SOFT | FLOAT],
            [SOFT | {"minDomains": 2.0}],
            {"wrong-type", "min-domains-with-schedule-anyway"},
            id="both of one field",
        ),
        pytest.param([FLOAT], [ZERO], {"max-skew-not-positive"}, id="of another kind"),
        pytest.param([ZERO], [ZERO, HOSTS | ZERO], {"max-skew-not-positive"}, id="of another entry"),
        pytest.param([{}, ZERO], [ZERO, HOSTS | ZERO], {"max-skew-not-positive"}, id="of an entry before it"),
        pytest.param([ALL], [ALL, HOSTS | ALL], {"selector-missing"}, id="of a rule, of another entry"),
        pytest.param([ZERO], [{"maxSkew": -1}], set(), id="as bad as before, by another value"),
        pytest.param([ZERO, HOSTS], [HOSTS, ZERO], set(), id="moved"),
        pytest.param([HOSTS, ALL], [ALL], set(), id="moved, of a rule"),
        pytest.param([ZERO, HOSTS | ZERO], [ZERO, HOSTS], set(), id="one of two mended"),
    ],
)
def test_a_kept_mistake_hides_no_other(
    old: list[dict[str, Any]], new: list[dict[str, Any]], rules: set[str]
) -> None:
    """A mistake is another one if it is in another field, of another kind, or there are more of it."""
    decision = validate(a_workload(spec=entries(*new)), a_context(), a_workload(spec=entries(*old), uid="1"))

    assert rules == {error.rule for error in decision.errors}
    assert len(decision.errors) == len(rules)


def test_the_further_mistake_is_named() -> None:
    """Of two of a kind the one is told whose entry had none."""
    old, new = entries({}, ZERO | HOSTS), entries(ZERO, ZERO | HOSTS)
    decision = validate(a_workload(spec=new), a_context(), a_workload(spec=old))

    assert ["spec.template.spec.topologySpreadConstraints[0].maxSkew"] == [
        str(error.path) for error in decision.errors
    ]


def test_1_34_merged_pod_passes_created_and_updated() -> None:
    """The 1.34 merge trap: the API server's expression is no conflict, not even once the label changed."""
    constraint = a_constraint(
        labelSelector={"matchExpressions": [{"key": "rev", "operator": "In", "values": ["a"]}]},
        matchLabelKeys=["rev"],
    )
    spec = {"topologySpreadConstraints": [constraint]}
    stored = a_pod(labels={"rev": "a"}, spec=spec, uid="1")
    relabeled = a_pod(labels={"rev": "b"}, spec=spec, uid="1")
    by_hand = a_pod(labels={"rev": "a"}, spec=spec)

    assert AdmissionVerdict.ALLOWED is validate(stored, a_context()).verdict
    assert AdmissionVerdict.ALLOWED is validate(relabeled, a_context(), stored).verdict
    assert AdmissionVerdict.DENIED is validate(by_hand, a_context()).verdict
    assert (
        AdmissionVerdict.DENIED
        is validate(a_workload(labels={"rev": "a"}, spec=spec, uid="1"), a_context()).verdict
    )


def test_exemptions_switch_single_rules_off() -> None:
    """An exempt rule is not enforced, the audit log keeps the reason, and the other rules stay in force."""
    exempt = {"evenkeel.dev/ignore": "max-skew-not-positive: until the chart is fixed"}
    policy = a_policy(annotationExemptions="allowed")
    decision = validate(a_workload(spec=BAD, annotations=exempt), a_context(policy))

    assert ("min-domains-not-positive",) == decision.rules
    assert "max-skew-not-positive: until the chart is fixed" == decision.audit["exempted"]


def test_exemptions_without_reason_are_told() -> None:
    """An exemption without a reason exempts from nothing; a person is warned of it, a controller not."""
    annotations = {"evenkeel.dev/ignore": "max-skew-not-positive"}
    owned = a_pod(spec=GOOD, annotations=annotations, owner=("apps/v1", "ReplicaSet", "web-1"))

    denied = validate(a_workload(spec=BAD, annotations=annotations), a_context())

    assert (AdmissionVerdict.DENIED, 1) == (denied.verdict, len(denied.warnings))
    assert 1 == len(validate(a_workload(spec=GOOD, annotations=annotations), a_context()).warnings)
    assert () == validate(owned, a_context()).warnings


def test_a_key_listed_twice_is_a_warning_on_a_workload() -> None:
    """The API server stores such a workload and then refuses its pods, so the person is warned."""
    twice = a_constraint(matchLabelKeys=["pod-template-hash", "pod-template-hash"])
    decision = validate(a_workload(spec={"topologySpreadConstraints": [twice]}), a_context())

    assert AdmissionVerdict.WARNED is decision.verdict
    assert "matchLabelKeys[1]: pod-template-hash is listed twice" in str(decision.warnings[0])


@pytest.mark.parametrize(
    ("version", "verdict"), [("1.36", AdmissionVerdict.DENIED), ("1.99", AdmissionVerdict.ALLOWED)]
)
def test_unknown_fields(version: str, verdict: AdmissionVerdict) -> None:
    """A field that 1.36 does not have is refused, unless the cluster is newer and may have it."""
    context = a_context(kubernetes_version=KubernetesVersion.parse(version))

    assert (
        verdict is validate(a_pod(spec={"topologySpreadConstraints": [a_constraint(new=1)]}), context).verdict
    )


def foretold(obj: dict[str, Any], enforcement: str, **scope: Any) -> Decision:
    context = a_context(a_policy(enforcement=enforcement, scope=scope), cluster=two_full_zones())
    return decide_validation(read(obj), None, context, ReviewLimits(forecast=unlimited))


@pytest.mark.parametrize(
    ("enforcement", "verdict", "warnings"),
    [
        ("deny", AdmissionVerdict.WARNED, 1),
        ("warn", AdmissionVerdict.WARNED, 1),
        ("audit", AdmissionVerdict.ALLOWED, 0),
    ],
)
def test_a_workload_that_fits_nowhere(enforcement: str, verdict: AdmissionVerdict, warnings: int) -> None:
    """It is never denied; a person is told unless the policy only audits, and the audit log has it always."""
    decision = foretold(a_workload(spec=GOOD), enforcement)

    assert (verdict, (), warnings) == (decision.verdict, decision.errors, len(decision.warnings))
    assert ("unschedulable",) == decision.rules
    assert decision.audit["unschedulable"].startswith("0/6 nodes are available: ")


@pytest.mark.parametrize(
    ("obj", "scope"),
    [
        pytest.param(a_workload(spec=GOOD), {"excludeNamespaces": ["sh*"]}, id="no policy holds it"),
        pytest.param(
            a_workload(spec=GOOD, annotations={"evenkeel.dev/ignore": "unschedulable: nodes come on demand"}),
            {},
            id="it is exempt",
        ),
        pytest.param(a_workload(spec=BAD), {}, id="it is denied"),
    ],
)
def test_no_forecast(obj: dict[str, Any], scope: dict[str, Any]) -> None:
    """Whoever is out of scope, exempt or denied hears nothing of where the pods would go."""
    assert "unschedulable" not in foretold(obj, "deny", **scope).rules


def test_a_forecast_stands_before_advice() -> None:
    """That no pod starts matters more than an annotation without effect."""
    decision = foretold(a_workload(spec=GOOD, annotations={"evenkeel.dev/inject": "no"}), "deny")

    [first, second] = decision.warnings
    assert "fits 0 of 6 nodes" in first.text
    assert "evenkeel.dev/inject" == second.topic


def test_injection_is_told_to_people_and_to_the_audit_log() -> None:
    """Who applies a workload reads what was added; of a controller's pod, only the audit log has it."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}},
    }
    context = a_context(a_policy(defaults=defaults("both")), cluster=[service])
    applied = decide_mutation(read(a_workload()), context)
    created = decide_mutation(read(a_pod(owner=("apps/v1", "ReplicaSet", "web-1"))), context)

    assert (AdmissionVerdict.INJECTED, 2, 1) == (applied.verdict, applied.injected, len(applied.warnings))
    assert "SpreadPolicy production" in applied.warnings[0].text
    assert "topology.kubernetes.io/zone ScheduleAnyway maxSkew 1" in applied.audit["injected"]
    assert (AdmissionVerdict.INJECTED, ()) == (created.verdict, created.warnings)
    assert created.audit["injected"].startswith("production: ")


def test_skipped_injection_is_audited() -> None:
    """The audit log says why an object in scope of a policy with defaults got none."""
    decision = decide_mutation(read(a_pod()), a_context(a_policy(defaults=defaults())))

    assert (AdmissionVerdict.ALLOWED, ()) == (decision.verdict, decision.patch)
    assert "no cluster is connected" in decision.audit["injection-skipped"]


@pytest.mark.parametrize(
    ("obj", "enforcement", "warnings"),
    [
        pytest.param(a_workload(spec=GOOD), "deny", 1, id="a person's workload"),
        pytest.param(a_workload(spec=GOOD), "audit", 0, id="audit: nobody is told"),
        pytest.param(
            a_pod(spec=GOOD, owner=("apps/v1", "ReplicaSet", "web-1")), "deny", 0, id="a controller's"
        ),
        pytest.param(a_pod(spec=BAD), "deny", 0, id="denied: there is enough to read"),
    ],
)
def test_a_picture_that_cannot_be_used_is_told(obj: dict[str, Any], enforcement: str, warnings: int) -> None:
    """Whoever waits for a word of the cluster reads that there is none, and the audit log has it."""
    context = a_context(a_policy(enforcement=enforcement)).without_cluster("it is 200 s old")
    decision = validate(obj, context)
    by_person = not read(obj).owner

    assert warnings == sum("it is 200 s old" in str(warning) for warning in decision.warnings)
    assert by_person == ("withheld" in decision.audit)


def test_an_update_that_makes_no_pod_needs_no_cluster() -> None:
    """Nothing was to be said of the cluster, so nothing is withheld."""
    context = a_context(a_policy()).without_cluster("it is 200 s old")
    obj = a_workload(spec=GOOD)

    assert () == validate(obj, context, old=obj).warnings

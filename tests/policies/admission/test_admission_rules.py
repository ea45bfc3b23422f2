"""The rules of the linter over one object under review."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from policies.admission.admission_rules import error_text, rules_at_admission
from policies.admission.decision import AdmissionVerdict, Decision
from policies.admission.review_cost import MAX_READ, MAX_STEPS, NoTime, ReviewLimits
from policies.admission.validation import decide_validation
from policies.config.context import AdmissionContext
from policies.manifests.fields import ErrorKind
from policies.model.api_rules import API_RULES
from policies.model.workload_kinds import KNOWN_KINDS, WorkloadKind
from policies.rules.base import AtAdmission, all_rules
from policies.scheduler import capacity
from tests.builders import a_constraint, a_deployment, a_node, a_pod, a_policy, a_workload
from tests.planning.clusters import ZONE_KEY
from tests.policies.config.contexts import a_context, read
from tests.policies.rules.stateful_sets import a_class, a_stateful_set

#: The rules that may deny an object, besides the API server's.
CERTAIN = frozenset(
    rule.id for rule in all_rules().values() if rule.at_admission is AtAdmission.DENY and not rule.is_api_rule
)
BY_REVISION = {"matchLabelKeys": ["pod-template-hash"]}
#: An error that the object alone proves, one that may be no mistake, a warning, and a note.
CERTAIN_ERROR = a_constraint(labelSelector=None)
ERROR = a_constraint(labelSelector={"matchLabels": {"app": "api"}})
WARNING = a_constraint(topologyKey="zone", **BY_REVISION)
NOTE = a_constraint(whenUnsatisfiable="ScheduleAnyway", maxSkew=5, **BY_REVISION)
GOOD = a_constraint(**BY_REVISION)
TWO_KEYS = {ZONE_KEY: 1, "kubernetes.io/hostname": 1}
WARN_OF_IT = {"topology-key-unqualified"}


def review(
    obj: dict[str, Any],
    context: AdmissionContext | None = None,
    *,
    old: dict[str, Any] | None = None,
    today: date | None = None,
    within: Callable[[Any], Any] | None = lambda work: work(),
) -> Decision:
    context = context or a_context()
    before = None if old is None else read(old, context)
    workload = read(obj, context, stored=before is not None)
    return decide_validation(workload, before, context, ReviewLimits(rules=within, today=today))


def test_rules_that_are_asked() -> None:
    """All that look at a workload are, but for those known from reading it, and those that need others."""
    asked = {rule.id for rule in rules_at_admission()}

    assert asked.isdisjoint(API_RULES | {"anti-affinity-misses-own-pod", "max-skew-never-binds"})
    assert {"selector-missing", "selector-names-revision-label"} == CERTAIN
    assert CERTAIN <= asked
    assert {"selector-misses-own-pod", "single-domain", "revision-key-missing"} <= asked


@pytest.mark.parametrize(
    ("constraint", "enforcement", "verdict", "errors", "warnings", "audited"),
    [
        pytest.param(CERTAIN_ERROR, "deny", AdmissionVerdict.DENIED, 1, 0, "violations", id="certain: deny"),
        pytest.param(CERTAIN_ERROR, "warn", AdmissionVerdict.WARNED, 0, 1, "violations", id="certain: warn"),
        pytest.param(
            CERTAIN_ERROR, "audit", AdmissionVerdict.ALLOWED, 0, 0, "violations", id="certain: audit"
        ),
        pytest.param(
            ERROR, "deny", AdmissionVerdict.WARNED, 0, 1, "violations", id="an error that may be none: deny"
        ),
        pytest.param(WARNING, "deny", AdmissionVerdict.WARNED, 0, 1, "violations", id="a warning: deny"),
        pytest.param(WARNING, "audit", AdmissionVerdict.ALLOWED, 0, 0, "violations", id="a warning: audit"),
        pytest.param(GOOD, "deny", AdmissionVerdict.ALLOWED, 0, 0, None, id="nothing"),
    ],
)
def test_what_becomes_of_a_finding(
    *,
    constraint: dict[str, Any],
    enforcement: str,
    verdict: AdmissionVerdict,
    errors: int,
    warnings: int,
    audited: str | None,
) -> None:
    """An error is enforced, a warning denies nothing, and the audit log has all of it."""
    decision = review(a_deployment(constraint), a_context(a_policy(enforcement=enforcement)))

    assert (verdict, errors, warnings) == (decision.verdict, len(decision.errors), len(decision.warnings))
    assert ([audited] if audited else []) == list(decision.audit)
    assert bool(audited) == bool(decision.rules)


@pytest.mark.parametrize(
    ("constraint", "rule", "settings", "verdict"),
    [
        pytest.param(
            ERROR, "selector-misses-own-pod", {"severity": "error"}, AdmissionVerdict.DENIED, id="an error"
        ),
        pytest.param(
            WARNING,
            "topology-key-unqualified",
            {"enforcement": "deny"},
            AdmissionVerdict.DENIED,
            id="a warning denies",
        ),
        pytest.param(
            CERTAIN_ERROR,
            "selector-missing",
            {"enforcement": "warn"},
            AdmissionVerdict.WARNED,
            id="an error warns",
        ),
        pytest.param(
            CERTAIN_ERROR,
            "selector-missing",
            {"severity": "note"},
            AdmissionVerdict.ALLOWED,
            id="an error is noted",
        ),
        pytest.param(
            a_constraint(maxSkew=0),
            "max-skew-not-positive",
            {"enforcement": "warn"},
            AdmissionVerdict.WARNED,
            id="a rule of the API warns",
        ),
    ],
)
def test_settings_of_a_rule(
    constraint: dict[str, Any], rule: str, settings: dict[str, str], verdict: AdmissionVerdict
) -> None:
    """The settings that a policy has for the rule itself override all others."""
    decision = review(a_deployment(constraint), a_context(a_policy(rules={rule: settings})))

    assert verdict is decision.verdict
    assert (rule in decision.rules) != ("notes" in decision.audit)


def test_notes_are_for_the_audit_log_alone() -> None:
    """Nobody is told of a note, and no metric counts it."""
    rules = {"topology-key-unqualified": {"severity": "note"}}
    decision = review(a_deployment(WARNING), a_context(a_policy(rules=rules)))

    assert (AdmissionVerdict.ALLOWED, (), ()) == (decision.verdict, decision.warnings, decision.rules)
    assert decision.audit["notes"].startswith("topology-key-unqualified: spec.template.spec.")


@pytest.mark.parametrize(
    ("obj", "rules"),
    [
        pytest.param(a_pod(spec={"topologySpreadConstraints": [WARNING]}), WARN_OF_IT, id="a bare pod"),
        pytest.param(
            a_pod(spec={"topologySpreadConstraints": [WARNING]}, owner=("apps/v1", "ReplicaSet", "web-1")),
            set(),
            id="a controller's pod",
        ),
        pytest.param(
            a_pod(
                spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]},
                owner=("apps/v1", "ReplicaSet", "w"),
            ),
            {"max-skew-not-positive"},
            id="a controller's broken pod",
        ),
        pytest.param(a_deployment(WARNING), WARN_OF_IT, id="a Deployment"),
        pytest.param(
            a_deployment(*(GOOD | {"topologyKey": f"k{n}"} for n in range(50)), WARNING),
            WARN_OF_IT,
            id="the last of 51 constraints",
        ),
        pytest.param(
            a_deployment(*[{}] * 300),
            {
                "max-skew-not-positive",
                "topology-key-missing",
                "when-unsatisfiable-unknown",
                "constraint-repeated",
                *CERTAIN,
            },
            id="300 broken ones: rules that deny cannot be asked",
        ),
    ],
)
def test_what_is_asked(obj: dict[str, Any], rules: set[str]) -> None:
    """Rules are asked of what a person applies; what was found in reading it is told once, of everything."""
    decision = review(obj)

    assert rules >= set(decision.rules)
    assert bool(rules) == bool(decision.rules)
    assert len(decision.errors) == len(set(map(error_text, decision.errors)))


def test_certainty_depends_on_the_controller() -> None:
    """An error is not certain if a custom controller may fill in the pod: it warns."""
    obj = a_workload("CloneSet", "apps.kruise.io", spec={"topologySpreadConstraints": [CERTAIN_ERROR]})

    assert AdmissionVerdict.WARNED is review(obj).verdict


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        pytest.param(a_deployment(GOOD), a_deployment(WARNING), WARN_OF_IT, id="good before"),
        pytest.param(a_deployment(WARNING), a_deployment(WARNING, replicas=4), set(), id="as bad as before"),
        pytest.param(
            a_deployment(WARNING), a_deployment(WARNING, annotations={"a": "b"}), set(), id="another field"
        ),
        pytest.param(
            a_deployment(WARNING), a_deployment(CERTAIN_ERROR), {"selector-missing"}, id="another rule"
        ),
        pytest.param(
            a_deployment(WARNING, replicas=1),
            a_deployment(a_constraint(topologyKey="zone")),
            {"revision-key-missing"},
            id="one rule broken before, one kept",
        ),
    ],
)
def test_updates(old: dict[str, Any], new: dict[str, Any], rules: set[str]) -> None:
    """An update is held to the rules that the stored object kept."""
    assert rules == set(review(new, old=old).rules)


@pytest.mark.parametrize(
    "kind", [kind for kind in KNOWN_KINDS if not kind.is_pod], ids=lambda kind: kind.name
)
def test_updates_of_every_kind(kind: WorkloadKind) -> None:
    """Wherever a kind keeps its template, a change of it is looked at."""
    old, new = (
        a_workload(kind.kind, kind.group, spec=spec)
        for spec in (None, {"topologySpreadConstraints": [CERTAIN_ERROR]})
    )

    assert "selector-missing" in review(new, old=old).rules


def test_updates_of_a_pod_are_held_to_no_rule() -> None:
    """The constraints of a pod that is there cannot change."""
    spec = {"topologySpreadConstraints": [ERROR]}

    assert () == review(a_pod(spec=spec), old=a_pod(labels={"app": "api"}, spec=spec)).rules


@pytest.mark.parametrize(
    ("today", "verdict"),
    [(date(2026, 1, 31), AdmissionVerdict.ALLOWED), (date(2026, 2, 1), AdmissionVerdict.DENIED)],
)
def test_exemptions(today: date, verdict: AdmissionVerdict) -> None:
    """A rule is switched off for an object until the last day that its annotation names."""
    annotations = {"evenkeel.dev/ignore": "selector-missing: moving house (until 2026-01-31)"}
    context = a_context(a_policy(annotationExemptions="allowed"))
    decision = review(a_deployment(CERTAIN_ERROR, annotations=annotations), context, today=today)

    assert verdict is decision.verdict
    assert (verdict is AdmissionVerdict.ALLOWED) == ("exempted" in decision.audit)


#: A class that makes zonal disks at once.
AT_ONCE = a_class(provisioner="ebs.csi.aws.com")


@pytest.mark.parametrize(
    ("cluster", "found", "unknown"),
    [
        pytest.param([AT_ONCE], True, False, id="a class that binds at once"),
        pytest.param(
            [a_class(provisioner="ebs.csi.aws.com", volumeBindingMode="WaitForFirstConsumer")],
            False,
            False,
            id="a class that waits",
        ),
        pytest.param([a_class("hdd")], False, True, id="another class"),
        pytest.param([], False, True, id="no class could be read"),
        pytest.param(None, False, True, id="no cluster"),
    ],
)
def test_storage_classes(
    cluster: list[dict[str, Any]] | None,
    found: bool,  # noqa: FBT001
    unknown: bool,  # noqa: FBT001
) -> None:
    """Rules about volumes know the cluster's classes; what is not known is in the audit log alone."""
    nodes = [a_node("n1", "zone-a"), a_node("n2", "zone-b")]
    context = a_context(cluster=None if cluster is None else [*nodes, *cluster])

    decision = review(a_stateful_set(), context)

    rule = "volume-bound-before-spreading"
    assert found == (rule in decision.rules)
    assert unknown == (rule in decision.audit.get("not-judged", ""))
    assert (AdmissionVerdict.WARNED if found else AdmissionVerdict.ALLOWED) is decision.verdict


def test_a_missing_class_denies_nothing() -> None:
    """A policy that denies what a rule finds does not deny what the rule cannot judge."""
    context = a_context(
        a_policy(rules={"volume-bound-before-spreading": {"enforcement": "deny"}}), cluster=[]
    )

    decision = review(a_stateful_set(), context)

    assert AdmissionVerdict.ALLOWED is decision.verdict
    assert "not-judged" in decision.audit


def test_a_class_that_comes_later() -> None:
    """The rules see what the cache has when they run, though no node has changed."""
    context = a_context(cluster=[a_node("n1", "zone-a"), a_node("n2", "zone-b")])
    before = review(a_stateful_set(), context)
    assert context.cluster is not None
    context.cluster.apply(AT_ONCE)

    assert not before.rules
    assert review(a_stateful_set(), context).rules


ONE_ZONE = [a_node(f"n{number}", "zone-a") for number in range(2)]


@pytest.mark.parametrize(
    ("cluster", "replicas", "found"),
    [
        pytest.param(ONE_ZONE, 3, True, id="2 nodes in one zone"),
        pytest.param([*ONE_ZONE, a_node("n3", "zone-b")], 3, False, id="3 nodes in 2 zones"),
        pytest.param([], 3, False, id="a cluster that has yet to get nodes"),
        pytest.param(None, 3, False, id="no cluster"),
        pytest.param(ONE_ZONE, 2**31 - 1, True, id="as many replicas as the API server takes"),
    ],
)
def test_nodes(cluster: list[dict[str, Any]] | None, replicas: int, found: bool) -> None:  # noqa: FBT001
    """Rules that look at nodes are asked where there are some; they warn."""
    decision = review(a_deployment(GOOD, replicas=replicas), a_context(cluster=cluster))

    assert found == ("single-domain" in decision.rules)
    assert (AdmissionVerdict.WARNED if found else AdmissionVerdict.ALLOWED) is decision.verdict


def a_wish(*, requirements: int, values: int = 1, terms: int = 1) -> dict[str, Any]:
    """Return required node affinity."""
    wish = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [f"o-{n}" for n in range(values)]}
    entries = [{"matchExpressions": [wish] * requirements}] * terms
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": entries}}
    }


def a_demanding(*constraints: dict[str, Any], **spec: Any) -> dict[str, Any]:
    deployment = a_deployment(*constraints)
    deployment["spec"]["template"]["spec"] |= spec
    return deployment


TOLERATIONS = [{"key": f"t{n}", "operator": "Exists"} for n in range(MAX_READ)]
NODE_RULE = "single-domain"
#: A rule that looks at the pod's spec alone, and is not among those that are always asked.
POD_RULE = "topology-key-unqualified"


@pytest.mark.parametrize(
    ("obj", "skipped"),
    [
        pytest.param(a_demanding(GOOD, affinity=a_wish(requirements=900)), set(), id="900 requirements"),
        pytest.param(
            a_demanding(GOOD, affinity=a_wish(requirements=1, values=MAX_READ - 100)),
            set(),
            id="9,900 values",
        ),
        pytest.param(
            a_demanding(GOOD, affinity=a_wish(requirements=MAX_READ // 4)),
            {POD_RULE, NODE_RULE},
            id="10,000 entries of requirements",
        ),
        pytest.param(
            a_demanding(GOOD, affinity=a_wish(requirements=0, terms=MAX_READ)),
            {POD_RULE, NODE_RULE},
            id="10,000 empty terms",
        ),
        pytest.param(a_demanding(GOOD, tolerations=TOLERATIONS), {POD_RULE, NODE_RULE}, id="tolerations"),
        pytest.param(
            a_demanding(GOOD, containers=[{}] * MAX_READ), {POD_RULE, NODE_RULE}, id="10,000 containers"
        ),
        pytest.param(
            a_demanding(
                *(GOOD | {"topologyKey": f"k{n}"} for n in range(100)), affinity=a_wish(requirements=200)
            ),
            {POD_RULE, NODE_RULE},
            id="100 constraints over 800 entries",
        ),
        pytest.param(
            a_demanding(GOOD | {f"f{n}": 1 for n in range(300)}),
            {POD_RULE, NODE_RULE, *CERTAIN},
            id="300 unknown fields",
        ),
        pytest.param(
            a_demanding(GOOD, GOOD | {"labelSelector": {"matchLabels": {str(n): "" for n in range(3000)}}}),
            {POD_RULE, NODE_RULE, *CERTAIN},
            id="too large to check",
        ),
    ],
)
@pytest.mark.parametrize("enforced", [True, False])
def test_what_would_take_too_long(obj: dict[str, Any], skipped: set[str], *, enforced: bool) -> None:
    """It is not asked, which is said in a warning and the audit log; what denies is denied."""
    rules = {rule: {"enforcement": "deny"} for rule in (POD_RULE, NODE_RULE)} if enforced else {}
    policy = a_policy(rules=rules | {rule: {"enforcement": "warn"} for rule in (*API_RULES, *CERTAIN)})
    decision = review(obj, a_context(policy, cluster=[*ONE_ZONE, a_node("n3", "zone-b")]))
    named = {rule for entry in decision.skipped for rule in entry.rules}

    assert skipped == named & {POD_RULE, NODE_RULE, *CERTAIN}
    assert bool(skipped) == ("not-judged" in decision.audit)
    assert bool(skipped) == any("not checked" in warning.text for warning in decision.warnings)
    assert (skipped & rules.keys()) == {error.rule for error in decision.errors}
    assert all(error.kind is ErrorKind.TOO_MANY for error in decision.errors)


def test_nodes_that_would_take_too_long() -> None:
    """Rules that look at nodes are left out where there are too many for what a pod asks of each."""
    count = MAX_STEPS // (3 * 850)
    nodes = [a_node(f"n{n}", "zone-a") for n in range(count)]
    found = review(a_demanding(GOOD, affinity=a_wish(requirements=900)), a_context(cluster=nodes))
    fewer = review(a_demanding(GOOD, affinity=a_wish(requirements=700)), a_context(cluster=nodes))

    [not_judged] = found.skipped
    assert NODE_RULE in not_judged.rules
    assert POD_RULE not in not_judged.rules
    assert f"with {count} nodes" in not_judged.why
    assert ((), (NODE_RULE,)) == (fewer.skipped, fewer.rules)


def test_an_update_of_what_could_not_be_judged_before() -> None:
    """It is not held up for that, but told; what could be judged before is."""
    context = a_context(a_policy(rules={POD_RULE: {"enforcement": "deny"}}))
    large = a_demanding(GOOD, tolerations=TOLERATIONS)
    larger = a_demanding(GOOD, tolerations=[*TOLERATIONS, {}])

    assert () == review(larger, context, old=large).errors
    assert "not-judged" in review(larger, context, old=large).audit
    assert [POD_RULE] == [error.rule for error in review(large, context, old=a_demanding(GOOD)).errors]


@pytest.mark.parametrize(
    ("tolerations", "held_up"),
    [
        pytest.param(1_000, False, id="3,000 entries each"),
        pytest.param(2_500, True, id="7,500 entries each"),
    ],
)
def test_an_update_costs_what_one_object_may(tolerations: int, *, held_up: bool) -> None:
    """The stored object is compared only if both objects together are within the limit of one."""
    context = a_context(a_policy(rules={POD_RULE: {"enforcement": "deny"}}))
    old = a_demanding(WARNING, tolerations=TOLERATIONS[:tolerations])
    new = {**old, "spec": {**old["spec"], "replicas": 7}}

    assert [POD_RULE] == [error.rule for error in review(old, context).errors]
    assert ([POD_RULE] if held_up else []) == [error.rule for error in review(new, context, old=old).errors]


def test_advice_without_time() -> None:
    """Without time rules that look at nodes are left out, which is said, but for those that deny."""
    context = a_context(cluster=ONE_ZONE)
    enforcing = a_context(a_policy(rules={NODE_RULE: {"enforcement": "deny"}}), cluster=ONE_ZONE)

    def no_time(_work: Any) -> NoTime:
        return NoTime.NO_TIME

    assert () == review(a_deployment(GOOD), context, within=None).rules
    [not_judged] = review(a_deployment(GOOD), context, within=no_time).skipped
    assert NODE_RULE in not_judged.rules
    assert "time" in not_judged.why
    enforced = review(a_deployment(GOOD), enforcing, within=no_time)
    assert [NODE_RULE] == [error.rule for error in enforced.errors]
    assert NODE_RULE not in enforced.skipped[0].rules


UNEVEN = [a_node(f"n{number}", "zone-b" if number == 3 else "zone-a") for number in range(4)]
TOGETHER = "constraints-unsatisfiable-together"


def test_a_search_that_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told like a rule that was not run, and denies where the rule does, but no update of the like."""
    context = a_context(a_policy(rules={TOGETHER: {"enforcement": "deny"}}), cluster=UNEVEN)
    given = [a_constraint(maxSkew=skew, topologyKey=key, **BY_REVISION) for key, skew in TWO_KEYS.items()]
    obj, old = a_deployment(*given, replicas=4), a_deployment(GOOD, replicas=4)
    assert [TOGETHER] == [error.rule for error in review(obj, context).errors]

    monkeypatch.setattr(capacity, "MOST_COMPARISONS", 0)
    context = a_context(a_policy(rules={TOGETHER: {"enforcement": "deny"}}), cluster=UNEVEN)
    decision = review(obj, context)
    assert [(TOGETHER, ErrorKind.TOO_MANY)] == [(error.rule, error.kind) for error in decision.errors]
    assert TOGETHER in decision.audit["not-judged"]
    assert [TOGETHER] == [error.rule for error in review(obj, context, old=old).errors]
    longer = {**obj, "spec": {**obj["spec"], "replicas": 5}}
    assert () == review(longer, context, old=obj).errors


def test_listed_domains_need_no_time() -> None:
    """The domains that a policy lists are known without any node."""
    context = a_context(a_policy(topology={"domains": {ZONE_KEY: ["zone-a"]}}))

    assert ("single-domain",) == review(a_deployment(GOOD), context, within=None).rules


def test_the_worst_is_told_first() -> None:
    """Of many warnings a person reads the first: errors, what the linter calls one, then one of each rule."""
    context = a_context(a_policy(rules={"selector-missing": {"enforcement": "warn"}}))
    unqualified = [a_constraint(topologyKey=key, **BY_REVISION) for key in ("zone", "region")]
    deployment = a_deployment(*unqualified, a_constraint(), ERROR | BY_REVISION, CERTAIN_ERROR)
    deployment["spec"]["template"]["spec"]["topologySpreadConstraints"][3]["topologyKey"] = "rack"
    deployment["spec"]["template"]["spec"]["topologySpreadConstraints"][4]["topologyKey"] = "row"
    told = [remark.topic for remark in review(deployment, context).warnings]

    assert [
        "selector-missing",
        "selector-misses-own-pod",
        "topology-key-unqualified",
        "topology-key-unqualified",
        "revision-key-missing",
    ] == told


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param({}, (), id="not named"),
        pytest.param({"selector-empty": {"severity": "note"}}, (), id="another is named"),
        pytest.param({"no-spread": {"severity": "warning"}}, ("no-spread",), id="named"),
        pytest.param({"no-spread": {"params": {"minReplicas": 9}}}, (), id="from 9 replicas on"),
    ],
)
def test_opt_in_rules(rules: dict[str, Any], expected: tuple[str, ...]) -> None:
    """At admission an opt-in rule runs where a policy that holds the object names it."""
    assert expected == review(a_deployment(replicas=3), a_context(a_policy(rules=rules))).rules

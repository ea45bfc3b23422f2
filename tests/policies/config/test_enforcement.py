"""The exemptions of an object from a rule that a policy enforces, and those that do not count."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from policies.admission.decision import AdmissionVerdict, Decision
from policies.admission.review_cost import ReviewLimits
from policies.admission.validation import decide_validation
from policies.config.enforcement import Exempting, known_rules
from policies.config.spread_policy import Enforcement, PolicyException
from policies.manifests.findings import Severity
from policies.model.workload import Workload
from tests.builders import a_constraint, a_pod, a_policy, a_workload, kind_of
from tests.policies.config.contexts import a_context
from tests.policies.config.documents import policy_of

RULE = "max-skew-not-positive"
ANNOTATED = {"evenkeel.dev/ignore": f"{RULE}: the chart is not ours"}
BAD = {"topologySpreadConstraints": [a_constraint(maxSkew=0)]}
CONTROLLER = "system:serviceaccount:kube-system:replicaset-controller"


def an_exception(**fields: Any) -> dict[str, Any]:
    return {"exceptions": [{"rules": [RULE], "reason": "moving house"} | fields]}


def decided(
    obj: dict[str, Any], *policies: dict[str, Any], user: str | None = "jane", today: date | None = None
) -> Decision:
    kind = kind_of(obj["kind"], obj["apiVersion"].rpartition("/")[0])
    subject = Workload.read(obj, kind, "shop", user=user)
    return decide_validation(subject, None, a_context(*policies), ReviewLimits(today=today))


@pytest.mark.parametrize(
    ("specs", "verdict"),
    [
        pytest.param([{}], AdmissionVerdict.DENIED, id="deny: not by itself"),
        pytest.param(
            [{"annotationExemptions": "allowed"}], AdmissionVerdict.ALLOWED, id="the policy allows it"
        ),
        pytest.param(
            [{"rules": {RULE: {"annotationExemptions": "allowed"}}}],
            AdmissionVerdict.ALLOWED,
            id="for this rule",
        ),
        pytest.param(
            [{"rules": {"selector-missing": {"annotationExemptions": "allowed"}}}],
            AdmissionVerdict.DENIED,
            id="for another rule",
        ),
        pytest.param(
            [{"annotationExemptions": "allowed", "rules": {RULE: {"annotationExemptions": "denied"}}}],
            AdmissionVerdict.DENIED,
            id="but not for this rule",
        ),
        pytest.param(
            [{"annotationExemptions": "allowed"}, {}],
            AdmissionVerdict.DENIED,
            id="one of two that deny allows it",
        ),
        pytest.param(
            [{"annotationExemptions": "allowed"}, {"enforcement": "warn"}],
            AdmissionVerdict.ALLOWED,
            id="the other one only warns",
        ),
        pytest.param([{"enforcement": "warn"}], AdmissionVerdict.ALLOWED, id="warn: exempt from the warning"),
        pytest.param([{"enforcement": "audit"}], AdmissionVerdict.ALLOWED, id="audit"),
        pytest.param(
            [{"enforcement": "warn", "rules": {RULE: {"enforcement": "deny"}}}],
            AdmissionVerdict.DENIED,
            id="denied for by the rule's own setting",
        ),
        pytest.param(
            [{"rules": {RULE: {"enforcement": "warn"}}}],
            AdmissionVerdict.ALLOWED,
            id="warned of by the rule's own setting",
        ),
    ],
)
def test_annotations(specs: list[dict[str, Any]], verdict: AdmissionVerdict) -> None:
    """Whoever writes an object writes its annotations: they exempt from denials only if a policy says so."""
    policies = [a_policy(f"p{number}", **spec) for number, spec in enumerate(specs)]
    decision = decided(a_workload(spec=BAD, annotations=ANNOTATED), *policies)

    denied = verdict is AdmissionVerdict.DENIED

    assert verdict is decision.verdict
    assert ({"exemption-denied", "violations"} if denied else {"exempted"}) == set(decision.audit)
    assert (() if denied else ((RULE, "annotation"),)) == decision.exempted


def test_an_annotation_without_effect_is_told() -> None:
    """A denial says that the annotation has no effect, and the audit log keeps what it said."""
    decision = decided(a_workload(spec=BAD, annotations=ANNOTATED), a_policy())

    [note] = decision.notes
    assert note.startswith(f"evenkeel.dev/ignore: {RULE} has no effect: policy production")
    assert f"{RULE}: the chart is not ours" == decision.audit["exemption-denied"]
    assert () == decided(a_workload(spec=BAD), a_policy()).notes


@pytest.mark.parametrize(
    ("spec", "obj", "verdict"),
    [
        pytest.param(an_exception(), a_workload(spec=BAD), AdmissionVerdict.ALLOWED, id="of a rule"),
        pytest.param(
            an_exception(rules=["selector-missing"]),
            a_workload(spec=BAD),
            AdmissionVerdict.DENIED,
            id="of another",
        ),
        pytest.param(
            an_exception(namespaces=["sho*"], kinds=["Deployment"], names=["web"]),
            a_workload(spec=BAD),
            AdmissionVerdict.ALLOWED,
            id="of one object",
        ),
        pytest.param(
            an_exception(names=["cart"]), a_workload(spec=BAD), AdmissionVerdict.DENIED, id="of its neighbor"
        ),
        pytest.param(
            an_exception(until="2027-01-31"),
            a_workload(spec=BAD),
            AdmissionVerdict.ALLOWED,
            id="on its last day",
        ),
        pytest.param(
            an_exception(until="2027-01-30"), a_workload(spec=BAD), AdmissionVerdict.DENIED, id="over"
        ),
    ],
)
def test_exceptions_of_a_policy(spec: dict[str, Any], obj: dict[str, Any], verdict: AdmissionVerdict) -> None:
    """Who may write policies may except objects, which need no annotation for it."""
    decision = decided(obj, a_policy(**spec), today=date(2027, 1, 31))

    assert verdict is decision.verdict
    assert (() if verdict is AdmissionVerdict.DENIED else ((RULE, "policy"),)) == decision.exempted
    assert (
        verdict is AdmissionVerdict.DENIED
        or f"{RULE}: moving house (policy production)" == decision.audit["exempted"]
    )


@pytest.mark.parametrize(
    ("user", "verdict"),
    [
        pytest.param(CONTROLLER, AdmissionVerdict.ALLOWED, id="made by the controller"),
        pytest.param("jane", AdmissionVerdict.DENIED, id="made by a person"),
    ],
)
@pytest.mark.parametrize("names", [["web"], ["web-5dcb"], ["web*"]])
def test_an_exception_of_a_workload_is_one_of_its_pods(
    user: str, names: list[str], verdict: AdmissionVerdict
) -> None:
    """A pod goes by the names and kinds of its owners, unless a person only says that they are."""
    pod = a_pod(
        name="other",
        labels={"app": "web", "pod-template-hash": "5dcb"},
        owner=("apps/v1", "ReplicaSet", "web-5dcb"),
        spec=BAD,
    )
    policy = a_policy(**an_exception(kinds=["Deployment"], names=names))

    assert verdict is decided(pod, policy, user=user).verdict


def test_an_exception_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rules an object breaks, its names are compared once with those of each exception."""
    compared: list[PolicyException] = []
    selects = PolicyException.selects

    def counting(exception: PolicyException, *target: Any, today: date | None) -> bool:
        compared.append(exception)
        return selects(exception, *target, today=today)

    monkeypatch.setattr(PolicyException, "selects", counting)
    rules = sorted(known_rules())
    policy = policy_of(exceptions=[{"rules": rules, "reason": "x", "names": ["a-*"]}] * 20)
    pod = Workload.read(a_pod(), kind_of("Pod"), "shop", user="jane")
    exempting = Exempting.of(pod, [policy], by_controller=False, today=None)

    assert [None] * len(rules) == [exempting.find(rule, Enforcement.DENY) for rule in rules]
    assert 20 == len(compared)


@pytest.mark.parametrize(
    ("kind", "group", "rule", "expected"),
    [
        ("Deployment", "apps", "selector-missing", Enforcement.DENY),
        ("Rollout", "argoproj.io", "selector-missing", Enforcement.WARN),
        ("Rollout", "argoproj.io", "max-skew-not-positive", Enforcement.DENY),
    ],
)
def test_what_admission_would_do_depends_on_the_group(
    kind: str, group: str, rule: str, expected: Enforcement
) -> None:
    """What others make of their pods is not known for sure; what the API server refuses of any pod is."""
    workload = Workload.read(a_workload(kind, group), kind_of(kind, group), "shop")
    exempting = Exempting.of(workload, [policy_of(enforcement="deny")], by_controller=False, today=None)

    assert expected is exempting.enforcement(rule, Severity.ERROR)

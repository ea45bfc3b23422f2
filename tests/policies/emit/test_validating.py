"""Emitted validations find what the rules in Python find, and are enforced for the same objects."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date
from functools import cache
from typing import Any

import orjson
import pytest
from hypothesis import Phase as Step
from hypothesis import given

from policies.admission.decision import AdmissionVerdict
from policies.admission.review_cost import ReviewLimits
from policies.admission.validation import decide_validation
from policies.config.loader import build
from policies.config.spread_policy import SpreadPolicy
from policies.emit.cel import CelCheck, CelContext
from policies.emit.emit import emit
from policies.emit.emitted import PolicyKind
from policies.emit.rule_checks import check_of
from policies.manifests.errors import UsageError
from policies.model.api_rules import ApiRule
from policies.model.version import KubernetesVersion
from policies.rules.base import all_rules
from tests.builders import a_constraint, a_node, a_pod, a_policy, a_workload
from tests.examples import examples
from tests.policies.config.contexts import a_context, read
from tests.policies.emit.api_server import EmittedPolicy
from tests.policies.emit.requests import OBJECTS, PODS, a_request, decided, updates
from tests.recorded import phase_of, recorded_reviews
from webhook.admission.review import Phase

TODAY = date(2026, 11, 22)
#: The name of an object, as the API accepts it.
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def policy(**spec: Any) -> SpreadPolicy:
    return build(a_policy(**spec))


@cache
def default() -> tuple[SpreadPolicy, list[EmittedPolicy]]:
    """Return a policy with the rule that must be named, and what is emitted for it."""
    found = policy(rules={"no-spread": {"severity": "warning"}})
    return found, emitted(found)


def emitted(*policies: SpreadPolicy) -> list[EmittedPolicy]:
    objects = emit(policies, PolicyKind.VALIDATING, today=TODAY).objects
    return [EmittedPolicy(entry) for entry in objects if entry["kind"] == "ValidatingAdmissionPolicy"]


@cache
def rules_in_cel() -> frozenset[str]:
    return frozenset(
        rule.id
        for rule in all_rules().values()
        if isinstance(check_of(rule, CelContext(params=rule.params_of({}))), CelCheck)
    )


def found_by_cel(request: Mapping[str, Any], policies: list[EmittedPolicy]) -> dict[str, set[str]]:
    """Return the broken rules by what becomes of the object for them."""
    return {
        entry.name.rpartition("-")[2]: {text.partition(":")[0] for text in entry.violations(request)}
        for entry in policies
        if entry.matches(request)
    }


def found_by_python(request: Mapping[str, Any], policies: list[SpreadPolicy]) -> dict[str, set[str]]:
    """Return the same of the webhook, of the rules that are emitted."""
    decision = decided(request, policies, Phase.VALIDATE)
    denied = {error.rule for error in decision.errors} & rules_in_cel()
    return {"deny": denied, "warn": {warning.topic for warning in decision.warnings} & rules_in_cel()}


def agree(request: Mapping[str, Any], besides: Collection[str] = ()) -> None:
    """Both find the same, besides some rules."""
    source, policies = default()
    if found := found_by_cel(request, policies):
        expected = found_by_python(request, [source])
        of_api = frozenset(map(str, ApiRule))
        created = {**request, "operation": "CREATE", "oldObject": None}
        if found_by_python(created, [source])["deny"] & of_api:
            # Beside an error of the API, kept or new, both read constraints as far as each can.
            expected, found = ({"deny": each["deny"] & of_api} for each in (expected, found))
        assert {how: rules.difference(besides) for how, rules in expected.items()} == {
            how: rules.difference(besides) for how, rules in found.items()
        }


#: cel-python takes a quarter of a second for a request, so a failure is not made smaller.
_STEPS = (Step.explicit, Step.reuse, Step.generate)


@examples(20, phases=_STEPS)
@given(OBJECTS.map(a_request))
def test_created_workloads(request: dict[str, Any]) -> None:
    """They find the same in what people write."""
    agree(request)


@examples(10, phases=_STEPS)
@given(updates())
def test_updated_workloads(request: dict[str, Any]) -> None:
    """They find the same but of rules that the stored object breaks: one counts fields, the other entries."""
    source, _ = default()
    agree(request, besides=decided(a_request(request["oldObject"]), [source], Phase.VALIDATE).rules)


@examples(10, phases=_STEPS)
@given(PODS.map(a_request))
def test_created_pods(request: dict[str, Any]) -> None:
    """A pod that the API server has merged its match label keys into passes."""
    agree(request)


@pytest.mark.parametrize(
    "name",
    [name for name in recorded_reviews() if phase_of(name) is Phase.VALIDATE and ".DELETE-" not in name],
)
def test_recorded_reviews(name: str) -> None:
    """They find the same in what a real API server sent."""
    request = orjson.loads(recorded_reviews()[name])["request"]
    if "subResource" not in request:
        agree(request)


def test_every_rule_finds_something() -> None:
    """The differential tests could not tell an expression that is never true from a good one."""
    broken = set()
    _, policies = default()
    for request in FAILING.values():
        for rules in found_by_cel(request, policies).values():
            broken |= rules

    assert rules_in_cel() == broken


def _of(entry: object, kind: str = "Deployment", group: str = "apps", **fields: Any) -> dict[str, Any]:
    return a_request(a_workload(kind, group, spec={"topologySpreadConstraints": [entry]}, **fields))


FAILING = {
    "api": _of(
        {
            "maxSkew": 0, "minDomains": 0, "nodeTaintsPolicy": "honor", "matchLabelKeys": ["app"],
            "colour": 1,
            "labelSelector": {"matchLabels": {"app": "web", "-": "x"}},
        }
    ),
    "keys": _of(a_constraint(matchLabelKeys=["/"])),
    "no selector": _of(a_constraint(labelSelector=None, matchLabelKeys=["version"])),
    "types": _of(a_constraint(maxSkew="1")),
    "soft": _of(a_constraint(whenUnsatisfiable="ScheduleAnyway", minDomains=2)),
    "twice": a_request(a_workload(spec={"topologySpreadConstraints": [a_constraint(), a_constraint()]})),
    "large": a_request(a_workload(spec={"topologySpreadConstraints": [a_constraint()] * 11})),
    "missing": _of(a_constraint(labelSelector=None, topologyKey="zone")),
    "empty": _of(a_constraint(labelSelector={}, topologyKey="failure-domain.beta.kubernetes.io/zone")),
    "other": _of(a_constraint(labelSelector={"matchLabels": {"app": "api"}}, matchLabelKeys=["a", "a"])),
    "revision": _of(a_constraint(labelSelector={"matchLabels": {"pod-template-hash": "5d59d67564"}})),
    "daemon": _of(a_constraint(), "DaemonSet"),
    "no spread": a_request({**(obj := a_workload()), "spec": {**obj["spec"], "replicas": 2}}),
}  # fmt: skip


def outcome(request: dict[str, Any], *policies: SpreadPolicy) -> dict[str, set[str]]:
    """Return the findings, without the enforcements that find none."""
    return {how: rules for how, rules in found_by_cel(request, emitted(*policies)).items() if rules}


NO_SELECTOR = a_workload(spec={"topologySpreadConstraints": [a_constraint(labelSelector=None)]})
MISSING = {"selector-missing"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, {"deny": MISSING}, id="the default denies"),
        pytest.param({"enforcement": "warn"}, {"warn": MISSING}, id="warn"),
        pytest.param({"enforcement": "audit"}, {"audit": MISSING}, id="audit"),
        pytest.param({"rules": {"selector-missing": {"severity": "note"}}}, {"audit": MISSING}, id="a note"),
        pytest.param(
            {"rules": {"selector-missing": {"enforcement": "warn"}}}, {"warn": MISSING}, id="of one rule"
        ),
    ],
)
def test_enforcement(spec: dict[str, Any], expected: dict[str, set[str]]) -> None:
    """Enforcement and severity decide what becomes of the object."""
    assert expected == outcome(a_request(NO_SELECTOR), policy(**spec))


def test_uncertain_objects() -> None:
    """Of a custom resource what is certain elsewhere is a warning; the scheduler changes nothing."""
    entry = a_constraint(labelSelector=None)
    foreign = a_workload(spec={"topologySpreadConstraints": [entry], "schedulerName": "other"})
    custom = a_workload("CloneSet", "apps.kruise.io", spec={"topologySpreadConstraints": [entry]})

    assert {"warn": MISSING} == outcome(a_request(custom), policy())
    assert {"deny": MISSING} == outcome(a_request(foreign), policy())


@pytest.mark.parametrize(
    ("old", "new", "denied"),
    [
        pytest.param(1, 1, False, id="as many"),
        pytest.param(1, 2, True, id="one more"),
        pytest.param(2, 1, False, id="one fewer"),
    ],
)
def test_updates(old: int, new: int, *, denied: bool) -> None:
    """An update may break a rule in as many constraints as the stored object does."""
    lists = [
        [a_constraint(labelSelector=None, topologyKey=f"k{n}") for n in range(count)] for count in (old, new)
    ]
    before, after = (a_workload(spec={"topologySpreadConstraints": entries}) for entries in lists)

    assert ({"deny": MISSING} if denied else {}) == outcome(a_request(after, before), policy())


@pytest.mark.parametrize(
    ("scope", "holds"),
    [
        pytest.param({"namespaces": ["shop"]}, True, id="namespace"),
        pytest.param({"namespaces": ["sh*", "other"]}, True, id="pattern"),
        pytest.param({"namespaces": ["other", "sho"]}, False, id="another namespace"),
        pytest.param({"excludeNamespaces": ["shop"]}, False, id="excluded"),
        pytest.param({"excludeNamespaces": ["*op"]}, False, id="excluded pattern"),
        pytest.param({"kinds": ["StatefulSet"]}, False, id="kind"),
        pytest.param({"objectSelector": {"matchLabels": {"tier": "front"}}}, False, id="labels"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}},
             "excludeNamespaces": ["other"]},
            True,
            id="namespace labels",
        ),
    ],
)  # fmt: skip
def test_scope(scope: dict[str, Any], *, holds: bool) -> None:
    """The scope says which objects are checked."""
    assert ({"deny": MISSING} if holds else {}) == outcome(a_request(NO_SELECTOR), policy(scope=scope))


@pytest.mark.parametrize(
    ("exception", "exempt"),
    [
        pytest.param({}, True, id="everything"),
        pytest.param(
            {"names": ["we*"], "kinds": ["Deployment"], "namespaces": ["shop"]}, True, id="all match"
        ),
        pytest.param({"names": ["api-*"]}, False, id="another name"),
        pytest.param({"kinds": ["StatefulSet"]}, False, id="another kind"),
        pytest.param({"namespaces": ["legacy"]}, False, id="another namespace"),
        pytest.param({"rules": ["selector-empty"]}, False, id="another rule"),
        pytest.param({"until": "2026-11-22"}, True, id="its last day"),
        pytest.param({"until": "2026-11-21"}, False, id="over"),
    ],
)
def test_exceptions(exception: dict[str, Any], *, exempt: bool) -> None:
    """An exception takes its rules out of force for its objects until its last day."""
    given = policy(exceptions=[{"rules": ["selector-missing"], "reason": "moving", **exception}])

    assert ({} if exempt else {"deny": MISSING}) == outcome(a_request(NO_SELECTOR), given)


@pytest.mark.parametrize(
    ("text", "allowed", "exempt"),
    [
        pytest.param("selector-missing: moving", "allowed", True, id="allowed"),
        pytest.param("selector-missing: moving", "denied", False, id="not from a denial"),
        pytest.param(
            "max-skew-not-positive: x\n selector-missing : moving", "allowed", True, id="second line"
        ),
        pytest.param("selector-missing:", "allowed", False, id="no reason"),
        pytest.param("no-selector-missing: x", "allowed", False, id="another rule"),
    ],
)
def test_annotation(text: str, allowed: str, *, exempt: bool) -> None:
    """The annotation exempts where the policy allows it."""
    annotated = {
        **NO_SELECTOR,
        "metadata": {**NO_SELECTOR["metadata"], "annotations": {"evenkeel.dev/ignore": text}},
    }

    expected = {} if exempt else {"deny": MISSING}
    assert expected == outcome(a_request(annotated), policy(annotationExemptions=allowed))


def test_objects_of_controllers() -> None:
    """Who could fix what a controller creates applied something else."""
    made = a_pod(owner=("apps/v1", "ReplicaSet", "web"), spec=NO_SELECTOR["spec"]["template"]["spec"])
    controller = "system:serviceaccount:kube-system:replicaset-controller"

    assert {} == outcome(a_request(made, user=controller), policy())
    assert {"deny": MISSING} == outcome(a_request(made), policy())


def test_topology_of_the_policy() -> None:
    """A key whose domains the policy lists is one that nodes have."""
    found = a_request(a_workload(spec={"topologySpreadConstraints": [a_constraint(topologyKey="zone")]}))

    assert {"warn": {"topology-key-unqualified"}} == outcome(found, policy())
    assert {} == outcome(found, policy(topology={"domains": {"zone": ["a"]}}))


@pytest.mark.parametrize(
    ("severity", "how", "verdict"),
    [
        pytest.param("error", "deny", AdmissionVerdict.DENIED, id="an error"),
        pytest.param("warning", "warn", AdmissionVerdict.WARNED, id="a warning"),
    ],
)
def test_a_webhook_that_knows_the_nodes(severity: str, how: str, verdict: AdmissionVerdict) -> None:
    """It decides on a name that no node has as the API server does, which knows none."""
    found = a_workload(spec={"topologySpreadConstraints": [a_constraint(topologyKey="zone")]})
    given = {"topology-key-unqualified": {"severity": severity}}
    context = a_context(a_policy(rules=given), cluster=[a_node("n1", "a")])
    decision = decide_validation(
        read(found, context), None, context, ReviewLimits(rules=lambda work: work(), today=TODAY)
    )

    assert {how: {"topology-key-unqualified"}} == outcome(a_request(found), policy(rules=given))
    assert verdict is decision.verdict
    assert "topology-key-unqualified" in decision.rules


def test_releases() -> None:
    """The API is generally available since 1.30; a release that is not known may have more fields."""
    with pytest.raises(UsageError):
        emit([policy()], PolicyKind.VALIDATING, today=TODAY, version=KubernetesVersion(1, 29))
    newer = emit([policy()], PolicyKind.VALIDATING, today=TODAY, version=KubernetesVersion(1, 99))

    assert "unknown-field" in {entry.subject for entry in newer.left_out if not entry.partly}


@pytest.mark.parametrize("middle", ["b", "-", "b."])
@pytest.mark.parametrize("kind", PolicyKind)
def test_long_names(kind: PolicyKind, middle: str) -> None:
    """Policies of the longest names have objects with names that the API takes, each its own."""
    defaults = {"at": "workloads", "constraints": [a_constraint(labelSelector=None)]}
    given = [f"{'a' * 200}{(middle * 52)[:52]}{last}" for last in "bc"]
    found = emit([build(a_policy(name, defaults=defaults)) for name in given], kind, today=TODAY).objects
    names = [entry["metadata"]["name"] for entry in found if entry["kind"].endswith("Policy")]

    assert len(set(names)) == len(names) >= len(given)
    assert [] == [name for name in names if len(name) > 253 or not SUBDOMAIN.fullmatch(name)]


def test_messages(wording: Any) -> None:
    """They are the words of the rules, with the path of the field."""
    _, policies = default()
    texts = {
        name: [text for entry in policies for text in entry.violations(request)]
        for name, request in FAILING.items()
    }

    assert texts == orjson.loads(wording(orjson.dumps(texts, option=orjson.OPT_INDENT_2).decode()))


def test_what_is_left_out(wording: Any) -> None:
    """Nothing that is not emitted is silent."""
    given = policy(
        scope={"kinds": ["Deployment", "Widget"], "objectSelector": {"matchLabels": {"app": "web"}}},
        exceptions=[
            {"rules": ["selector-missing"], "reason": "moving", "until": "2026-11-21"},
            {"rules": ["selector-missing"], "reason": "moving", "until": "2027-01-31"},
        ],
        defaults={"at": "pods", "source": "scheduler"},
    )
    found = emit([given, policy()], PolicyKind.VALIDATING, today=TODAY).left_out
    texts = sorted({f"{entry.subject}: {entry.reason}" for entry in found})

    assert texts == orjson.loads(wording(orjson.dumps(texts, option=orjson.OPT_INDENT_2).decode()))

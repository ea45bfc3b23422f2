"""The requests that the API server sends: every known kind, and none that the webhook needs to start."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
import yaml

from policies.admission.decision import IGNORED, AdmissionVerdict
from policies.config.context import AdmissionContext
from policies.config.controllers import BUILT_IN_CONTROLLERS
from policies.config.loader import load_policies
from policies.model.workload_kinds import KNOWN_KINDS, WorkloadKind
from policies.scheduler.index import ClusterIndex
from tests.deploy.manifests import DEPLOY, Manifests, base, missing, render, template
from tests.recorded import phase_of, recorded_reviews
from tests.webhook.reviewing import a_review_request
from webhook.admission.respond import decide
from webhook.admission.review import Phase, Review

KINDS = {Phase.MUTATE: "MutatingWebhookConfiguration", Phase.VALIDATE: "ValidatingWebhookConfiguration"}
#: Without these namespaces a cluster, or Evenkeel in it, may not start.
NEEDED = ["kube-system", "kube-public", "kube-node-lease", "evenkeel"]
HAS_NAME = {"key": "kubernetes.io/metadata.name", "operator": "Exists"}
WIDGET = {"group": "acme.io", "kind": "Widget", "resource": "widgets", "template": "spec.pod"}


def _webhook(manifests: Manifests, phase: Phase) -> dict[str, Any]:
    webhook, *_ = manifests[KINDS[phase], "evenkeel"]["webhooks"]
    assert isinstance(webhook, dict)
    return webhook


@pytest.mark.parametrize("kind", KNOWN_KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_registered(kind: WorkloadKind) -> None:
    """All known kinds go to /validate, and to /mutate what may get defaults there."""
    injectable = kind.spreads and (kind.is_pod or kind.selector is not None)
    sent = {
        phase: any(
            kind.group in rule["apiGroups"] and f"{kind.kind.lower()}s" in rule["resources"]
            for rule in _webhook(base(), phase)["rules"]
        )
        for phase in Phase
    }

    assert {Phase.MUTATE: injectable, Phase.VALIDATE: True} == sent


def test_the_example_registers_the_same() -> None:
    """The example for who installs by hand sends what the chart sends."""
    example = list(yaml.safe_load_all((DEPLOY / "examples/webhooks.yaml").read_text()))
    left_out = {"matchConditions", "clientConfig"}

    assert {each["kind"]: _without(each["webhooks"][0], left_out) for each in example} == {
        KINDS[phase]: _without(_webhook(base(), phase), left_out) for phase in Phase
    }

    others = [_without(webhook, left_out) for webhook in example[1]["webhooks"][1:]]
    assert [_without(webhook(base()), left_out) for webhook in (_policies, _namespaces)] == others


def _policies(manifests: Manifests) -> dict[str, Any]:
    _, webhook, _ = manifests[KINDS[Phase.VALIDATE], "evenkeel"]["webhooks"]
    assert isinstance(webhook, dict)
    return webhook


def _namespaces(manifests: Manifests) -> dict[str, Any]:
    *_, webhook = manifests[KINDS[Phase.VALIDATE], "evenkeel"]["webhooks"]
    assert isinstance(webhook, dict)
    return webhook


@pytest.mark.parametrize("values", [{}, {"webhooks": {"validate": {"failurePolicy": "Fail"}}}])
def test_policies_can_be_changed_during_an_outage(values: Mapping[str, Any]) -> None:
    """Who repairs an installation is never locked out, and policies are not of a namespace."""
    webhook = _policies(render(values=values))

    assert ("Ignore", 3, "None") == (
        webhook["failurePolicy"],
        webhook["timeoutSeconds"],
        webhook["sideEffects"],
    )
    assert {"namespaceSelector", "objectSelector", "matchConditions"}.isdisjoint(webhook)
    assert [["spreadpolicies"]] == [rule["resources"] for rule in webhook["rules"]]


@pytest.mark.parametrize("values", [{}, {"webhooks": {"validate": {"failurePolicy": "Fail"}}}])
def test_namespaces_are_never_held_up(values: Mapping[str, Any]) -> None:
    """Only updates of labels are sent, not of namespaces that a cluster needs; an outage lets them by."""
    webhook = _namespaces(render(values=values))
    (selected,) = webhook["namespaceSelector"]["matchExpressions"]
    (rule,) = webhook["rules"]

    assert ("Ignore", "NotIn") == (webhook["failurePolicy"], selected["operator"])
    assert set(NEEDED) <= {*selected["values"], "evenkeel"}
    assert (["UPDATE"], ["namespaces"]) == (rule["operations"], rule["resources"])
    assert ["changes-labels"] == [condition["name"] for condition in webhook["matchConditions"]]


def _without(webhook: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in webhook.items() if name not in names}


@pytest.mark.parametrize("phase", Phase)
def test_a_webhook_is_quick_without_side_effects_and_fails_open(phase: Phase) -> None:
    """An outage of ours is nobody else's."""
    webhook = _webhook(base(), phase)

    assert ("None", "Equivalent", "Ignore") == (
        webhook["sideEffects"],
        webhook["matchPolicy"],
        webhook["failurePolicy"],
    )
    assert 3 >= webhook["timeoutSeconds"]


def test_only_validation_may_fail_closed() -> None:
    """It is a choice, and injection has none."""
    manifests = render(values={"webhooks": {"validate": {"failurePolicy": "Fail"}}})

    assert {Phase.MUTATE: "Ignore", Phase.VALIDATE: "Fail"} == {
        phase: _webhook(manifests, phase)["failurePolicy"] for phase in Phase
    }


def test_failing_closed_needs_the_label_of_namespaces() -> None:
    """Before 1.21 the exclusion of our own namespace would not hold, and an outage could not end."""
    done = template(values={"webhooks": {"validate": {"failurePolicy": "Fail"}}}, kubernetes="1.20.2")

    assert 1 == done.returncode
    assert "needs Kubernetes 1.21" in done.stderr


@pytest.mark.parametrize(
    ("values", "excluded", "further"),
    [
        ({}, NEEDED, []),
        ({"excludeNamespaces": ["sandbox", "kube-system"]}, [*NEEDED, "sandbox"], []),
        ({"excludeNamespaces": None}, NEEDED, []),
        (
            {"namespaceSelector": {"matchLabels": {"a": "b"}}},
            NEEDED,
            [],
        ),
        (
            {"namespaceSelector": {"matchExpressions": [HAS_NAME]}},
            NEEDED,
            [HAS_NAME],
        ),
    ],
    ids=["defaults", "more", "null", "a selector besides", "a selector of the same label"],
)
@pytest.mark.parametrize("phase", Phase)
def test_no_value_takes_an_exclusion_away(
    phase: Phase, values: Mapping[str, Any], excluded: list[str], further: list[Mapping[str, Any]]
) -> None:
    """All requirements of a selector must hold, so a value can only narrow it."""
    given = {"webhooks": {name: value for name, value in values.items() if value is not None}}
    selector = _webhook(render(values=given), phase)["namespaceSelector"]

    exclusion = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": excluded}
    assert [exclusion, *further] == selector["matchExpressions"]
    assert values.get("namespaceSelector", {}).get("matchLabels") == selector.get("matchLabels")


@pytest.mark.parametrize(
    ("kind", "injected"), [(WIDGET, False), (WIDGET | {"selector": "spec.selector"}, True)]
)
def test_a_further_kind_is_registered(kind: Mapping[str, str], *, injected: bool) -> None:
    """The server is told where its template is, and the API server to send it."""
    manifests = render(values={"customKinds": [kind]})
    (container,) = manifests["Deployment", "evenkeel"]["spec"]["template"]["spec"]["containers"]
    sent = {
        phase: ["widgets"] in [rule["resources"] for rule in _webhook(manifests, phase)["rules"]]
        for phase in Phase
    }

    assert (
        f"--workload-kind=acme.io/Widget=spec.pod{',spec.selector' if injected else ''}" in container["args"]
    )
    assert {Phase.MUTATE: injected, Phase.VALIDATE: True} == sent


@pytest.mark.parametrize(("kubernetes", "known"), [("1.29.9", False), ("1.30.0", True)])
@pytest.mark.parametrize("phase", Phase)
def test_conditions_are_for_who_knows_them(phase: Phase, kubernetes: str, *, known: bool) -> None:
    """They are generally available since 1.30."""
    assert known == ("matchConditions" in _webhook(render(kubernetes=kubernetes), phase))


@cache
def _conditions(phase: Phase) -> Mapping[str, Any]:
    """Return the compiled conditions of a webhook by name."""
    try:
        celpy = importlib.import_module("celpy")
    except ImportError:
        missing("cel-python")
    environment = celpy.Environment()
    return {
        condition["name"]: environment.program(environment.compile(condition["expression"]))
        for condition in _webhook(base(), phase)["matchConditions"]
    }


def _passed_over(review: Mapping[str, Any], phase: Phase) -> list[str]:
    """Return the conditions for which the API server would not send a review."""
    conditions = _conditions(phase)
    convert = importlib.import_module("celpy").json_to_cel
    activation = {
        "request": convert({name: review[name] for name in ("operation", "kind", "userInfo")}),
        "object": convert(review.get("object")),
        "oldObject": convert(review.get("oldObject")),
    }
    return [name for name, program in conditions.items() if not program.evaluate(activation)]


@cache
def _context() -> AdmissionContext:
    """Return a server that injects wherever it can, and knows an empty cluster."""
    policy = """
        apiVersion: evenkeel.dev/v1alpha1
        kind: SpreadPolicy
        metadata: {name: everywhere}
        spec:
          defaults:
            at: both
            constraints:
            - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
    """
    policies = tuple(load_policies(["policy"], lambda _: policy.encode()))
    return AdmissionContext(policies=policies, cluster=ClusterIndex())


def _registered(review: Review, phase: Phase) -> bool:
    return review.operation in _webhook(base(), phase)["rules"][0]["operations"] and not review.sub_resource


def test_what_is_passed_over_would_have_got_no_answer() -> None:
    """No recorded request that the conditions keep away would have been refused, changed or warned of."""
    kept_away = dict.fromkeys([*_conditions(Phase.MUTATE), *_conditions(Phase.VALIDATE)], 0)
    for name, body in recorded_reviews().items():
        phase, review = phase_of(name), Review.parse(body)
        if not _registered(review, phase):
            continue
        reasons = _passed_over(json.loads(body)["request"], phase)
        if not reasons:
            continue
        decision = decide(review, a_review_request(b"", phase), _context())
        for reason in reasons:
            kept_away[reason] += 1

        assert decision is IGNORED or decision.verdict is AdmissionVerdict.ALLOWED, name
        assert ((), ()) == (decision.patch, decision.warnings), name
        assert phase is Phase.MUTATE or not decision.audit, name
    assert all(kept_away.values()), kept_away


OWNED = {
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "controller": True}]
}
SPREAD = {"topologySpreadConstraints": [{"maxSkew": 1}]}


def _owned_by(api_version: str, kind: str) -> dict[str, Any]:
    owner = {"apiVersion": api_version, "kind": kind, "name": "a", "controller": True}
    return {"metadata": {"ownerReferences": [owner]}, "spec": {}}


def _review(
    kind: str,
    obj: Mapping[str, Any],
    old: Mapping[str, Any] | None = None,
    group: str = "",
    user: str = "jane",
) -> Any:
    return {
        "operation": "CREATE" if old is None else "UPDATE",
        "kind": {"group": group, "version": "v1", "kind": kind},
        "userInfo": {"username": user},
        "object": {"metadata": {}} | dict(obj),
        "oldObject": None if old is None else {"metadata": {}} | dict(old),
    }


def _metadata(**fields: object) -> dict[str, Any]:
    return {"metadata": fields}


@pytest.mark.parametrize(
    ("phase", "review", "sent"),
    [
        pytest.param("mutate", _review("Pod", {"spec": {}}), True, id="a pod"),
        pytest.param(
            "mutate", _review("Pod", {"spec": {"topologySpreadConstraints": []}}), True, id="an empty list"
        ),
        pytest.param("mutate", _review("Pod", {"spec": SPREAD}), False, id="a pod with constraints"),
        pytest.param("mutate", _review("Pod", {}), True, id="a pod without spec"),
        pytest.param(
            "mutate", _review("Pod", {"metadata": OWNED, "spec": {}}), True, id="a pod of a ReplicaSet"
        ),
        pytest.param(
            "mutate",
            _review("ReplicaSet", _owned_by("apps/v1", "Deployment"), group="apps"),
            False,
            id="a ReplicaSet of a Deployment",
        ),
        pytest.param(
            "mutate",
            _review("StatefulSet", _owned_by("acme.io/v1", "Database"), group="apps"),
            False,
            id="a StatefulSet of a custom resource",
        ),
        pytest.param(
            "mutate",
            _review("StatefulSet", _owned_by("v1", "ConfigMap"), group="apps"),
            True,
            id="a StatefulSet of a ConfigMap",
        ),
        pytest.param(
            "mutate",
            _review("Deployment", _owned_by("networking.k8s.io/v1", "Ingress"), group="apps"),
            True,
            id="a Deployment of an Ingress",
        ),
        pytest.param(
            "mutate",
            _review("Deployment", {"metadata": {"ownerReferences": [{"kind": "App"}]}}, group="apps"),
            True,
            id="an owner that is no controller",
        ),
        pytest.param("validate", _review("Pod", {"spec": SPREAD}), True, id="created"),
        *(
            pytest.param("validate", _review("Pod", {"spec": SPREAD}, user=user), False, id=user)
            for user in BUILT_IN_CONTROLLERS
        ),
        pytest.param(
            "validate",
            _review("Pod", {"spec": SPREAD}, user="system:serviceaccount:kube-system:replicaset-controllers"),
            True,
            id="much like a controller",
        ),
        pytest.param(
            "validate", _review("Pod", {"spec": {"a": 1}}, {"spec": {"a": 1}}), False, id="nothing changed"
        ),
        pytest.param(
            "validate", _review("Pod", {"spec": {"a": 1}}, {"spec": {"a": 2}}), True, id="spec changed"
        ),
        pytest.param("validate", _review("Pod", {"spec": {}}, {}), True, id="spec came"),
        pytest.param(
            "validate",
            _review("Pod", {"spec": {}} | _metadata(labels={"a": "b"}), {"spec": {}}),
            True,
            id="labels came",
        ),
        pytest.param(
            "validate",
            _review("Pod", {"spec": {}} | _metadata(finalizers=["a"]), {"spec": {}}),
            False,
            id="a finalizer came",
        ),
        pytest.param(
            "validate",
            _review(
                "Pod",
                {"spec": {}} | _metadata(annotations={"a": "b"}),
                {"spec": {}} | _metadata(annotations={"a": "c"}),
            ),
            True,
            id="an annotation changed",
        ),
        pytest.param(
            "validate",
            _review("PodTemplate", {"template": {"a": 1}}, {"template": {"a": 2}}),
            True,
            id="no spec",
        ),
        pytest.param(
            "validate", _review("Widget", {"spec": {}}, {"spec": {}}, "acme.io"), True, id="another group"
        ),
        pytest.param(
            "validate",
            _review(
                "ReplicaSet",
                {"metadata": OWNED, "spec": {"replicas": 1, "template": {}}},
                {"metadata": OWNED, "spec": {"replicas": 2, "template": {}}},
                "apps",
            ),
            True,
            id="scaled by who is no controller, whatever owner it has",
        ),
        pytest.param(
            "validate",
            _review(
                "ReplicaSet",
                {"spec": {"replicas": 1, "template": {}}},
                {"spec": {"replicas": 2, "template": {}}},
                "apps",
            ),
            True,
            id="scaled by a person",
        ),
    ],
)
def test_a_condition_can_be_asked_of_anything(phase: str, review: Mapping[str, Any], *, sent: bool) -> None:
    """Absent parts are no errors: with one, the webhook would be passed over, or the request refused."""
    assert sent == (not _passed_over(review, Phase(phase)))

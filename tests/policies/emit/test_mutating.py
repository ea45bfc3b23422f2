"""Emitted mutations inject what the webhook would inject into workloads."""

from __future__ import annotations

import copy
import json
from datetime import date
from functools import cache
from typing import Any

import orjson
import pytest
from celpy.adapter import CELJSONEncoder
from hypothesis import given
from hypothesis import strategies as st

from policies.config.loader import build
from policies.config.spread_policy import SpreadPolicy
from policies.emit.emit import emit
from policies.emit.emitted import Emitted, PolicyKind
from policies.manifests.errors import UsageError
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from tests.builders import a_constraint, a_policy, a_workload
from tests.examples import examples
from tests.policies.emit.api_server import EmittedPolicy
from tests.policies.emit.requests import a_request, decided
from tests.recorded import phase_of, recorded_reviews
from webhook.admission.review import Phase

CONSTRAINTS = [
    {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"},
    {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
     "nodeTaintsPolicy": "Honor"},
]  # fmt: skip
OPTED_OUT = {"evenkeel.dev/inject": "false"}


def emitted(version: KubernetesVersion = KNOWN_VERSION, **spec: Any) -> Emitted:
    return emit([build(a_policy(**spec))], PolicyKind.MUTATING, today=date(2026, 11, 22), version=version)


@cache
def policy() -> tuple[SpreadPolicy, EmittedPolicy]:
    """Return a policy with defaults for workloads, and what is emitted for it."""
    defaults = {"at": "workloads", "constraints": CONSTRAINTS}
    return build(a_policy(defaults=defaults)), EmittedPolicy(emitted(defaults=defaults).objects[0])


def injected(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the constraints that the policy adds, with selectors as the webhook writes them."""
    _, found = policy()
    if not found.matches(request) or not found.value(request, "isInjected"):
        return []
    value = json.dumps(found.value(request, "constraints"), cls=CELJSONEncoder)
    added: list[dict[str, Any]] = json.loads(value)
    for entry in added:
        entry["labelSelector"] = {name: value for name, value in entry["labelSelector"].items() if value}
    return added


def agree(request: dict[str, Any]) -> None:
    source, _ = policy()
    patch = decided(request, [source], Phase.MUTATE).patch
    expected: Any = next((entry["value"] for entry in patch if "Constraints" in entry["path"]), [])

    assert expected == injected(request)


_SELECTORS = st.sampled_from(
    (
        {"matchLabels": {"app": "web"}},
        {"matchLabels": {"app": "api"}},
        {},
        {"matchLabels": {"pod-template-hash": "x"}},
        {"matchExpressions": [{"key": "pod-template-hash", "operator": "In", "values": ["x"]}]},
        {"matchExpressions": [{"key": "controller-revision-hash", "operator": "NotIn", "values": ["x"]}]},
        {"matchExpressions": [{"key": "controller-revision-hash", "operator": "DoesNotExist"}]},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["api", "web"]}]},
        {"matchExpressions": [{"key": "pod-template-hash", "operator": "DoesNotExist"}]},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}], "matchLabels": {}},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}], "matchLabels": {"tier": "front"}},
    )
)
_ANNOTATIONS = st.sampled_from((None, {}, {"a": "b"}, OPTED_OUT, {"kubernetes.io/config.mirror": "x"}))
_OWNERS = st.sampled_from(
    (None, ("apps/v1", "Deployment"), ("acme.io/v1", "Widget"), ("storage.k8s.io/v1", "Thing"))
)
_KINDS = st.sampled_from(
    (("Deployment", "apps"), ("ReplicaSet", "apps"), ("StatefulSet", "apps"), ("DaemonSet", "apps"),
     ("Rollout", "argoproj.io"), ("CloneSet", "apps.kruise.io"), ("Job", "batch"))
)  # fmt: skip


@st.composite
def workloads(draw: st.DrawFn) -> dict[str, Any]:
    kind, group = draw(_KINDS)
    selector = draw(_SELECTORS) if kind != "Job" else None
    workload = a_workload(
        kind,
        group,
        selector=selector,
        labels=draw(
            st.sampled_from(({"app": "web"}, {"app": "web", "tier": "front"}, {"pod-template-hash": "x"}))
        ),
        template_annotations=draw(_ANNOTATIONS),
        spec=draw(st.sampled_from(({}, {}, {}, {"topologySpreadConstraints": []}))),
    )
    if (annotations := draw(_ANNOTATIONS)) is not None:
        workload["metadata"]["annotations"] = annotations
    if owner := draw(_OWNERS):
        reference = {"apiVersion": owner[0], "kind": owner[1], "name": "o", "controller": True}
        workload["metadata"]["ownerReferences"] = [reference]
    return a_request(workload)


@examples(60)
@given(workloads())
def test_workloads(request: dict[str, Any]) -> None:
    """They get what the webhook gives them."""
    agree(request)


@pytest.mark.parametrize(
    "name", [name for name in recorded_reviews() if phase_of(name) is Phase.MUTATE and ".CREATE-" in name]
)
def test_recorded_reviews(name: str) -> None:
    """Recorded reviews of a real API server get the constraints that the webhook injects."""
    request = orjson.loads(recorded_reviews()[name])["request"]
    if "subResource" not in request:
        agree(request)


def test_replication_controller() -> None:
    """Its selector is a map."""
    agree(a_request(a_workload("ReplicationController", "")))


def test_second_pass() -> None:
    """A workload with constraints gets no more."""
    request = a_request(a_workload())
    patched = copy.deepcopy(request["object"])
    patched["spec"]["template"]["spec"]["topologySpreadConstraints"] = injected(request)

    assert injected(request)
    assert [] == injected(a_request(patched))


def test_opted_out_namespace() -> None:
    """Its annotation keeps defaults away."""
    request = a_request(a_workload())

    assert [] == injected({**request, "namespaceMetadata": {"annotations": OPTED_OUT}})


def test_patch() -> None:
    """It adds the list and the annotation that says where it came from; it never refuses a workload."""
    spec = emitted(defaults={"at": "workloads", "constraints": CONSTRAINTS}).objects[0]["spec"]
    expression = spec["mutations"][0]["jsonPatch"]["expression"]

    assert "Ignore" == spec["failurePolicy"]
    assert {"/spec/template/spec/topologySpreadConstraints", INJECTED_ANNOTATION} <= set(
        expression.split("'")
    )


@pytest.mark.parametrize(
    ("release", "version"),
    [((1, 32), "v1alpha1"), ((1, 33), "v1alpha1"), ((1, 34), "v1beta1"), ((1, 36), "v1")],
)
def test_releases(release: tuple[int, int], version: str) -> None:
    """The version of the API is that of the release; what must be enabled there is reported."""
    found = emitted(KubernetesVersion(*release), defaults={"at": "both", "constraints": CONSTRAINTS})

    assert {f"admissionregistration.k8s.io/{version}"} == {entry["apiVersion"] for entry in found.objects}
    assert (version != "v1") == ("release" in {entry.subject for entry in found.left_out})


def test_too_old_releases() -> None:
    """Before 1.32 there is no such API."""
    with pytest.raises(UsageError):
        emitted(KubernetesVersion(1, 31))


@pytest.mark.parametrize(
    ("spec", "subjects"),
    [
        pytest.param({}, {"rules", "defaults"}, id="no defaults"),
        pytest.param({"defaults": {"constraints": CONSTRAINTS}}, {"rules", "defaults.at: pods"}, id="pods"),
        pytest.param(
            {"defaults": {"at": "workloads", "source": "scheduler"}},
            {"rules", "defaults.source: scheduler"},
            id="of the scheduler",
        ),
        pytest.param(
            {"defaults": {"at": "workloads", "constraints": CONSTRAINTS}, "scope": {"kinds": ["DaemonSet"]}},
            {"rules", "defaults", "scope.kinds"},
            id="a kind without defaults",
        ),
    ],
)
def test_nothing_to_inject(spec: dict[str, Any], subjects: set[str]) -> None:
    """It is said why nothing is injected."""
    found = emitted(**spec)

    assert () == found.objects
    assert subjects == {entry.subject for entry in found.left_out}


def test_constraints_that_are_null() -> None:
    """Null is no list of constraints."""
    workload = a_workload(spec={"topologySpreadConstraints": None})

    assert injected(a_request(workload))
    assert not injected(a_request(a_workload(spec={"topologySpreadConstraints": [a_constraint()]})))

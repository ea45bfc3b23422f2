"""A workload as rules look at it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from policies.model.labels import LabelSelector
from policies.model.neighbors import titles
from policies.model.workload import Owner, PodTemplate, Workload, controller_of
from policies.model.workload_kinds import KNOWN_KINDS, WorkloadKind
from tests.builders import APP, a_constraint, a_pod, a_workload, kind_of

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {disk: ssd}
      tolerations: [{operator: Exists}]
      topologySpreadConstraints:
        - {maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
        - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}
"""


def declared(**spec: Any) -> Workload:
    """Return the Deployment with some fields of its spec changed."""
    obj = yaml.safe_load(DEPLOYMENT)
    obj["spec"] |= spec
    return Workload.read(obj, kind_of("Deployment", "apps"), "shop")


def test_constraints_with_errors() -> None:
    """Of a constraint that the API server refuses, rules look at what can be read."""
    workload = declared()

    assert [f"spec.template.spec.topologySpreadConstraints[{number}]" for number in range(2)] == [
        str(entry.path) for entry in workload.constraints
    ]
    assert ["zone", "rack"] == [entry.constraint.topology_key for entry in workload.constraints]
    assert ["max-skew-not-positive"] == [error.rule for error in workload.errors]
    assert workload.constraints[0].is_hard


def test_what_decides_where_its_pods_go() -> None:
    """Title, selector, affinity and tolerations come from where the kind keeps them."""
    workload = declared()

    assert "Deployment web" == workload.title
    assert "app=web" == str(workload.selector)
    assert workload.affinity.matches("n", {"disk": "ssd"})
    assert ["Exists"] == [toleration.operator for toleration in workload.tolerations]


@pytest.mark.parametrize(("value", "replicas"), [(3, 3), (0, 0), (None, 1), ("3", None), (True, None)])
def test_replicas(value: object, replicas: int | None) -> None:
    """Absent replicas are one; of those of the wrong type nothing is known."""
    assert replicas == declared(replicas=value).replicas


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param(["a"], ["Deployment web"], id="1"),
        pytest.param(["a", "a"], ["Deployment web"], id="2 of one folder"),
        pytest.param(["a", ""], ["Deployment web in a and ."], id="2 of two folders"),
        pytest.param(list("abcde"), ["Deployment web in a and b and c"], id="5: three are named"),
    ],
)
def test_titles(folders: list[str], expected: list[str]) -> None:
    """Workloads of one name are told once, with the folders that tell them apart."""
    assert expected == titles(replace(declared(), folder=folder) for folder in folders)


@pytest.mark.parametrize(
    ("owner", "labels", "kinds"),
    [
        (None, {}, {"Pod"}),
        (("apps/v1", "StatefulSet", "db"), {}, {"Pod", "StatefulSet"}),
        (("apps/v1", "ReplicaSet", "web-1"), {}, {"Pod", "ReplicaSet"}),
        (
            ("apps/v1", "ReplicaSet", "web-1"),
            {"pod-template-hash": "1"},
            {"Pod", "ReplicaSet", "Deployment"},
        ),
        (
            ("apps/v1", "ReplicaSet", "web-1"),
            {"rollouts-pod-template-hash": "1"},
            {"Pod", "ReplicaSet", "Rollout"},
        ),
    ],
    ids=["bare pod", "StatefulSet's", "ReplicaSet's", "Deployment's", "Rollout's"],
)
def test_kinds(owner: tuple[str, str, str] | None, labels: dict[str, str], kinds: set[str]) -> None:
    """A pod belongs to its owner's kind, and to the owner's owner's that marks it with a label."""
    assert kinds == Workload.read(a_pod(owner=owner, labels=labels), kind_of("Pod"), "shop").all_kinds


def test_own_labels_and_the_pod_s() -> None:
    """A workload's own labels and annotations and those of its template stay apart; a pod's are one."""
    deployment = a_workload(
        labels={"app": "web"}, annotations={"own": "1"}, template_annotations={"pod": "1"}
    )
    deployment["metadata"]["labels"] = {"team": "shop"}
    workload = Workload.read(deployment, kind_of("Deployment", "apps"), "shop")
    pod = Workload.read(a_pod(annotations={"own": "1"}), kind_of("Pod"), "shop")

    assert ({"team": "shop"}, {"own": "1"}) == (workload.labels, workload.annotations)
    assert ({"app": "web"}, {"pod": "1"}) == (workload.template.labels, workload.template.annotations)
    assert (pod.template.labels, pod.template.annotations) == (pod.labels, pod.annotations)


def test_errors_hold_shape_and_constraints() -> None:
    """Fields of the wrong type around the constraints are told with the errors in them."""
    pod = a_pod(
        labels=["app"], annotations={"a": 1}, spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]}
    )
    errors = Workload.read(pod, kind_of("Pod"), "shop").errors

    assert [
        "metadata.labels",
        "metadata.annotations[a]",
        "spec.topologySpreadConstraints[0].maxSkew",
    ] == [str(error.path) for error in errors]


@pytest.mark.parametrize(
    "obj", [{}, {"metadata": 1, "spec": 2}, {"spec": {"template": []}}, {"metadata": []}], ids=repr
)
@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_rubbish_is_read(obj: dict[str, object], kind: str) -> None:
    """Objects with fields of any type are read without an error."""
    workload = Workload.read(obj, kind_of(kind, "apps" if kind == "Deployment" else ""), "shop")

    assert workload.owner is None
    assert workload.template.constraints is None


@pytest.mark.parametrize("kind", KNOWN_KINDS, ids=lambda kind: kind.name)
def test_every_kind_shows_its_pod_part(kind: WorkloadKind) -> None:
    """The constraints and labels of the pod part are found wherever the kind keeps its template."""
    spec = {"topologySpreadConstraints": [a_constraint()], "schedulerName": "batch"}
    obj = a_pod(spec=spec) if kind.is_pod else a_workload(kind.kind, kind.group, spec=spec)
    workload = Workload.read(obj, kind, "shop")
    template = workload.template

    assert (APP, [a_constraint()], "batch") == (
        template.labels,
        template.constraints,
        template.scheduler_name,
    )
    assert () == workload.shape_errors


@pytest.mark.parametrize(
    "kind", [kind for kind in KNOWN_KINDS if kind.selector is not None], ids=lambda kind: kind.name
)
def test_own_selectors(kind: WorkloadKind) -> None:
    """A workload's selector is read, also where it is a plain map of labels."""
    assert (
        LabelSelector((("app", "web"),))
        == Workload.read(a_workload(kind.kind, kind.group), kind, "shop").selector
    )


@pytest.mark.parametrize(
    "selector", [None, {}, [], "x", {"matchLabels": {"a b": "c"}}, {"matchLabels": 3}], ids=repr
)
def test_no_selector_without_a_valid_one(selector: object) -> None:
    """A selector that is missing, empty or invalid is none."""
    deployment = a_workload()
    deployment["spec"]["selector"] = selector

    assert Workload.read(deployment, KNOWN_KINDS[3], "shop").selector is None


@pytest.mark.parametrize(
    ("broken", "path"),
    [
        ({"spec": []}, "spec"),
        ({"spec": {"template": "x"}}, "spec.template"),
        ({"spec": {"template": {"spec": 1}}}, "spec.template.spec"),
        ({"spec": {"template": {"metadata": {"labels": ["app"]}}}}, "spec.template.metadata.labels"),
        ({"spec": {"template": {"metadata": {"labels": {"app": 1}}}}}, "spec.template.metadata.labels[app]"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_shapes_are_told(broken: dict[str, object], path: str) -> None:
    """A part of the wrong type is an error at its path and is read as empty."""
    workload = Workload.read(broken, KNOWN_KINDS[3], "shop")

    assert [path] == [str(error.path) for error in workload.shape_errors]


def test_the_controller_is_the_owner() -> None:
    """Of all owner references only the one that controls counts, and rubbish among them is passed over."""
    references = [
        7,
        {"apiVersion": "v1", "kind": "Node", "name": "n1"},
        {"apiVersion": "apps/v1", "kind": 1, "name": "x", "controller": True},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True},
    ]

    assert Owner("apps/v1", "ReplicaSet", "web-1") == controller_of({"ownerReferences": references})


@pytest.mark.parametrize("references", [None, "x", [], {}, [{"controller": "true"}]], ids=repr)
def test_no_controller(references: object) -> None:
    """Without a list that names a controller there is none."""
    assert controller_of({"ownerReferences": references}) is None


def test_a_pod_without_anything_is_empty() -> None:
    """A pod of nothing but nulls reads as empty, without an error."""
    pod = Workload.read({"metadata": None, "spec": None}, kind_of("Pod"), "shop")

    assert PodTemplate({}, {}, {}, None) == pod.template
    assert ("", ()) == (pod.template.scheduler_name, pod.errors)


def test_labels_of_a_wrong_type_are_left_out_and_told() -> None:
    """One label that is no string costs itself alone."""
    pod = Workload.read(a_pod(labels={"app": "web", "n": 1}), kind_of("Pod"), "shop")

    assert {"app": "web"} == pod.labels
    assert ["metadata.labels[n]"] == [str(error.path) for error in pod.errors]

"""The object under review, as decisions see it."""

from __future__ import annotations

import pytest

from policies.config.subject import Subject
from policies.model.match_label_keys import Merge
from tests.builders import a_constraint, a_pod, a_workload, kind_of


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
    assert kinds == Subject.read(a_pod(owner=owner, labels=labels), kind_of("Pod"), "shop").all_kinds


def test_own_labels_and_the_pod_s() -> None:
    """A workload's own labels and annotations and those of its template stay apart; a pod's are one."""
    deployment = a_workload(
        labels={"app": "web"}, annotations={"own": "1"}, template_annotations={"pod": "1"}
    )
    deployment["metadata"]["labels"] = {"team": "shop"}
    workload = Subject.read(deployment, kind_of("Deployment", "apps"), "shop")
    pod = Subject.read(a_pod(annotations={"own": "1"}), kind_of("Pod"), "shop")

    assert ({"team": "shop"}, {"own": "1"}) == (workload.labels, workload.annotations)
    assert ({"app": "web"}, {"pod": "1"}) == (workload.pod.labels, workload.pod.annotations)
    assert (pod.pod.labels, pod.pod.annotations) == (pod.labels, pod.annotations)


def test_errors_hold_shape_and_constraints() -> None:
    """What is of the wrong type around the constraints is told with what is wrong in them."""
    pod = a_pod(
        labels=["app"], annotations={"a": 1}, spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]}
    )
    errors = Subject.read(pod, kind_of("Pod"), "shop").errors(Merge.BEFORE, strict=True)

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
    """Whatever stands in an object, reading it returns."""
    subject = Subject.read(obj, kind_of(kind, "apps" if kind == "Deployment" else ""), "shop")

    assert subject.owner is None
    assert subject.pod.constraints is None

"""The parts of a pod that spreading looks at."""

from __future__ import annotations

import pytest

from policies.fields import ErrorList
from policies.model.pod import Owner, controller_of, read_pod_part
from tests.builders import a_pod, kind_of


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
    found = ErrorList()
    pod = read_pod_part({"metadata": None, "spec": None}, kind_of("Pod"), found)

    assert ({}, {}, None, "", False, []) == (
        pod.labels,
        pod.annotations,
        pod.constraints,
        pod.scheduler_name,
        pod.exists,
        found.errors,
    )


def test_labels_of_a_wrong_type_are_left_out_and_told() -> None:
    """One label that is no string costs itself alone."""
    found = ErrorList()
    pod = read_pod_part(a_pod(labels={"app": "web", "n": 1}), kind_of("Pod"), found)

    assert {"app": "web"} == pod.labels
    assert ["metadata.labels[n]"] == [str(error.path) for error in found.errors]

"""The facts by which a ReplicaSet's controller compares pods are read from pods of any shape."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.deletion_facts import DELETION_COST_ANNOTATION, DeletionFacts, read_deletion_facts


def test_running_pod() -> None:
    """Phase, readiness, cost, times, restarts of containers and of sidecars, and the uid."""
    pod = {
        "metadata": {
            "uid": "u1",
            "creationTimestamp": "1970-01-01T00:01:00Z",
            "annotations": {DELETION_COST_ANNOTATION: "-7"},
        },
        "spec": {"initContainers": [{"name": "proxy", "restartPolicy": "Always"}, {"name": "migrate"}]},
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:02:00+00:00"}
            ],
            "containerStatuses": [{"name": "a", "restartCount": 1}, {"name": "b", "restartCount": 3}],
            "initContainerStatuses": [
                {"name": "proxy", "restartCount": 2},
                {"name": "migrate", "restartCount": 9},
            ],
        },
    }

    assert DeletionFacts(*(2, True, -7, 120.0, (3, 2), 60.0, "u1")) == read_deletion_facts(pod)


def test_ready_time_of_a_pod_that_is_not_ready() -> None:
    """Only a pod that is ready has been ready since a time."""
    condition = {"type": "Ready", "status": "False", "lastTransitionTime": "1970-01-01T00:02:00Z"}
    facts = read_deletion_facts({"status": {"phase": "Running", "conditions": [condition]}})

    assert (False, 0.0) == (facts.ready, facts.ready_since)


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"metadata": 1, "spec": [], "status": "x"}, id="parts of the wrong type"),
        pytest.param(
            {
                "metadata": {
                    "uid": 1,
                    "creationTimestamp": "9999-99-99",
                    "annotations": {DELETION_COST_ANNOTATION: "9" * 10_000},
                },
                "status": {
                    "phase": ["Running"],
                    "conditions": [1, {"type": "Ready", "status": True}],
                    "containerStatuses": [{"restartCount": "1"}, None],
                },
            },
            id="values of the wrong type",
        ),
    ],
)
def test_pods_of_any_shape(pod: dict[str, Any]) -> None:
    """A field of the wrong type is read as absent; a pod that says nothing of its state runs and is ready."""
    silent = not isinstance(pod.get("status"), dict)

    assert DeletionFacts(*(2 * silent, silent, 0, 0.0, (0, 0), 0.0, "")) == read_deletion_facts(pod)

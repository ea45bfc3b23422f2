"""The pods of a cluster that wait for a node."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.cluster_workloads import PendingPods
from tests.builders import a_pod, a_workload


@pytest.mark.parametrize(
    ("obj", "count"),
    [
        pytest.param(a_pod(), 1, id="no node"),
        pytest.param(a_pod(spec={"nodeName": "n1"}), 0, id="bound"),
        pytest.param(a_pod(deletionTimestamp="2026-01-01T00:00:00Z"), 0, id="being deleted"),
        pytest.param(a_pod() | {"status": {"phase": "Failed"}}, 0, id="finished"),
        pytest.param(a_workload(), 0, id="no pod"),
        pytest.param(a_pod() | {"spec": None, "status": 3}, 1, id="of any shape"),
    ],
)
def test_which_pods_wait(obj: dict[str, Any], count: int) -> None:
    """A pod waits until it has a node, has finished or is being deleted."""
    pods = PendingPods()
    pods(obj)

    assert (count, count) == (pods.count, len(pods.each()))


def test_what_is_kept() -> None:
    """The scheduler's own words, and the pod itself; a number that no API has is counted only."""
    conditions = [{"type": "Ready"}, {"type": "PodScheduled", "message": "0/3 nodes are available"}]
    pods = PendingPods()
    pods(a_pod(name="b", owner=("apps/v1", "ReplicaSet", "web")) | {"status": {"conditions": conditions}})
    pods(a_pod(name="a"))
    pods(a_pod(name="c", spec={"priority": 2**70}))

    assert [("a", ""), ("b", "0/3 nodes are available")] == [(pod.name, pod.condition) for pod in pods.each()]
    assert 3 == pods.count
    assert pods.find("shop", "c") is None
    found = pods.find("shop", "b")
    assert found is not None
    assert found.owner is not None
    assert "web" == found.owner.name

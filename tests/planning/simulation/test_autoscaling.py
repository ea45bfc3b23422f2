"""Nodes that are added for the pods of a queue."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from planning.autoscaler.deduced_groups import deduce
from planning.autoscaler.sources import AutoscalerReader
from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import PLAIN, PlannedActions, SimulatedQueue, simulate_queue
from planning.what_if import simulate_text
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import ZONE, a_constraint, a_node, a_workload
from tests.planning.verdicts import an_index


def simulated(turns: int | None) -> SimulatedQueue:
    """Return six replicas, four of which need new nodes, scheduled until asked so often to stop."""
    web = a_workload("Deployment", spec={"topologySpreadConstraints": [a_constraint(topologyKey=ZONE)]})
    web["spec"]["replicas"] = 6
    container = web["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "3", "memory": "1Gi"}}
    index = an_index(a_node("n1", "a"), a_node("n2", "b"))
    queue = queue_replicas(web, AdmissionContext(policies=(), cluster=index), UNREAD_PODS)
    asked = count()
    return simulate_queue(
        queue,
        PLAIN,
        planned=PlannedActions(autoscaler=deduce(index)),
        stop=lambda: turns is not None and next(asked) >= turns,
    )


def test_interrupted_anywhere() -> None:
    """Whenever it is ended, it is either the whole result or said not to be one; no part is taken for all."""
    whole = simulated(None).simulation
    scaled = whole.autoscaled
    assert scaled is not None
    assert (4, 0) == (len(scaled.nodes), whole.pending)
    early, so_far = 0, 0
    for turns in range(200):
        found = simulated(turns)
        got = found.simulation.autoscaled
        if found.complete:
            assert found.simulation.steps == whole.steps
            assert got is not None
            assert all(each in scaled.alternatives for each in got.alternatives)
            if got.alternatives == scaled.alternatives:
                break
        else:
            early += 1
            text = simulate_text.render(found, width=200, color=False)
            assert "not tried" in text or "pending so far" in text or found.simulation.pending == 0
            so_far += "pending so far" in text
    else:
        raise AssertionError("it was never complete")

    assert early > so_far > 0


POOLS = (
    {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {
            "template": {"spec": {"requirements": [{"key": ZONE, "operator": "In", "values": ["a", "b"]}]}}
        },
    },
    {
        "apiVersion": "evenkeel.dev/v1alpha1",
        "kind": "InstanceTypes",
        "instanceTypes": [
            {
                "name": "small",
                "allocatable": {"cpu": "4", "memory": "8Gi"},
                "offerings": [{"zones": ["a", "b", "c"]}],
            }
        ],
    },
)
GROUPS = (
    {
        "apiVersion": "evenkeel.dev/v1alpha1",
        "kind": "NodeGroups",
        "groups": [
            {"name": zone, "zone": zone, "maxSize": 9, "allocatable": {"cpu": "4", "memory": "8Gi"}}
            for zone in "ab"
        ],
    },
)
OTHERS = {"matchLabels": {"app": "other"}}


@pytest.mark.parametrize(
    ("documents", "constraint", "zones", "expected"),
    [
        pytest.param(GROUPS, {}, "a", ["minDomains"], id="minDomains"),
        pytest.param(GROUPS, {"minDomains": 2}, "a", [], id="2 of 2 domains"),
        pytest.param(GROUPS, {"minDomains": 3}, "abc", ["allZones"], id="a zone without a group"),
        pytest.param(
            GROUPS, {"minDomains": 2, "labelSelector": OTHERS}, "a", ["ownSelector"], id="another selector"
        ),
        pytest.param(POOLS, {}, "a", ["minDomains", "allZones"], id="NodePools of 2 zones of 3"),
        pytest.param(
            POOLS,
            {"minDomains": 2, "labelSelector": OTHERS},
            "a",
            ["ownSelector", "allZones"],
            id="another selector, NodePools",
        ),
    ],
)
def test_alternatives(
    documents: tuple[dict[str, Any], ...], constraint: dict[str, Any], zones: str, expected: list[str]
) -> None:
    """Alternatives are listed for both autoscalers, unless the workload has them already."""
    spec = {"topologySpreadConstraints": [a_constraint(topologyKey=ZONE, **constraint)]}
    web = a_workload("Deployment", spec=spec)
    web["spec"]["replicas"] = 4
    resources = {"requests": {"cpu": "3", "memory": "1Gi"}}
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = resources
    index = an_index(*(a_node(f"n{zone}", zone) for zone in zones))
    reader = AutoscalerReader(index)
    assert [[]] * len(documents) == [reader.take(document) for document in documents]
    queue = queue_replicas(web, AdmissionContext(policies=(), cluster=index), UNREAD_PODS)
    found = simulate_queue(queue, PLAIN, planned=PlannedActions(autoscaler=reader.autoscaler()))
    scaled = found.simulation.autoscaled

    assert scaled is not None
    assert scaled.nodes
    assert expected == [each.what for each in scaled.alternatives]

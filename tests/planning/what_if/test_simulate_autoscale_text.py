"""The nodes that an autoscaler adds, as a person reads of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from planning.autoscaler.autoscaler import ClusterAutoscaler
from planning.autoscaler.node_group import ScaledGroup
from planning.autoscaler.sources import deduce
from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import PlannedActions, simulate_queue
from planning.what_if import simulate_text
from policies.config.context import AdmissionContext
from policies.config.node_groups import AutoscalerSettings
from policies.model.node import Node
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import ZONE, a_constraint, a_node, a_workload
from tests.planning.verdicts import an_index

AMOUNTS = {"cpu": 4000, "memory": 8 << 30, "pods": 110}


def a_group(zone: str, most: int) -> ScaledGroup:
    node = Node(f"web-{zone}", {ZONE: zone}, (), unschedulable=False, allocatable=AMOUNTS)
    return ScaledGroup(name=f"web-{zone}", template=node, capacity=AMOUNTS, size=1, max_size=most)


def text_of(autoscaler: ClusterAutoscaler, *nodes: dict[str, Any]) -> str:
    """Return the text of eight replicas that need a node each and spread over zones."""
    web = a_workload("Deployment", spec={"topologySpreadConstraints": [a_constraint(topologyKey=ZONE)]})
    web["spec"]["replicas"] = 8
    container = web["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "3", "memory": "1Gi"}}
    index = an_index(*(nodes or (a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c"))))
    queue = queue_replicas(web, AdmissionContext(policies=(), cluster=index), UNREAD_PODS)
    found = simulate_queue(queue, planned=PlannedActions(autoscaler=autoscaler))
    return simulate_text.render(found, width=80, color=False)


def an_autoscaler(**most: int) -> ClusterAutoscaler:
    groups = tuple(a_group(zone, number) for zone, number in most.items())
    return ClusterAutoscaler(groups=groups, settings=AutoscalerSettings())


@pytest.mark.parametrize(
    ("name", "autoscaler"),
    [
        ("autoscale_some_stay_pending.txt", an_autoscaler(a=5, b=2)),
        ("autoscale_none_comes.txt", an_autoscaler(a=1, b=1)),
        ("autoscale_all_come.txt", an_autoscaler(a=5, b=5, c=5)),
    ],
)
def test_texts(name: str, autoscaler: ClusterAutoscaler, golden: Callable[[str, str], str]) -> None:
    """The whole text; read the golden file before agreeing to it."""
    text = text_of(autoscaler)

    assert golden(name, text) == text


def test_deduced_groups_and_karpenter() -> None:
    """It is said that groups are deduced, and that nodes of Karpenter are in none of them."""
    nodes = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]
    nodes[2]["metadata"]["labels"]["karpenter.sh/nodepool"] = "default"
    text = " ".join(text_of(deduce(an_index(*nodes)), *nodes).split())

    assert "The node groups are deduced from nodes that are alike" in text
    assert "Karpenter has 1 node here, and is not a part of this" in text
    assert "not known" in text


def test_interrupted() -> None:
    """A forecast that was not played to the end is reported as such."""
    autoscaler = an_autoscaler(a=5, b=5)
    web = a_workload("Deployment")
    index = an_index(a_node("n1", "a"))
    queue = queue_replicas(web, AdmissionContext(policies=(), cluster=index), UNREAD_PODS)
    found = simulate_queue(queue, planned=PlannedActions(autoscaler=autoscaler))
    scaled = found.simulation.autoscaled
    assert scaled is not None
    stopped = replace(found, simulation=replace(found.simulation, autoscaled=replace(scaled, complete=False)))

    assert "further nodes may come" in simulate_text.render(stopped, width=80, color=False)

"""Clusters to which something happens, and what becomes of their pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.events import LostDomain, NodeEvent, TaintedNode
from planning.simulation.pod_facts import PodFacts
from planning.simulation.rescheduling import Rescheduling
from planning.simulation.what_if import WhatIf, what_if
from policies.config.context import AdmissionContext
from policies.model.taints import Taint, TaintEffect
from policies.pods.known_pods import UNREAD_PODS
from policies.pods.placement import prepare, read_workload
from policies.scheduler.index import ClusterIndex
from tests.builders import a_node, a_pod, a_replica_set
from tests.planning.clusters import ZONE_KEY, known_of
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

LOSE_A = NodeEvent(lose=LostDomain(topology_key=ZONE_KEY, value="a"))
#: Three zones with a node of 4 CPUs each.
NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]


def tainting(node: str, taint: Taint) -> NodeEvent:
    """Return the event that gives a node a taint."""
    effect = TaintEffect(taint.effect)
    return NodeEvent(taint=TaintedNode(node=node, key=taint.key, value=taint.value, effect=effect))


def its_pods(workload: Object, nodes: Mapping[str, str]) -> list[Object]:
    """Return the ReplicaSet of a Deployment, and its pods by name, each on a node."""
    replica_set = a_replica_set(workload, "5d9")
    template = replica_set["spec"]["template"]
    owner = ("apps/v1", "ReplicaSet", "web-5d9")
    pods = [
        a_pod(
            name=name,
            labels=template["metadata"]["labels"],
            spec={**template["spec"], "nodeName": node},
            owner=owner,
        )
        for name, node in nodes.items()
    ]
    return [replica_set, *pods]


def another_pod(name: str, node: str, cpu: str = "1", priority: int = 0, **fields: Any) -> Object:
    """Return a pod of another workload, in another namespace."""
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    spec = {"nodeName": node, "priority": priority, "containers": containers}
    fields = {"owner": ("apps/v1", "ReplicaSet", "db"), "labels": {"app": "db"}, **fields}
    return a_pod(name=name, namespace="data", spec=spec, **fields)


def try_out(
    objects: Sequence[Object],
    *actions: NodeEvent,
    workload: Object | None = None,
    known: bool = True,
    stop: Callable[[], bool] = lambda: False,
    **options: Any,
) -> tuple[WhatIf, ClusterIndex]:
    context = AdmissionContext(policies=(), cluster=an_index(objects))
    prepared = None if workload is None else prepare(read_workload(workload, context), context)
    assert context.cluster is not None
    cluster = context.cluster.fork("")
    given_pods = (known_of(objects) if known else UNREAD_PODS).running
    simulation = ClusterSimulation(cluster, stop=stop, preempts=True)
    facts = PodFacts(cluster, () if prepared is None else (prepared,), given_pods)
    again = Rescheduling(simulation, facts, context, **options)
    return what_if(actions, simulation, again), cluster


def outcomes_of(result: WhatIf) -> dict[str, str]:
    """Return the node of each displaced pod that has one again, otherwise what became of it, in turn."""
    return {
        entry.pod.name: str(entry.step.node if entry.step and entry.step.node else entry.outcome)
        for entry in result.recovery.displaced
    }

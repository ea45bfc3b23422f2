"""Simulations after actions, for reports to show."""

from __future__ import annotations

from planning.simulation.events import AddedNodes, LostDomain, NodeEvent
from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import PlannedActions, SimulatedQueue, simulate_queue
from policies.config.context import AdmissionContext
from policies.model.topology_keys import HOSTNAME
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import a_constraint, a_deployment, a_node
from tests.planning.clusters import ZONE_KEY, known_of
from tests.planning.what_ifs import LOSE_A, NODES, Object, another_pod, its_pods
from tests.policies.scheduler.clusters import an_index


def _after(
    *actions: NodeEvent, objects: list[Object], workload: Object, known: bool = True
) -> SimulatedQueue:
    context = AdmissionContext(policies=(), cluster=an_index(objects))
    queue = queue_replicas(workload, context, known_of(objects) if known else UNREAD_PODS)
    return simulate_queue(queue, planned=PlannedActions(actions=actions))


def a_loss(*, known: bool = True) -> SimulatedQueue:
    """Return a lost zone of three: a replica recovers, pods of others compete, and some are not recreated."""
    web = a_deployment(a_constraint(), cpu="1")
    objects = [
        *NODES,
        *its_pods(web, {"web-1": "n1", "web-2": "n2", "web-3": "n3"}),
        another_pod("db-1", "n1", "2", priority=100),
        another_pod("db-2", "n1", "4"),
        another_pod("agent", "n1", owner=("apps/v1", "DaemonSet", "agent")),
        another_pod("bare", "n1", owner=None),
    ]
    return _after(LOSE_A, objects=objects, workload=web, known=known)


def a_loss_of_unknown_pods() -> SimulatedQueue:
    """Return the same where only the index is known."""
    return a_loss(known=False)


def an_addition() -> SimulatedQueue:
    """Return a zone that is lost while nodes are added, for a replica that is missing."""
    web = a_deployment(a_constraint(), cpu="3")
    objects = [*NODES[:2], *its_pods(web, {"web-1": "n1", "web-2": "n2"})]
    add = NodeEvent(add=AddedNodes(like="n2", count=2))
    return _after(add, LOSE_A, objects=objects, workload=web)


def a_large_loss() -> SimulatedQueue:
    """Return many lost pods of many nodes, one of which is lost."""
    web = a_deployment(a_constraint(topologyKey=HOSTNAME, maxSkew=5), cpu="10m")
    nodes = [a_node(f"n{number:02}", "abc"[number % 3]) for number in range(20)]
    others = [another_pod(f"db-{number:02}", "n00", "10m") for number in range(30)]
    lose = NodeEvent(lose=LostDomain(topology_key=ZONE_KEY, value="a"))
    objects = [*nodes, *others, *its_pods(web, {f"web-{number}": f"n{number:02}" for number in range(3)})]
    return _after(lose, objects=objects, workload=web)


def an_eviction() -> SimulatedQueue:
    """Return replicas with a priority on full nodes: of what they evict one finds room, one does not."""
    web = a_deployment(cpu="3")
    web["spec"]["replicas"] = 2
    web["spec"]["template"]["spec"]["priority"] = 100
    objects = [
        *NODES,
        another_pod("db-1", "n1", "1500m"),
        another_pod("db-2", "n2", "4", owner=("apps/v1", "StatefulSet", "db")),
        another_pod("db-3", "n3", "2", priority=500),
        another_pod("bare", "n1", "2500m", owner=None),
    ]
    return _after(objects=objects, workload=web)

"""Plans in which an autoscaler adds nodes for pods that would stay pending."""

from __future__ import annotations

import random

import pytest

from planning.plan import plan_pods
from planning.plan.placement_plan import PlacementPlan, PlannedWorkload
from planning.plan.plan import make_plan
from planning.simulation.recovery import PodOutcome
from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import PLAIN, PlannedActions, simulate_queue
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import ZONE, a_constraint, a_node
from tests.planning.autoscaled import TWO, groups, needing, planned, pools, the_autoscaler
from tests.planning.clusters import known_of
from tests.planning.planned import SPREAD, a_cluster, a_deployment, a_set, running


def only(found: PlacementPlan) -> PlannedWorkload:
    (workload,) = found.workloads
    return workload


def test_one_new_workload_is_simulated_alike() -> None:
    """On random clusters a plan adds the nodes of a simulation, and its pods go where those of that go."""
    chosen = random.Random(22)
    different = []
    for _ in range(40):
        zones = chosen.choice(["a", "ab", "abc"])
        nodes = [a_node(f"n{number}", chosen.choice("abc")) for number in range(chosen.randint(1, 4))]
        documents = (
            pools() if chosen.random() < 0.3 else groups(**{zone: chosen.randint(0, 4) for zone in zones})
        )
        constraint = a_constraint(topologyKey=ZONE, maxSkew=chosen.randint(1, 2))
        spec = needing(chosen.choice(["1", "2", "3"]), topologySpreadConstraints=[constraint])
        web = a_deployment(chosen.randint(1, 9), spec=spec)
        cluster = a_cluster(nodes=nodes)
        autoscaler = the_autoscaler(documents, cluster)
        plan = make_plan(a_set(), a_set(web), cluster, known=UNREAD_PODS, autoscaler=autoscaler)
        queue = queue_replicas(web, AdmissionContext(policies=(), cluster=cluster), UNREAD_PODS)
        simulated = simulate_queue(queue, PLAIN, planned=PlannedActions(autoscaler=autoscaler)).simulation
        pods, scaled = only(plan).pods, simulated.autoscaled
        assert scaled is not None
        there = [(step.name, step.node, step.message) for step in pods.steps]
        if there != [(step.name, step.node, step.message) for step in simulated.steps]:
            different.append((web, nodes, documents))
        nodes_of_plan = () if pods.autoscaled is None else pods.autoscaled.nodes
        if nodes_of_plan != scaled.nodes or plan.pending != simulated.pending:
            different.append((web, nodes, documents))

    assert [] == different


def test_workloads_share_what_may_come() -> None:
    """The second of two workloads gets what the first left of a node group, and the plan counts both."""
    found = planned(
        [],
        [a_deployment(3, "api", spec=needing("3")), a_deployment(3, "web", spec=needing("3"))],
        documents=groups(a=3),
    )
    first, second = (workload.pods.autoscaled for workload in found.workloads)

    assert first is not None
    assert second is not None
    assert [(0, 1), (1, 2)] == [
        (group.size, group.added) for each in (first, second) for group in each.groups
    ]
    assert (3, 1) == (found.new_nodes, found.pending)
    assert second.unhelped


def test_no_node_comes_where_all_fit() -> None:
    """Nothing is said of an autoscaler where no pod waits for it."""
    found = planned([], [a_deployment(2, spec=needing("3"))], documents=groups(a=3))

    assert only(found).pods.autoscaled is None
    assert (0, False) == (found.new_nodes, found.fails)


def test_a_rollout_that_deadlocks_completes() -> None:
    """A pod that no node has room for beside the old ones gets one, and the rollout is simulated with it."""
    before = a_deployment(2, spec=needing("3"))
    after = a_deployment(2, spec=needing("3", **SPREAD))
    for each in (before, after):
        each["spec"]["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    pods = running("n1", "n2", **needing("3"))
    without = make_plan(a_set(before), a_set(after), a_cluster(*pods, nodes=TWO), known=known_of(pods))
    workload = only(planned([before], [after], *pods, documents=groups(a=2, b=2)))
    scaled = workload.pods.autoscaled

    assert RolloutEnd.DEADLOCK is only(without).outcome
    assert RolloutEnd.COMPLETE is workload.outcome
    assert scaled is not None
    assert 1 == len(scaled.nodes)
    assert 0 == workload.pods.pending


def test_rollouts_that_are_simulated_again_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeats may take more than what is left of the budget; no further rollout is simulated then."""
    monkeypatch.setattr(plan_pods, "MOST_ROLLOUTS", 1)
    names = ("api", "web")
    before, after = (
        [a_deployment(1, name, spec=needing("3", **more)) for name in names] for more in ({}, SPREAD)
    )
    for each in (*before, *after):
        each["spec"]["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    pods = [
        pod
        for node, name in zip(("n1", "n2"), names, strict=True)
        for pod in running(node, app=name, **needing("3"))
    ]
    first, second = planned(before, after, *pods, documents=groups(a=2, b=2)).workloads

    assert first.pods.rollout is not None
    assert first.pods.autoscaled is not None
    assert (None, True) == (second.pods.rollout, second.pods.recreated)


def test_a_rollout_without_room_anywhere() -> None:
    """Where no node group may grow, the rollout stays as it is and the reason is there."""
    before, after = a_deployment(2, spec=needing("3")), a_deployment(2, spec=needing("3", **SPREAD))
    for each in (before, after):
        each["spec"]["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    pods = running("n1", "n2", **needing("3"))
    workload = only(planned([before], [after], *pods, documents=groups(a=0)))
    scaled = workload.pods.autoscaled

    assert RolloutEnd.DEADLOCK is workload.outcome
    assert scaled is not None
    assert ((), True) == (scaled.nodes, bool(scaled.unhelped))


@pytest.mark.parametrize(("most", "outcome"), [(1, PodOutcome.RECOVERED), (0, PodOutcome.PENDING)])
def test_what_is_evicted_gets_a_node(most: int, outcome: PodOutcome) -> None:
    """A pod that is evicted for one of a higher priority waits for a node as others do."""
    low = running("n1", "n2", app="low", **needing("3", priority=0))
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "low", "controller": True}
    for pod in low:
        pod["metadata"]["ownerReferences"] = [owner]
    high = a_deployment(1, "high", spec=needing("3", priority=1000))
    workload = only(planned([], [high], *low, documents=groups(a=most)))
    scaled = workload.pods.autoscaled

    assert [outcome] == [entry.outcome for entry in workload.pods.evicted]
    assert scaled is not None
    assert most == len(scaled.nodes)


def test_what_was_there_gets_no_new_node() -> None:
    """In a cluster without pods, those of the first set are placed on the nodes that there are."""
    web = a_deployment(4, spec=needing("3"))
    found = planned([web], [web, a_deployment(1, "new", spec=needing("3"))], documents=groups(a=9))

    assert found.assumed
    assert 1 == found.new_nodes

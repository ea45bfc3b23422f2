"""Pods are scheduled one after another, and what changes with them is counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod
from planning.simulation.domain_changes import MOST_COUNTED
from planning.simulation.replicas import replicas_of
from planning.simulation.simulate import simulate
from policies.config.context import AdmissionContext
from policies.pods.placement import prepare, read_workload
from policies.scheduler.binding import SchedulingAttempt
from tests.builders import a_constraint, a_node, a_workload
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import a_constraint as a_zone_constraint
from tests.policies.scheduler.clusters import a_pod, a_request, an_index

#: Two zones with a node each, and a third one whose node is cordoned.
CORDONED = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c", unschedulable=True)]


def _replicas(kind: str, count: int, *objects: dict[str, Any]) -> tuple[AdmissionContext, list[QueuedPod]]:
    context = AdmissionContext(policies=(), cluster=an_index([*CORDONED, *objects]))
    workload = a_workload(kind, spec={"topologySpreadConstraints": [a_constraint()]})
    return context, replicas_of(prepare(read_workload(workload, context), context), count)


def test_replicas_until_the_skew_is_reached() -> None:
    """Two replicas fit, one stays pending; the fork has those that fit, the cluster has none."""
    context, queue = _replicas("Deployment", 3)
    assert context.cluster is not None
    simulation = ClusterSimulation.of(context.cluster)
    result = simulate(queue, simulation)
    (change,) = result.domains

    assert ["n1", "n2", None] == [step.node for step in result.steps]
    assert result.steps[2].message.startswith("0/3 nodes are available: ")
    assert ({"a": 0, "b": 0, "c": 0}, {"a": 1, "b": 1, "c": 0}, 1) == (
        change.before,
        change.after,
        change.skew,
    )
    assert (1, 2, 0) == (result.pending, simulation.cluster.pod_count, context.cluster.pod_count)


def test_ordinals_that_are_free() -> None:
    """Replicas of a StatefulSet take the ordinals that no pod has; others end in a number from 1 on."""
    pods = on("n1", 1)
    pods[0]["metadata"]["name"] = "web-1"

    assert ["web-0", "web-2"] == [entry.name for entry in _replicas("StatefulSet", 2, *pods)[1]]
    assert ["web-next-1", "web-next-2"] == [entry.name for entry in _replicas("Deployment", 2, *pods)[1]]


@pytest.mark.parametrize(
    ("kind", "policy", "expected"),
    [
        pytest.param(
            "StatefulSet", "OrderedReady", ["no room", "web-2", "web-2"], id="in order: 1 of 3 pending"
        ),
        pytest.param("StatefulSet", None, ["no room", "web-2", "web-2"], id="by default as well"),
        pytest.param("StatefulSet", "Parallel", ["no room"] * 3, id="parallel: 3 are created and pending"),
        pytest.param("Deployment", "OrderedReady", ["no room"] * 3, id="a Deployment has no such field"),
    ],
)
def test_a_replica_in_order_comes_after_one_that_is_ready(
    kind: str, policy: str | None, expected: list[str]
) -> None:
    """The controller of a StatefulSet creates no pod after one that fits nowhere, as in a rollout."""
    context = AdmissionContext(policies=(), cluster=an_index(CORDONED))
    workload = a_workload(kind, spec={"topologySpreadConstraints": [a_constraint()]})
    workload["spec"] |= {"podManagementPolicy": policy} if policy else {}
    queue = replicas_of(prepare(read_workload(workload, context), context), 5)
    assert context.cluster is not None
    told: list[SchedulingAttempt] = []
    simulation = ClusterSimulation.of(context.cluster)
    simulation.on_step = told.append
    result = simulate(queue, simulation)
    why = [
        "no room" if step.message.startswith("0/3 nodes") else step.message.split()[2]
        for step in result.steps[2:]
    ]

    assert (["n1", "n2", None, None, None], expected) == ([step.node for step in result.steps], why)
    assert (3, True, list(result.steps)) == (result.pending, result.complete, told)


def test_what_orders_one_workload_orders_no_other() -> None:
    """Of two StatefulSets one is stuck; the other goes on."""
    context, stuck = _replicas("StatefulSet", 4)
    goes_on = [
        replace(entry, name=f"db-{number}", owner="StatefulSet/db") for number, entry in enumerate(stuck)
    ]
    assert context.cluster is not None
    steps = ClusterSimulation.of(context.cluster).schedule_all([*stuck, goes_on[0]])

    assert ["web-2", "db-0"] == [step.name for step in steps if step.message.startswith("0/3 nodes")]


def test_domains_of_many_different_pods() -> None:
    """Of a queue of different pods the first are counted, and that there are more is said."""
    index = an_index(CORDONED)
    spread = [
        [a_zone_constraint(topologyKey="topology.kubernetes.io/zone", maxSkew=skew)] for skew in range(1, 30)
    ]
    pods = [a_pod(f"p-{number}", spread=constraints) for number, constraints in enumerate(spread)]
    queue = [QueuedPod(pod["metadata"]["name"], a_request(pod, {}, index)) for pod in pods]
    few, many = (simulate(each, ClusterSimulation.of(index)) for each in (queue[:2] * 3, queue))

    assert (["p-0", "p-1"], True) == ([change.pod for change in few.domains], few.all_counted)
    assert (MOST_COUNTED, False) == (len(many.domains), many.all_counted)

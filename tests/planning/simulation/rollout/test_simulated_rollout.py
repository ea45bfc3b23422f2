"""Rollouts and scales in which an autoscaler adds nodes for pods that would stay pending."""

from __future__ import annotations

import random

import pytest

from planning.simulation.autoscaled import AutoscalerName
from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.rollout.simulated_rollout import roll_out
from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import PLAIN, PlannedActions, simulate_queue
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import ZONE, a_constraint, a_node
from tests.planning.autoscaled import TWO, groups, needing, pools, the_autoscaler
from tests.planning.planned import SPREAD, a_cluster, a_deployment, running
from tests.planning.rollouts import PLAIN_ROLLOUT


def test_a_scale_leaves_pending_what_a_simulation_does() -> None:
    """On random clusters replicas that are scaled to get nodes where replicas that are simulated do."""
    chosen = random.Random(5)
    different = []
    for _ in range(40):
        nodes = [a_node(f"n{number}", chosen.choice("abc")) for number in range(chosen.randint(1, 4))]
        zones = chosen.choice(["a", "ab", "abc"])
        documents = (
            pools() if chosen.random() < 0.3 else groups(**{zone: chosen.randint(0, 4) for zone in zones})
        )
        constraint = a_constraint(topologyKey=ZONE, maxSkew=chosen.randint(1, 2))
        spec = needing(chosen.choice(["1", "2", "3"]), topologySpreadConstraints=[constraint])
        now, more = chosen.randint(1, len(nodes)), chosen.randint(1, 6)
        web = a_deployment(now, spec=spec)
        cluster = a_cluster(*running(*[f"n{number}" for number in range(now)], **spec), nodes=nodes)
        context = AdmissionContext(policies=(), cluster=cluster)
        autoscaler = the_autoscaler(documents, cluster)
        scaled = roll_out(
            web, context, RolloutSettings(known=UNREAD_PODS, scale=now + more), autoscaler=autoscaler
        )
        queue = queue_replicas(web, context, UNREAD_PODS, count=more)
        simulated = simulate_queue(queue, PLAIN, planned=PlannedActions(autoscaler=autoscaler)).simulation
        without = simulate_queue(queue, PLAIN).simulation
        comes = scaled.autoscaled is not None and bool(scaled.autoscaled.nodes)
        found = len(scaled.rollout.courses.likely.pending), comes
        assert simulated.autoscaled is not None
        if found != (simulated.pending, bool(simulated.autoscaled.nodes)):
            different.append((web, nodes, documents))
        assert cluster.node_count == len(nodes) == scaled.nodes
        assert simulated.pending <= without.pending

    assert [] == different


@pytest.mark.parametrize(
    ("most", "outcome", "new"),
    [
        pytest.param(2, RolloutEnd.COMPLETE, 1, id="room for a node: the rollout completes"),
        pytest.param(0, RolloutEnd.DEADLOCK, 0, id="no room: it deadlocks as without"),
    ],
)
def test_a_rollout_that_deadlocks(most: int, outcome: RolloutEnd, new: int) -> None:
    """A rollout whose first pod fits nowhere goes on where a node comes for it."""
    web = a_deployment(2, spec=needing("3", **SPREAD))
    web["spec"]["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    cluster = a_cluster(*running("n1", "n2", **needing("3")), nodes=TWO)
    context = AdmissionContext(policies=(), cluster=cluster)
    autoscaler = the_autoscaler(groups(a=most, b=most), cluster)
    found = roll_out(web, context, PLAIN_ROLLOUT, autoscaler=autoscaler)
    scaled = found.autoscaled

    assert outcome is found.rollout.outcome
    assert scaled is not None
    assert (new, new == 0) == (len(scaled.nodes), bool(scaled.unhelped))
    assert RolloutEnd.DEADLOCK is roll_out(web, context, PLAIN_ROLLOUT).rollout.outcome


def test_nothing_is_said_where_all_fit() -> None:
    """A rollout that leaves no pod pending gets no node, and the autoscaler is known all the same."""
    cluster = a_cluster(nodes=TWO)
    autoscaler = the_autoscaler(groups(a=1), cluster)
    context = AdmissionContext(policies=(), cluster=cluster)
    found = roll_out(a_deployment(2, spec=needing("1")), context, PLAIN_ROLLOUT, autoscaler=autoscaler)

    assert (None, AutoscalerName.CLUSTER_AUTOSCALER) == (found.autoscaled, found.autoscaler)

"""Plans in which an autoscaler adds nodes for pods that would stay pending."""

from __future__ import annotations

import pytest

from planning.plan.plan import ManifestPlan, make_plan
from planning.simulation.outcome import Cause, WorkloadOutcome
from tests.planning.autoscaled import TWO, groups, needing, planned
from tests.planning.clusters import known_of
from tests.planning.planned import SPREAD, a_cluster, a_deployment, a_set, a_state, running


def _found(plan: ManifestPlan, position: int = 0) -> WorkloadOutcome:
    found = plan.changes[position].found
    assert found is not None
    return found


def test_workloads_share_what_may_come() -> None:
    """The second of two workloads gets what the first left of a node group."""
    found = planned(
        [],
        [a_deployment(3, "api", spec=needing("3")), a_deployment(3, "web", spec=needing("3"))],
        documents=groups(a=3),
    )

    assert [(0, 1), (1, 2)] == [
        (_found(found, position).pending, _found(found, position).on_new_nodes) for position in (0, 1)
    ]
    assert 3 == len(found.outcome.nodes.added)


def test_no_node_comes_where_all_fit() -> None:
    """Nothing is said of an autoscaler where no pod waits for it."""
    found = planned([], [a_deployment(2, spec=needing("3"))], documents=groups(a=3))

    assert ((), True) == (found.outcome.nodes.added, found.verdict.value)


def test_a_rollout_that_deadlocks_completes() -> None:
    """A pod that no node has room for beside the old ones gets one, and the rollout is played with it."""
    before = a_deployment(2, spec=needing("3"))
    after = a_deployment(2, spec=needing("3", **SPREAD))
    for each in (before, after):
        each["spec"]["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    pods = running("n1", "n2", **needing("3"))
    state = a_state(a_cluster(*pods, nodes=TWO), known_of(pods))
    without = make_plan(a_set(before), a_set(after), state)
    found = planned([before], [after], *pods, documents=groups(a=2, b=2))

    assert Cause.DEADLOCK is _found(without).verdict.cause
    assert (2, 0, 1) == (_found(found).updated, _found(found).pending, len(found.outcome.nodes.added))


def test_a_rollout_without_room_anywhere() -> None:
    """Where no node group may grow, the rollout stays as it is."""
    before, after = a_deployment(2, spec=needing("3")), a_deployment(2, spec=needing("3", **SPREAD))
    for each in (before, after):
        each["spec"]["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    found = planned([before], [after], *running("n1", "n2", **needing("3")), documents=groups(a=0))

    assert (Cause.DEADLOCK, ()) == (_found(found).verdict.cause, found.outcome.nodes.added)


@pytest.mark.parametrize(("most", "running_at_the_end"), [(1, 2), (0, 1)])
def test_what_is_evicted_gets_a_node(most: int, running_at_the_end: int) -> None:
    """A pod that is evicted for one of a higher priority waits for a node as others do."""
    low = running("n1", "n2", app="low", **needing("3", priority=0))
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "low", "controller": True}
    for pod in low:
        pod["metadata"]["ownerReferences"] = [owner]
    high = a_deployment(1, "high", spec=needing("3", priority=1000))
    found = planned([], [high], *low, documents=groups(a=most))
    evicted = next(each for each in found.outcome.workloads if each.ref.name == "low")

    assert (1, running_at_the_end) == (evicted.evicted, evicted.after)
    assert most == len(found.outcome.nodes.added)
    # No budgets were read.
    assert (None if most else False) is found.verdict.value


def test_what_was_there_gets_no_new_node() -> None:
    """In a cluster without pods, those of the first set are placed on the nodes that there are."""
    web = a_deployment(4, spec=needing("3"))
    found = planned([web], [web, a_deployment(1, "new", spec=needing("3"))], documents=groups(a=9))

    assert found.assumed
    assert _found(found).on_new_nodes == 1

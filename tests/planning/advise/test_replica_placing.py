"""One way in which replicas are placed."""

from __future__ import annotations

from collections.abc import Sequence

from planning.advise.goal_simulator import Chooser, ReplicaPlacing, free_nodes
from planning.simulation.cluster_simulation import ClusterSimulation
from policies.pods.placement import prepare
from tests.builders import a_constraint, a_node
from tests.planning.goals import ONE_CPU, THREE, Object, a_goal, context_of, workload_of

DOMAINS = {"n1": "a", "n2": "b", "n3": "c", "n4": "a"}


def _placing(nodes: Sequence[Object] = THREE, *, limited: bool = True) -> ReplicaPlacing:
    context = context_of(nodes)
    request = prepare(workload_of([a_constraint(maxSkew=3)], context, containers=ONE_CPU), context).request
    assert context.cluster is not None
    goal = a_goal(one_a_node=True) if limited else a_goal(one_a_node=True, limit=None)
    return ReplicaPlacing(request, ClusterSimulation.of(context.cluster), goal, DOMAINS, {})


def _choose(name: str) -> Chooser:
    return lambda _placing, _tied: [name]


def test_choices() -> None:
    """The fullest domain, or without any of it the emptiest; the first; each."""
    placing = _placing([*THREE, a_node("n4", "a")])
    for name in ("n1", "n1", "n2"):
        placing.bind(name)

    assert ["n1"] == placing.choose_fullest(["n1", "n2", "n3"])
    assert ["n3"] == placing.choose_fullest(["n2", "n3"])
    assert ["n2"] == placing.choose_first(["n2", "n3"])
    assert ["n2", "n3"] == placing.choose_every(["n2", "n3"])


def test_further() -> None:
    """Each node that is chosen makes a way of its own; ways that come to the same are known."""
    first, second = _placing().further(lambda _placing, _tied: ["n1", "n2"])
    (both,) = first.further(_choose("n2"))
    (same,) = second.further(_choose("n1"))

    assert both.state == same.state
    assert (2, 1) == (both.look().replicas, both.look().count)


def test_a_full_cluster() -> None:
    """The scheduler says why nothing fits, and nothing is placed."""
    placing = _placing([a_node("n1", "a", cpu="1")])
    placing.further(ReplicaPlacing.choose_first)
    (way,) = placing.further(ReplicaPlacing.choose_first)

    assert "Insufficient cpu" in way.message
    assert 1 == way.look().replicas


def test_crowded_nodes() -> None:
    """A node with two more than another that could take one; with a limit only another of its domain."""
    limited, free = _placing(), _placing(limited=False)
    for placing in (limited, free):
        placing.bind("n1")
        placing.bind("n1")

    assert limited.look().crowded is None
    assert ("n1", "n2") == free.look().crowded


def test_free_nodes() -> None:
    """Constraints do not count, everything else does."""
    context = context_of([THREE[0], a_node("n2", "b", unschedulable=True)])
    request = prepare(workload_of([a_constraint(minDomains=5)], context), context).request

    assert context.cluster is not None
    assert ["n1"] == free_nodes(request, ClusterSimulation(context.cluster))

"""The pods that a ReplicaSet's controller deletes, compared with the source's ``Less`` read pair by pair."""

from __future__ import annotations

import math
from functools import cmp_to_key
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.simulation.rollout.victims import HORIZON_S, Replica, find_victims, in_order
from policies.model.deletion_facts import DeletionFacts
from tests.planning.rollouts import READY

#: When every pod of a test is looked at, in seconds since 1970.
NOW = 2.0**31


def a_replica(name: str, node: str | None = "n1", *, known: bool = True, **facts: Any) -> Replica:
    """Return a ready pod that says what is given of it."""
    found = READY._replace(ready_since=1.0, created=1.0, uid=name)._replace(**facts)
    ready = bool(facts.get("ready", True))
    return Replica(name, "r", frozenset(), node, ready, found if known else None)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(a_replica("b", None), a_replica("a", phase=0), id="unassigned before assigned"),
        pytest.param(a_replica("b", phase=0), a_replica("a", phase=1, ready=False), id="Pending, Unknown"),
        pytest.param(a_replica("b", phase=1), a_replica("a", cost=-9), id="Unknown before Running"),
        pytest.param(a_replica("b", ready=False), a_replica("a", cost=-9), id="not ready before ready"),
        pytest.param(a_replica("b", cost=-1), a_replica("a", restarts=(9, 9)), id="lower deletion cost"),
        pytest.param(a_replica("b", ready_since=NOW - 1), a_replica("a"), id="ready for less time"),
        pytest.param(a_replica("b", ready_since=0), a_replica("a"), id="ready since no time at all"),
        pytest.param(
            a_replica("a", ready_since=NOW - 100_001, restarts=(0, 0)),
            a_replica("b", ready_since=NOW - 100_000, restarts=(9, 0)),
            id="nearly as long: by uid, whatever the restarts",
        ),
        pytest.param(a_replica("b", restarts=(2, 0)), a_replica("a", restarts=(1, 5)), id="more restarts"),
        pytest.param(a_replica("b", restarts=(1, 2)), a_replica("a", restarts=(1, 1)), id="of sidecars"),
        pytest.param(a_replica("b", created=NOW - 1), a_replica("a"), id="created later"),
    ],
)
def test_order_of_two(first: Replica, second: Replica) -> None:
    """The first goes, in whatever order they are given."""
    for pods in ([first, second], [second, first]):
        assert ([first], []) == find_victims(pods, 1, pods, NOW)[:2]


@pytest.mark.parametrize(
    ("ages", "names", "expected"),
    [
        pytest.param((1, 60), "ab", True, id="1 and 60 s, as the uids are: whenever it is"),
        pytest.param((1, 60), "ba", False, id="1 and 60 s: of one logarithm later"),
        pytest.param((60, 100_000), "ba", True, id="60 s and a day: never of one"),
        pytest.param((100_000, 100_060), "ba", True, id="a day, 60 s apart: of one for the next hour"),
        pytest.param((139_000, 139_060), "ba", False, id="60 s apart, before 2^47 ns: not so for a moment"),
    ],
)
def test_what_the_hour_changes(ages: tuple[int, int], names: str, *, expected: bool) -> None:
    """A pod that is first now, but not for the whole horizon, is a tie; the first of now is named first."""
    pods = [a_replica(name, ready_since=NOW - age) for name, age in zip(names, ages, strict=True)]
    first = min(pods, key=lambda pod: (_bucket(pod, NOW), pod.name))
    victims = find_victims(pods, 1, pods, NOW)

    assert ([first], []) == victims[:2] if expected else ([], first) == (victims.certain, victims.tied[0])


def _bucket(pod: Replica, now: float) -> int:
    assert pod.facts is not None
    return int(math.log2((now - pod.facts.ready_since) * 1e9))


@given(st.lists(st.tuples(st.integers(1, 20_000), st.integers(0, 99)), min_size=2, max_size=6, unique=True))
def test_certain_pods_go_whenever_it_is(given: list[tuple[int, int]]) -> None:
    """Of two pods that are told apart the same goes first at every moment until the horizon."""
    pods = [a_replica(f"{uid:02}-{age}", ready_since=NOW - age) for age, uid in given]
    groups = list(in_order(pods, pods, NOW))
    orders = [
        sorted(pods, key=lambda pod: (_bucket(pod, NOW + later), pod.name))
        for later in range(0, int(HORIZON_S) + 1, 97)
    ]

    assert sorted(pods, key=lambda pod: pod.name) == sorted(
        (pod for group in groups for pod in group), key=lambda pod: pod.name
    )
    start = 0
    for group in groups:
        for order in orders:
            assert set(map(id, group)) == set(map(id, order[start : start + len(group)]))
        start += len(group)


def test_doubled_up() -> None:
    """A pod goes first that shares its node with more pods of the owner's ReplicaSets, this or another."""
    alone, beside = a_replica("a", "n1"), a_replica("b", "n2")
    other = a_replica("new", "n2")

    assert [beside] == find_victims([alone, beside], 1, [alone, beside, other], NOW).certain


def test_cost_before_doubled_up() -> None:
    """The deletion cost decides before the node does."""
    dear, cheap = a_replica("a", "n1", cost=5), a_replica("b", "n2", cost=-5)

    assert [cheap] == find_victims([dear, cheap], 1, [dear, cheap, a_replica("c", "n1")], NOW).certain


def test_ties() -> None:
    """Of pods of which no age is known any may go; those that surely go are told apart."""
    pending = a_replica("z", None, known=False)
    equal = [a_replica(name, f"n-{name}", known=False) for name in ("c", "a", "b")]
    victims = find_victims([*equal, pending], 3, [*equal, pending])

    assert ([pending], ["a", "b", "c"], 2) == (
        victims.certain,
        [pod.name for pod in victims.tied],
        victims.picks,
    )


def test_all() -> None:
    """Where all go there is nothing to choose."""
    pods = [a_replica("a"), a_replica("b")]

    assert (pods, [], 0) == find_victims(pods, 2, pods)


FACTS = st.builds(
    DeletionFacts,
    phase=st.sampled_from([0, 1, 2]),
    ready=st.booleans(),
    cost=st.integers(-1, 1),
    ready_since=st.sampled_from([0.0, NOW, NOW - 1, NOW - 1.5, NOW - 1000]),
    restarts=st.tuples(st.integers(0, 1), st.integers(0, 1)),
    created=st.sampled_from([0.0, NOW - 1, NOW - 1000]),
    uid=st.sampled_from(["u1", "u2"]),
).map(lambda facts: facts if facts.ready else facts._replace(ready_since=0.0))


def _replica(number: int, node: str | None, facts: DeletionFacts) -> Replica:
    return Replica(f"p{number}", "r", frozenset(), node, facts.ready, facts)


def _less(one: Replica, other: Replica, rank: dict[str | None, int]) -> bool:
    """Return the result of ``ActivePodsWithRanks.Less``, branch by branch."""
    a, b = one.facts, other.facts
    assert a is not None
    assert b is not None
    if one.node != other.node and (one.node is None or other.node is None):
        return one.node is None
    if a.phase != b.phase:
        return a.phase < b.phase
    if a.ready != b.ready:
        return not a.ready
    if a.cost != b.cost:
        return a.cost < b.cost
    if rank[one.node] != rank[other.node]:
        return rank[one.node] > rank[other.node]
    if a.ready and b.ready and a.ready_since != b.ready_since:
        return _less_time(a.ready_since, b.ready_since, a.uid, b.uid)
    if a.restarts[0] != b.restarts[0]:
        return a.restarts[0] > b.restarts[0]
    if a.restarts[1] != b.restarts[1]:
        return a.restarts[1] > b.restarts[1]
    if a.created != b.created:
        return _less_time(a.created, b.created, a.uid, b.uid)
    return False


def _less_time(one: float, other: float, uid: str, other_uid: str) -> bool:
    if one == 0 or other == 0:
        return one == 0
    difference = _age_rank(one) - _age_rank(other)
    return uid < other_uid if difference == 0 else difference < 0


def _age_rank(time: float) -> int:
    age = (NOW - time) * 1e9
    return int(math.log2(age)) if age > 0 else -1


class TestLess:
    """ "ActivePodsWithRanks: Less compares two pods with corresponding ranks"."""

    @given(st.tuples(FACTS, FACTS), st.tuples(st.sampled_from([None, "n1", "n2"]), st.just("n1")))
    def test_pairs(self, facts: tuple[DeletionFacts, DeletionFacts], nodes: tuple[str | None, str]) -> None:
        """Of two pods the lesser goes; where neither is less, it is open."""
        pods = [_replica(number, nodes[number], facts[number]) for number in range(2)]
        related = [*pods, _replica(3, "n2", facts[0])]
        rank = {node: sum(pod.node == node for pod in related) for node in (None, "n1", "n2")}
        less = _less(pods[0], pods[1], rank), _less(pods[1], pods[0], rank)
        victims = find_victims(pods, 1, related, NOW)

        if any(less):
            # What goes first now may be a tie within the hour, and is named first then.
            assert pods[less.index(True)] is [*victims.certain, *victims.tied][0]
        else:
            assert [] == victims.certain

    @given(st.lists(st.tuples(FACTS, st.sampled_from([None, "n1", "n2", "n3"])), min_size=1, max_size=8))
    def test_many(self, drawn: list[tuple[DeletionFacts, str | None]]) -> None:
        """Without times the order is total: what goes is the head of the sorted list."""
        pods = [
            _replica(number, node, facts._replace(ready_since=0.0, created=0.0))
            for number, (facts, node) in enumerate(drawn)
        ]
        rank = {pod.node: sum(other.node == pod.node for other in pods) for pod in pods}

        def compare(one: Replica, other: Replica) -> int:
            return _less(other, one, rank) - _less(one, other, rank)

        ordered = sorted(pods, key=cmp_to_key(compare))
        for count in range(len(pods)):
            victims = find_victims(pods, count, pods, NOW)
            allowed = {pod.name for pod in ordered[:count]} | {
                pod.name for pod in ordered if count and compare(pod, ordered[count - 1]) == 0
            }

            assert count == len(victims.certain) + victims.picks
            assert {pod.name for pod in (*victims.certain, *victims.tied)} <= allowed
            assert all(compare(pod, ordered[count]) < 0 for pod in victims.certain)

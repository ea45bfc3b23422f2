"""Tests of how many pods there is room for: a table, and every order of placing on small clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policies.scheduler import capacity
from policies.scheduler.capacity import (
    MOST_COMPARISONS,
    DomainCapacities,
    UndecidedError,
    _levels,
    most_pods,
)
from tests.examples import examples

#: Most pods that the search places. Arbitrary; keeps it quick.
WANTED = 8


class Spread(NamedTuple):
    """A hard constraint; ``max_skew`` 0 stands for none."""

    max_skew: int
    min_domains: int


class Cluster(NamedTuple):
    """Nodes by their zone, and which of them pods can go to."""

    zones: tuple[int, ...]
    usable: tuple[bool, ...]
    by_host: Spread
    by_zone: Spread


SPREADS = st.builds(Spread, st.integers(0, 2), st.sampled_from([1, 1, 2, 3]))
CLUSTERS = st.integers(1, 5).flatmap(
    lambda size: st.builds(
        Cluster,
        st.tuples(*[st.integers(0, 2)] * size),
        st.tuples(*[st.sampled_from([True, True, True, False])] * size),
        SPREADS,
        SPREADS,
    )
)


def max_pods(capacities: Sequence[DomainCapacities], wanted: int) -> int | None:
    """Return how many pods fit at most; None if as many as are wanted may, or where there is no result."""
    room = most_pods(capacities)
    return None if room is None else room.below(wanted)


@pytest.mark.parametrize(
    ("sizes", "host", "zone", "expected"),
    [
        pytest.param([3, 1], 1, 1, 3, id="hosts [3,1], both maxSkew 1: two and one"),
        pytest.param([3, 1], 2, 1, 7, id="hosts [3,1], two a host: four and three"),
        pytest.param([2, 2], 1, 1, None, id="hosts [2,2]: any number"),
        pytest.param([5, 1], 1, 5, 9, id="hosts [5,1], zones 5 apart: seven and two"),
    ],
)
def test_hosts_in_zones(sizes: list[int], host: int, zone: int, expected: int | None) -> None:
    """Zones of unequal size hold up the hosts in them, and the other way about."""
    names = {str(place): frozenset(f"{place}-{n}" for n in range(size)) for place, size in enumerate(sizes)}
    hosts = {name: frozenset({name}) for nodes in names.values() for name in nodes}
    families = [
        DomainCapacities("zone", names, zone, rises=True),
        DomainCapacities("host", hosts, host, rises=True),
    ]

    assert expected == max_pods(families, 12)


@pytest.mark.parametrize(
    ("sizes", "zone", "expected"),
    [
        pytest.param([1], 1, None, id="1 host: both minima rise without end"),
        pytest.param([2, 2], 1, None, id="hosts [2,2]: the same, by steps of 2"),
        pytest.param(
            [100, 99], 100, 20_098, id="hosts [100,99]: they come to a stand after many small steps"
        ),
        pytest.param([], 1, 0, id="no host: no room"),
    ],
)
def test_any_number_of_replicas_costs_little(sizes: list[int], zone: int, expected: int | None) -> None:
    """The number of replicas does not decide how long the answer takes: an int32 is no number of steps."""
    names = {str(place): frozenset(f"{place}-{n}" for n in range(size)) for place, size in enumerate(sizes)}
    hosts = {name: frozenset({name}) for nodes in names.values() for name in nodes}
    families = [
        DomainCapacities("zone", names, zone, rises=True),
        DomainCapacities("host", hosts, 1, rises=True),
    ]

    assert expected == max_pods(families, 2**31 - 1)


class Tree(NamedTuple):
    """Nested domains, from the root on: how many are in each, level by level, and what each level allows."""

    inside: tuple[tuple[int, ...], ...]
    limits: tuple[int, ...]
    rises: tuple[bool, ...]


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Draw up to four levels of domains of unequal sizes, some levels with the same domains."""
    depth = draw(st.integers(1, 4))
    inside: list[tuple[int, ...]] = [(draw(st.integers(1, 3)),)]
    for _ in range(depth - 1):
        inside.append(tuple(draw(st.sampled_from([1, 1, 2, 3, 5])) for _ in range(sum(inside[-1]))))
    limits = st.one_of(st.integers(1, 3), st.integers(1, 60))
    rises = st.sampled_from([True] * 9 + [False])
    return Tree(tuple(inside), draw(st.tuples(*[limits] * depth)), draw(st.tuples(*[rises] * depth)))


def _capacities(tree: Tree) -> list[DomainCapacities]:
    """Return the levels of a tree, the coarsest first; its leaves are nodes."""
    families: list[list[frozenset[str]]] = [[frozenset({str(node)}) for node in range(sum(tree.inside[-1]))]]
    for sizes in reversed(tree.inside[1:]):
        below = iter(families[0])
        families.insert(0, [frozenset().union(*islice(below, size)) for size in sizes])
    return [
        DomainCapacities(str(level), {str(n): nodes for n, nodes in enumerate(family)}, limit, rises=rises)
        for level, (family, limit, rises) in enumerate(zip(families, tree.limits, tree.rises, strict=True))
    ]


def _one_by_one(capacities: list[DomainCapacities], wanted: int) -> int | None:
    """Raise one minimum by one at a time, looking at every domain: what ``max_pods`` must come to."""
    domains = [list(capacity.domains.values()) for capacity in reversed(capacities)]
    allowed = [capacity.limit for capacity in reversed(capacities)]
    rises = [capacity.rises for capacity in reversed(capacities)]
    minima = [0] * len(domains)

    def most(level: int, nodes: frozenset[str]) -> int:
        cap = minima[level] + allowed[level]
        below = [most(level - 1, each) for each in domains[level - 1] if each <= nodes] if level else [cap]
        return min(cap, sum(below))

    def can_rise(level: int) -> bool:
        below = (
            sum(most(level - 1, each) for each in domains[level - 1] if each <= nodes)
            for nodes in (domains[level] if level else ())
        )
        least = minima[level] + 1
        return (
            rises[level]
            and all(held >= least for held in below)
            and all(
                least * sum(each <= nodes for each in domains[level]) <= minima[above] + allowed[above]
                for above in range(level + 1, len(domains))
                for nodes in domains[above]
            )
        )

    while (room := sum(most(len(domains) - 1, nodes) for nodes in domains[-1])) < wanted:
        level = next((level for level in range(len(domains)) if can_rise(level)), None)
        if level is None:
            return room
        minima[level] += 1
    return None


@examples(300)
@given(trees(), st.sampled_from([1, 5, 50, 400]))
@example(Tree(((3,), (2, 2, 3), (1, 1, 1, 1, 1, 1, 3)), (1, 5, 7), (True, True, True)), 400)
def test_is_what_single_steps_reach(tree: Tree, wanted: int) -> None:
    """Leaps end where single steps end."""
    capacities = _capacities(tree)

    assert _one_by_one(capacities, wanted) == max_pods(capacities, wanted)


@examples(150)
@given(trees(), st.integers(0, 30), st.sampled_from([1, 5, 50, 400]))
def test_a_search_that_is_given_up_says_so(tree: Tree, comparisons: int, wanted: int) -> None:
    """A search that is ended early finds the right number or gives up."""
    capacities = _capacities(tree)
    try:
        with patch.object(capacity, "MOST_COMPARISONS", comparisons):
            found = max_pods(capacities, wanted)
    except UndecidedError:
        return

    assert max_pods(capacities, wanted) == found


def test_what_is_not_found_is_no_room_for_all() -> None:
    """None would say that all may fit."""
    names = {"a": frozenset("123"), "b": frozenset("4")}
    hosts = DomainCapacities("host", {node: frozenset(node) for node in "1234"}, 1, rises=True)
    families = [DomainCapacities("zone", names, 1, rises=True), hosts]
    with patch.object(capacity, "MOST_COMPARISONS", 0):
        assert max_pods(families, 1) is None
        with pytest.raises(UndecidedError):
            max_pods(families, 4)


@pytest.mark.parametrize("nodes", [1_000, 5_000])
@pytest.mark.parametrize("zones", [3, 12, 100])
@pytest.mark.parametrize(
    "limits", [(1, 1), (1, 1, 1), (1, 1, 2), (1, 1, 5), (1, 2, 5), (5, 2, 1), (9, 70, 30)]
)
def test_comparisons_are_few(limits: tuple[int, ...], zones: int, nodes: int) -> None:
    """They grow neither with the nodes nor with the pods; of so many nodes not all that are wanted fit."""
    sizes = tuple(len(range(zone, nodes, zones)) for zone in range(zones))
    tree = Tree(((1,), (zones,), sizes)[: len(limits)], limits, (True,) * len(limits))
    levels = _levels(_capacities(tree))
    assert levels is not None

    levels.climb((0,) * len(levels.levels), 0, [])
    assert levels.spent <= MOST_COMPARISONS / 4


def test_no_family_is_no_limit() -> None:
    """Without constraints any number fits."""
    assert None is max_pods([], 5)


def test_domains_that_overlap_are_not_judged() -> None:
    """Racks that cross rows are no tree."""
    rows = DomainCapacities("row", {"1": frozenset("ab"), "2": frozenset("cd")}, 1, rises=False)
    racks = DomainCapacities("rack", {"1": frozenset("ac"), "2": frozenset("bd")}, 1, rises=False)

    assert None is max_pods([rows, racks], 99)


@examples(150)
@given(CLUSTERS)
def test_is_what_the_best_order_reaches(cluster: Cluster) -> None:
    """The room is the most pods that any order of placing them one after another reaches."""
    room = max_pods(list(_families(cluster)), WANTED)

    assert _reached(cluster) == (WANTED if room is None else room)


def _families(cluster: Cluster) -> Iterator[DomainCapacities]:
    nodes = range(len(cluster.zones))
    for of, spread in ((nodes, cluster.by_host), (cluster.zones, cluster.by_zone)):
        if spread.max_skew == 0 and of is not nodes:
            continue
        domains: dict[str, set[str]] = {}
        for node in nodes:
            if cluster.usable[node]:
                domains.setdefault(str(of[node]), set()).add(str(node))
        enough = len(set(of)) >= spread.min_domains and len(domains) == len(set(of))
        limit = spread.max_skew or WANTED
        frozen = {value: frozenset(names) for value, names in domains.items()}
        yield DomainCapacities("host" if of is nodes else "zone", frozen, limit, rises=enough)


def _reached(cluster: Cluster) -> int:
    """Try every order: the states are the counts of pods by node."""
    best, seen, pending = 0, set(), [(0,) * len(cluster.zones)]
    while pending:
        counts = pending.pop()
        if counts in seen:
            continue
        seen.add(counts)
        best = max(best, sum(counts))
        if best >= WANTED:
            return WANTED
        pending += [
            (*counts[:node], counts[node] + 1, *counts[node + 1 :])
            for node in range(len(counts))
            if cluster.usable[node] and _fits(cluster, counts, node)
        ]
    return best


def _fits(cluster: Cluster, counts: tuple[int, ...], node: int) -> bool:
    """Ask the scheduler's formula: matching + 1 - minimum within maxSkew."""
    for of, spread in ((range(len(counts)), cluster.by_host), (cluster.zones, cluster.by_zone)):
        totals: dict[int, int] = {}
        for place, count in zip(of, counts, strict=True):
            totals[place] = totals.get(place, 0) + count
        minimum = 0 if len(totals) < spread.min_domains else min(totals.values())
        if spread.max_skew and totals[of[node]] + 1 - minimum > spread.max_skew:
            return False
    return True

"""Tests of how many pods there is room for: a table, and every order of placing on small clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduler.capacity import DomainCapacities, max_pods

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
    """What is asked for does not decide how long the answer takes: an int32 is no number of steps."""
    names = {str(place): frozenset(f"{place}-{n}" for n in range(size)) for place, size in enumerate(sizes)}
    hosts = {name: frozenset({name}) for nodes in names.values() for name in nodes}
    families = [
        DomainCapacities("zone", names, zone, rises=True),
        DomainCapacities("host", hosts, 1, rises=True),
    ]

    assert expected == max_pods(families, 2**31 - 1)


def test_no_family_is_no_limit() -> None:
    """Without constraints any number fits."""
    assert None is max_pods([], 5)


def test_domains_that_overlap_are_not_judged() -> None:
    """Racks that cross rows are no tree."""
    rows = DomainCapacities("row", {"1": frozenset("ab"), "2": frozenset("cd")}, 1, rises=False)
    racks = DomainCapacities("rack", {"1": frozenset("ac"), "2": frozenset("bd")}, 1, rises=False)

    assert None is max_pods([rows, racks], 99)


@settings(max_examples=150, deadline=None)
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

"""Which nodes are found, against a loop as kube-scheduler's with one thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.scheduler.evaluate import NodeSampler, nodes_to_find
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.request import SchedulingRequest
from tests.policies.scheduler.clusters import a_node, a_pod, a_request, an_index

ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


def _prepared(nodes: list[dict[str, Any]], **spec: Any) -> tuple[NodeView, SchedulingRequest, ClusterIndex]:
    index = an_index(nodes)
    request = a_request(a_pod("p", **spec), {}, index)
    return NodeView(index, request.pod), request, index


def _search(order: Sequence[int], feasible: Sequence[bool], start: int, limit: int) -> tuple[list[int], int]:
    """Return the nodes that are found, and how many are looked at until one is too many."""
    found: list[int] = []
    for count in range(len(order)):
        node = order[(start + count) % len(order)]
        if feasible[node]:
            if len(found) == limit:
                return found, count
            found.append(node)
    return found, len(order)


@given(st.integers(1, 260), st.sampled_from([0, 1, 50, 90, 100]), st.data())
def test_searches(size: int, percentage: int, data: st.DataObject) -> None:
    """Each search finds what the loop finds, and the next starts where it stopped."""
    zones = data.draw(st.lists(st.sampled_from("abc"), min_size=size, max_size=size))
    view, request, _ = _prepared([a_node(f"n{at:03}", {ZONE: zone}) for at, zone in enumerate(zones)])
    positions: dict[str, list[int]] = {}
    for at, zone in enumerate(zones):
        positions.setdefault(zone, []).append(at)
    order = [nodes[turn] for turn in range(size) for nodes in positions.values() if turn < len(nodes)]
    sampler, start = NodeSampler(percentage), 0
    for seed in data.draw(st.lists(st.integers(0, 9), max_size=4)):
        feasible = np.random.default_rng(seed).random(size) < 0.8
        found, looked_at = _search(order, feasible.tolist(), start, nodes_to_find(percentage, size))
        start = (start + looked_at) % size

        assert sorted(found) == np.flatnonzero(sampler.find(view, request, feasible)).tolist()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param([{ZONE: "a"}] * 3 + [{ZONE: "b"}] * 2, [0, 3, 1, 4, 2], id="one of each zone in turn"),
        pytest.param([{}, {ZONE: ""}, {ZONE: "a"}], [0, 2, 1], id="an empty zone is none"),
        pytest.param(
            [{ZONE: "a"}, {ZONE: "a", OLD_ZONE: "b"}, {ZONE: "a"}, {OLD_ZONE: "a"}],
            [0, 1, 2, 3],
            id="the old name of the label counts first",
        ),
        pytest.param([], [], id="no nodes"),
    ],
)
def test_order(labels: list[dict[str, str]], expected: list[int]) -> None:
    """The order is that of the scheduler's tree of nodes."""
    view, _, _ = _prepared([a_node(f"n{at}", entry) for at, entry in enumerate(labels)])

    assert expected == NodeSampler(0)._in_order(view).tolist()


def test_nodes_that_affinity_names() -> None:
    """Of nodes that affinity names only those are looked at, which counts for the next start."""
    named = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n003", "n004"]}]}
    ]}}  # fmt: skip
    view, request, _ = _prepared(
        [a_node(f"n{at:03}", {}) for at in range(200)], affinity={"nodeAffinity": named}
    )
    sampler, feasible = NodeSampler(1), np.zeros(200, np.bool_)
    feasible[[3, 4]] = True

    assert [3, 4] == np.flatnonzero(sampler.find(view, request, feasible)).tolist()
    assert 2 == sampler._start


def test_a_gated_pod_is_no_search() -> None:
    """The scheduler does not try such a pod, so the next start stays."""
    view, request, _ = _prepared(
        [a_node(f"n{at:03}", {}) for at in range(200)], schedulingGates=[{"name": "g"}]
    )
    sampler = NodeSampler(1)
    sampler.find(view, request, np.ones(200, np.bool_))

    assert 0 == sampler._start

"""How many more pods fit, against placing them one after another."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.scheduler.binding import schedule
from policies.scheduler.capacity import MOST_ON_A_NODE
from policies.scheduler.evaluate import evaluate
from policies.scheduler.headroom import Headroom, headroom
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest
from tests.examples import examples
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, a_request, an_index, zones
from tests.policies.scheduler.scheduler_configs import profile_of, with_args, with_plugins


def _room(request: SchedulingRequest, index: ClusterIndex) -> Headroom:
    return headroom(evaluate(request, index), index)


def _placed(request: SchedulingRequest, index: ClusterIndex) -> int:
    fork = index.fork("shop")
    count = 0
    while schedule(request, fork, f"p-{count}").node is not None:
        count += 1
    return count


@pytest.mark.parametrize(
    ("nodes", "pod", "expected"),
    [
        pytest.param(
            [*zones(a=0, b=0), a_node("c", {"zone": "c"}, unschedulable=True)],
            a_pod("p", spread=[a_constraint()]),
            Headroom(pods=2, constraint=0, domain="c"),
            id="a cordoned zone keeps the minimum at 0",
        ),
        pytest.param(
            zones(a=2, b=0), a_pod("p", cpu="2"), Headroom(pods=3), id="no constraint: the room of nodes"
        ),
        pytest.param(
            zones(a=1, b=1),
            a_pod("p", spread=[a_constraint(minDomains=3)]),
            Headroom(pods=0, constraint=0),
            id="fewer domains than minDomains",
        ),
        pytest.param([], a_pod("p"), Headroom(pods=0), id="no nodes"),
    ],
)
def test_by_hand(nodes: list[dict[str, Any]], pod: dict[str, Any], expected: Headroom) -> None:
    """The number, and what limits it."""
    index = an_index(nodes)

    assert expected == _room(a_request(pod, {}, index), index)


@st.composite
def _clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    nodes = []
    for number in range(draw(st.integers(0, 6))):
        labels = {"host": f"n{number}"}
        if draw(st.booleans()):
            labels["zone"] = draw(st.sampled_from("abc"))
        taints = ["t=:NoSchedule"] if draw(st.integers(0, 3)) == 0 else []
        nodes.append(a_node(f"n{number}", labels, taints=taints, unschedulable=draw(st.integers(0, 4)) == 0))
    pods = [
        a_pod(f"q{number}", f"n{draw(st.integers(0, 5))}", {"app": draw(st.sampled_from(["web", "db"]))})
        for number in range(draw(st.integers(0, 8)))
    ]
    return [*nodes, *pods]


_CONSTRAINTS = st.builds(
    lambda key, skew, least, taints: a_constraint(
        key, maxSkew=skew, minDomains=least, nodeTaintsPolicy=taints
    ),
    st.sampled_from(["zone", "host"]),
    st.integers(1, 3),
    st.integers(1, 4),
    st.sampled_from(["Honor", "Ignore"]),
)


@examples(150)
@given(_clusters(), st.lists(_CONSTRAINTS, max_size=2), st.sampled_from(["1", "1500m"]))
def test_as_many_as_can_be_placed(
    objects: list[dict[str, Any]], spread: list[dict[str, Any]], cpu: str
) -> None:
    """With one constraint at most it is the number of pods that the scheduler binds; with more, no less."""
    index = an_index(objects)
    request = a_request(a_pod("p", labels={"app": "web"}, spread=spread, cpu=cpu), {}, index)
    found, placed = _room(request, index).pods, _placed(request, index)

    assert placed <= found
    if len(spread) <= 1:
        assert placed == found


def test_a_profile_that_ignores_resources() -> None:
    """Resources that the profile does not look at limit nothing."""
    index = an_index([a_node("n1")])
    pod = a_pod("p", containers=[{"name": "c", "resources": {"requests": {"acme.io/gpu": "1"}}}])
    ignoring = profile_of(with_args("NodeResourcesFit", ignoredResourceGroups=["acme.io"]))
    without = profile_of(with_plugins(filter={"-NodeResourcesFit": None}))

    assert 0 == _room(a_request(pod, {}, index), index).pods
    assert 110 == _room(a_request(pod, {}, index, profile=ignoring), index).pods
    assert MOST_ON_A_NODE == _room(a_request(pod, {}, index, profile=without), index).pods

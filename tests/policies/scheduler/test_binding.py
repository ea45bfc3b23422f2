"""Pods are bound one after another, in a fork of the cluster."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from policies.model.labels import LabelSelector
from policies.scheduler.binding import SchedulingAttempt, schedule
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, a_request, an_index, zones

SOFT = "ScheduleAnyway"


def _schedule_all(request: SchedulingRequest, fork: ClusterIndex, count: int) -> list[SchedulingAttempt]:
    return [schedule(request, fork, f"p-{number}") for number in range(count)]


@pytest.mark.parametrize(
    ("nodes", "pod", "most", "expected"),
    [
        pytest.param(zones(a=0, b=0), a_pod("p", spread=[a_constraint()]), 6, 6, id="2 free zones, 6: 6"),
        pytest.param(
            [*zones(a=0, b=0), a_node("c", {"zone": "c"}, unschedulable=True)],
            a_pod("p", spread=[a_constraint()]),
            6,
            2,
            id="a third zone is cordoned, maxSkew 1: 2",
        ),
        pytest.param(
            [*zones(a=0, b=0), a_node("c", {"zone": "c"}, unschedulable=True)],
            a_pod("p", spread=[a_constraint(maxSkew=2)]),
            6,
            4,
            id="the same, maxSkew 2: 4",
        ),
        pytest.param(zones(a=0, b=0), a_pod("p", cpu="1500m"), 9, 4, id="1.5 of 4 cpu on 2 nodes: 4"),
        pytest.param(
            zones(a=0, b=0),
            a_pod("p", spread=[a_constraint(action=SOFT)], cpu="4"),
            3,
            2,
            id="soft: cpu decides",
        ),
        pytest.param(zones(a=0), a_pod("p", schedulingGates=[{"name": "g"}]), 3, 0, id="gated: 0"),
        pytest.param(zones(a=0), a_pod("p"), 0, 0, id="none wanted: 0"),
        pytest.param([], a_pod("p"), 3, 0, id="no nodes: 0"),
    ],
)
def test_how_many_fit(nodes: list[dict[str, Any]], pod: dict[str, Any], most: int, expected: int) -> None:
    """Each pod is placed beside those before it, and the cluster itself stays as it is."""
    index = an_index(nodes)
    question = a_request(pod, {}, index)
    before = index.pod_count
    fork = index.fork("shop")

    steps = _schedule_all(question, fork, most)

    assert expected == sum(step.node is not None for step in steps)
    assert all(bool(step.message) is (step.node is None) for step in steps)
    assert (before, before + expected) == (index.pod_count, fork.pod_count)


def test_the_best_score_takes_the_pod() -> None:
    """With a soft constraint the emptiest zone is filled first, as the scheduler would."""
    index = an_index(zones(a=3, b=0))
    fork = index.fork("shop")
    _schedule_all(a_request(a_pod("p", spread=[a_constraint(action=SOFT)]), {}, index), fork, 3)

    used = fork.nodes.used.find("pods")
    assert used is not None
    assert [3, 3] == used[fork.nodes.order()].tolist()


def test_a_tie_is_chosen_from() -> None:
    """Of nodes with the same total one is chosen; a node that alone is feasible has no score."""
    index = an_index(zones(a=0, b=0))
    fork = index.fork("shop")
    request = a_request(a_pod("p", spread=[a_constraint(maxSkew=1)]), {}, index)
    first = schedule(request, fork, "p-0", lambda tied: tied[-1])
    second = schedule(request, fork, "p-1")

    assert (("a", "b"), "b", 2) == (first.tied, first.node, first.feasible)
    assert first.score is not None
    assert (("a",), "a", 1, None) == (second.tied, second.node, second.feasible, second.score)


def test_a_fork_is_its_own() -> None:
    """Nodes and pods of a fork change without the index, and the other way round."""
    index = an_index([*zones(a=1), a_pod("other", "a", {"app": "db"})])
    fork = index.fork("shop")
    question = a_request(a_pod("p", spread=[a_constraint()]), {}, index)
    (node,) = fork.nodes.listed()
    fork.nodes.put(node._replace(name="b", labels={"zone": "b"}))
    fork.unbind("shop", question.constraints[0].selector or LabelSelector())
    metadata = {"name": "web", "namespace": "shop"}
    index.apply(
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": {"a": "b"}}}
    )

    assert (("a",), 2, 1) == _counted(index)
    assert (("a", "b"), 1, 0) == _counted(fork)
    assert [1, 0] == [
        int(evaluate(question, found).results[0].domains.matching.sum()) for found in (index, fork)
    ]


def _counted(index: ClusterIndex) -> tuple[tuple[str, ...], int, int]:
    return index.nodes.names(), index.pod_count, index.count(("v1", "Service"))


def test_nobody_waits_for_a_fork() -> None:
    """It is asked while another thread keeps the index to itself, and so the other way round."""
    index = an_index(zones(a=1))
    fork = index.fork("shop")
    question = a_request(a_pod("p", spread=[a_constraint()]), {}, index)

    with ThreadPoolExecutor(1) as pool, index.reading():
        assert pool.submit(evaluate, question, fork).result(timeout=60).feasible_count == 1
    with ThreadPoolExecutor(1) as pool, fork.reading():
        assert pool.submit(evaluate, question, index).result(timeout=60).feasible_count == 1

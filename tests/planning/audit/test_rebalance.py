"""The fewest evictions that bring a workload back within maxSkew."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.audit.rebalance import NoPlan, rebalance
from policies.config.context import AdmissionContext
from policies.pods.placement import PreparedPod, prepare, read_workload
from policies.scheduler.binding import schedule
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from tests.builders import HOSTNAME, a_constraint, a_node, a_workload
from tests.examples import examples
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]


def _prepared(spread: list[Object], *objects: Object, kind: str = "StatefulSet") -> PreparedPod:
    context = AdmissionContext(policies=(), cluster=an_index(objects))
    obj = a_workload(kind, spec={"topologySpreadConstraints": spread})
    return prepare(read_workload(obj, context), context)


def test_a_plan() -> None:
    """Each eviction names the pod, and where its replacement goes; the cluster stays as it is."""
    prepared = _prepared([a_constraint()], *NODES, *on("n1", 4), *on("n2", 1))
    plan = rebalance(prepared)

    assert [("n1-3", "n1", "n3"), ("n1-2", "n1", "n2")] == [
        (each.pod, each.node, each.replacement.node) for each in plan.evictions
    ]
    assert ({0: {"a": 4, "b": 1, "c": 0}}, {0: {"a": 2, "b": 2, "c": 1}}) == (plan.before, plan.after)
    assert (None, 2, True) == (plan.why_not, plan.least, plan.proven)
    assert 5 == prepared.cluster.pod_count
    # A StatefulSet makes the pod of the same name again.
    assert ["n1-3", "n1-2"] == [each.replacement.name for each in plan.evictions]


@pytest.mark.parametrize(
    ("prepared", "options", "expected"),
    [
        pytest.param(
            _prepared([a_constraint()], *NODES, *on("n1", 1)), {}, NoPlan.BALANCED, id="within maxSkew"
        ),
        pytest.param(
            _prepared([], *NODES, *on("n1", 3)),
            {},
            NoPlan.SOFT,
            id="only built-in ones, which are soft",
        ),
        pytest.param(
            _prepared([a_constraint(minDomains=4)], *NODES, *on("n1", 3), *on("n2", 1)),
            {},
            NoPlan.FEWER_DOMAINS,
            id="minDomains",
        ),
        pytest.param(
            _prepared([a_constraint()], *NODES, *on("n1", 3)),
            {"budgets": {"web": 0}},
            NoPlan.BUDGET,
            id="a budget allows none",
        ),
        pytest.param(
            _prepared(
                [a_constraint()], NODES[0], NODES[1], a_node("n3", "c", unschedulable=True), *on("n1", 3)
            ),
            {},
            NoPlan.STUCK,
            id="a cordoned zone keeps the minimum at 0",
        ),
    ],
)
def test_no_plan(prepared: PreparedPod, options: dict[str, Any], expected: NoPlan) -> None:
    """Why there is none."""
    assert expected is rebalance(prepared, **options).why_not


def test_the_end_of_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all evictions were tried it is not said that none helps."""
    monkeypatch.setattr("planning.audit.rebalance.MOST_TRIED", 1)
    prepared = _prepared([a_constraint()], *NODES, *on("n1", 4), *on("n2", 1))

    assert NoPlan.UNDECIDED is rebalance(prepared).why_not


def test_soft_constraints() -> None:
    """They count on request."""
    prepared = _prepared([a_constraint(whenUnsatisfiable="ScheduleAnyway")], *NODES, *on("n1", 3))

    assert NoPlan.SOFT is rebalance(prepared).why_not
    assert 2 >= len(rebalance(prepared, soft=True).evictions) >= 1


@st.composite
def _clusters(draw: st.DrawFn) -> tuple[list[Object], list[Object]]:
    nodes = [
        a_node(f"n{at}", draw(st.sampled_from("abc")), unschedulable=draw(st.integers(0, 5)) == 0)
        for at in range(draw(st.integers(2, 4)))
    ]
    pods = [pod for at in range(len(nodes)) for pod in on(f"n{at}", draw(st.integers(0, 3)))]
    spread = [a_constraint(maxSkew=draw(st.integers(1, 2)))]
    if draw(st.booleans()):
        spread.append(a_constraint(topologyKey=HOSTNAME, maxSkew=draw(st.integers(1, 2))))
    return [*nodes, *pods], spread


@examples(60)
@given(_clusters())
def test_plans_of_small_clusters(case: tuple[list[Object], list[Object]]) -> None:
    """After a plan every skew is within maxSkew, and trying all evictions finds no shorter one."""
    objects, spread = case
    prepared = _prepared(spread, *objects)
    plan = rebalance(prepared)
    if plan.why_not is NoPlan.BALANCED:
        assert _excess(prepared, prepared.cluster) == 0
        return
    if plan.why_not is None:
        assert all(
            max(counts.values()) - min(counts.values())
            <= prepared.request.constraints[at].constraint.max_skew
            for at, counts in plan.after.items()
        )
    shortest = _shortest(prepared, prepared.cluster, 3)
    if plan.why_not is None and plan.proven and len(plan.evictions) <= 3:
        assert shortest == len(plan.evictions)
    elif plan.why_not is None and plan.proven:
        assert shortest is None


def _excess(prepared: PreparedPod, cluster: ClusterIndex) -> int:
    found = 0
    for result in evaluate(prepared.request, cluster).results:
        counts = result.domains.by_value().values()
        skew = max(counts, default=0) - min(counts, default=0)
        found += max(0, skew - result.applied.constraint.max_skew)
    return found


def _shortest(prepared: PreparedPod, cluster: ClusterIndex, depth: int) -> int | None:
    """Return how many evictions are enough, trying every pod in every order."""
    if not _excess(prepared, cluster):
        return 0
    selector = prepared.workload.selector
    assert selector is not None
    best: int | None = None
    first_on = {pod.node: pod.name for pod in reversed(cluster.selected_pods("shop", selector))}
    for pod in first_on.values():
        left = (depth if best is None else best - 1) - 1
        if left < 0:
            break
        fork = cluster.fork("shop")
        fork.remove("v1", "Pod", "shop", pod)
        if schedule(prepared.request, fork, pod).node is None:
            continue
        further = _shortest(prepared, fork, left)
        if further is not None:
            best = further + 1
    return best

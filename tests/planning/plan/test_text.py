"""Plans as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from planning.plan.run import PlanRun
from planning.plan.text import render
from policies.model.version import KNOWN_VERSION
from tests.builders import a_constraint, a_node
from tests.planning.plan.plans import EMPTY, HOSTILE_RUNS, RUN, SCALED
from tests.planning.planned import a_deployment, a_set, plan, running


@pytest.mark.parametrize(
    ("name", "run"), [("plan.txt", RUN), ("plan-autoscale.txt", SCALED), ("plan-empty.txt", EMPTY)]
)
def test_render(golden: Callable[[str, str], str], name: str, run: PlanRun) -> None:
    """A block for each workload, then findings, what is left out, and the summary."""
    actual = render(run, width=100, color=False)

    assert golden(name, actual) == actual


@given(HOSTILE_RUNS)
def test_hostile(run: PlanRun) -> None:
    """Whatever a manifest contains, no terminal is controlled, and the summary is the last line."""
    text = render(run, width=100, color=False)

    assert text.replace("\n", "").isprintable()
    assert text.splitlines()[-1].startswith("Plan: ")


def test_steps_of_one_kind_share_a_line() -> None:
    """Twelve pods that fit nowhere are one line of the trace."""
    nodes = [a_node("n1", "a", unschedulable=True)]
    old, new = (a_deployment(12, spec={"priorityClassName": name}) for name in ("low", "high"))
    limits = {"strategy": {"rollingUpdate": {"maxSurge": 12, "maxUnavailable": 0}}}
    after = new | {"spec": new["spec"] | limits}
    found = plan(a_set(old), a_set(after), *running(*["n1"] * 12), nodes=nodes)
    run = PlanRun(plan=found, compared_with="main", kubernetes_version=KNOWN_VERSION)
    (line,) = (line for line in render(run, width=200, color=False).splitlines() if "1-12." in line)

    assert line.strip().startswith("1-12. created 12 new pods web-next-1, ")
    assert line.endswith(" and 9 more, pending")


def test_what_is_created_first() -> None:
    """A trace begins with the pods that the controller adds before it rolls out."""
    nodes = [a_node("n1", "a")]
    soft = {"topologySpreadConstraints": [a_constraint(whenUnsatisfiable="ScheduleAnyway", minDomains=None)]}
    hard = {"topologySpreadConstraints": [a_constraint(minDomains=3)]}
    before, after = a_deployment(1, spec=soft), a_deployment(3, spec=hard)
    found = plan(a_set(before), a_set(after), *running("n1"), nodes=nodes)
    text = render(
        PlanRun(plan=found, compared_with="main", kubernetes_version=KNOWN_VERSION), width=200, color=False
    )

    assert "2 pods of the old revision were created first" in text


def test_whom_evictions_make_room_for() -> None:
    """A plan says whom its pods have evicted, and what becomes of those."""
    nodes = [a_node("n1", "a") | {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "1"}}}]
    found = plan(a_set(), a_set(a_deployment(1)), *running("n1", app="low", priority=-1), nodes=nodes)
    run = PlanRun(plan=found, compared_with="main", kubernetes_version=KNOWN_VERSION)
    text = render(run, width=200, color=False)

    assert "evicts shop/low-0 from n1 for shop/web-next-1; then: its spec is not known" in text
    assert "1 pod of other workloads is evicted (1 not tried again)" in text

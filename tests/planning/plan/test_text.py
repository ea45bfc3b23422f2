"""Plans as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from planning.plan.answer import PlanRun
from planning.plan.text import render
from tests.builders import a_node
from tests.planning.plan.plans import EMPTY, HOSTILE_RUNS, RUN, SCALED
from tests.planning.planned import SPREAD, a_deployment, a_set, plan, running


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


def test_whom_evictions_make_room_for() -> None:
    """A plan says of whom its pods have others evicted, and what becomes of those."""
    nodes = [a_node("n1", "a") | {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "1"}}}]
    found = plan(a_set(), a_set(a_deployment(1)), *running("n1", app="low", priority=-1), nodes=nodes)
    text = render(PlanRun(plan=found, compared_with="main"), width=200, color=False)

    assert "Other workloads" in text
    assert "shop/low-0" in text


def test_what_other_choices_lead_to() -> None:
    """The sentence is that of the likely way; what another one leads to is said of the workload."""
    found = plan(a_set(a_deployment(3)), a_set(a_deployment(3, spec=SPREAD)), *running("n1", "n1", "n1"))
    text = render(PlanRun(plan=found, compared_with="main"), width=200, color=False)

    assert text.startswith("✓ shop/web rolls out and all 3 run.")
    assert "the skew of zone is up to 2" in text

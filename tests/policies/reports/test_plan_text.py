"""Plans as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from policies.reports.plan_run import PlanRun
from policies.reports.plan_text import render
from tests.policies.reports.plans import EMPTY, HOSTILE_RUNS, RUN


@pytest.mark.parametrize(("name", "run"), [("plan.txt", RUN), ("plan-empty.txt", EMPTY)])
def test_render(golden: Callable[[str, str], str], name: str, run: PlanRun) -> None:
    """A block for each workload, then findings, what is left out, and the summary."""
    actual = render(run, width=100, color=False)

    assert golden(name, actual) == actual


@given(HOSTILE_RUNS)
def test_hostile(run: PlanRun) -> None:
    """Whatever stands in a manifest steers no terminal, and the summary is the last line."""
    text = render(run, width=100, color=False)

    assert text.replace("\n", "").isprintable()
    assert text.splitlines()[-1].startswith("Plan: ")

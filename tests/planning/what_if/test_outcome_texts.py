"""Outcomes as people and CI systems read them; the golden files have the wording."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from planning.simulation.outcome import Outcome
from planning.what_if import junit, text
from tests.planning.what_if.outcomes import OUTCOMES, a_rollout, each_zone, undecided

#: Lines that an answer has at most, in 80 columns.
MOST_LINES = 25


@pytest.mark.parametrize("name", OUTCOMES)
def test_text(name: str, golden: Callable[[str, str], str]) -> None:
    """The verdict comes first, and all fits a screen; read the golden file before agreeing to it."""
    shown = text.render(OUTCOMES[name](), width=80, color=False, source="shop.json")

    assert golden(f"outcome_{name}.txt", shown) == shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert len(shown.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("name", ["rollout", "each_zone", "deadlock"])
def test_wide(name: str, golden: Callable[[str, str], str]) -> None:
    """The longer text has steps, every domain and the scheduler's words."""
    shown = text.render(OUTCOMES[name](), width=120, color=False, wide=True)

    assert golden(f"outcome_{name}_wide.txt", shown) == shown


@pytest.mark.parametrize("name", ["rollout", "each_zone", "drain"])
def test_markdown(name: str, golden: Callable[[str, str], str]) -> None:
    """The same parts as a comment."""
    shown = text.render_markdown(OUTCOMES[name](), source="shop.json")

    assert golden(f"outcome_{name}.md", shown) == shown


@pytest.mark.parametrize(
    ("outcome", "suites", "failures", "errors", "outputs"),
    [
        pytest.param(each_zone(), ["without b", "without a", "without c"], 3, 0, 0, id="a suite a domain"),
        pytest.param(a_rollout(), ["what-if"], 0, 0, 1, id="a warning"),
        pytest.param(undecided(), ["what-if"], 0, 1, 0, id="undecided"),
    ],
)
def test_junit(outcome: Outcome, suites: list[str], failures: int, errors: int, outputs: int) -> None:
    """A false verdict is a failure of the kind of its cause, an undecided one an error."""
    root = ET.fromstring(junit.render(outcome))

    assert suites == [suite.get("name") for suite in root]
    assert (str(failures), str(errors)) == (root.get("failures"), root.get("errors"))
    assert outputs == len(list(root.iter("system-out")))
    kinds = {failure.get("type") for failure in root.iter("failure")}
    assert kinds == ({"pending", "interrupted"} if failures else set())

"""Deletion costs, in the format text."""

from __future__ import annotations

from collections.abc import Callable

from policies.reports.rebalance import deletion_costs_text
from tests.policies.reports.rebalance.rebalances import scale_downs


def test_text(golden: Callable[[str, str], str]) -> None:
    """The pods with the commands that annotate them, or why there are none."""
    text = "\n".join(deletion_costs_text.render(each, width=100, color=False) for each in scale_downs())

    assert golden("deletion_costs.txt", text) == text

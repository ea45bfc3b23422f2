"""The order in which reports tell findings."""

from __future__ import annotations

from itertools import permutations

from policies.reports.lint.order import in_order
from tests.policies.reports.findings import FINDINGS


def test_in_order() -> None:
    """By file, line as a number, then the worst first."""
    orders = {tuple(finding.rule for finding in in_order(order)) for order in permutations(FINDINGS)}

    assert {("wrong", "odd", "a-note", "unreadable")} == orders

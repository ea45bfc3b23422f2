"""Findings as lines of text."""

from __future__ import annotations

from policies.reports.policy.check_text import render
from tests.policies.reports.findings import FINDINGS


def test_render() -> None:
    """One line a finding; what is no error says so behind the place."""
    assert (
        "a.yaml:2: spec.x: is wrong\n"
        "a.yaml:2: warning: spec: is odd\n"
        "a.yaml:10: note: is a document\n"
        "b.yaml: is unreadable\n"
    ) == render(FINDINGS)


def test_nothing() -> None:
    """No findings are no lines."""
    assert "" == render([])

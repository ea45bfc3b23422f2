"""An audit as people read it."""

from __future__ import annotations

from collections.abc import Callable

from policies.reports import audit_text
from tests.policies.reports.audits import an_audit_run


def test_table(golden: Callable[[str, str], str]) -> None:
    """A line for each problem, what all workloads come down to, and that there are more."""
    text = audit_text.render(an_audit_run(), width=120, color=False)
    text += audit_text.render(an_audit_run(top=1), width=80, color=False)

    assert golden("audit.txt", text) == text
    assert "\x1b" not in text

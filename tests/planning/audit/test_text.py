"""An audit as people read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from planning.audit import text as audit_text
from planning.audit import words
from planning.audit.run import AuditRun
from tests.planning.audit.audits import an_audit_run


def test_table(golden: Callable[[str, str], str]) -> None:
    """A line for each problem, what all workloads come down to, and that there are more."""
    text = audit_text.render(an_audit_run(), width=120, color=False)
    text += audit_text.render(an_audit_run(top=1), width=80, color=False)

    assert golden("audit.txt", text) == text
    assert "\x1b" not in text


def test_wide(golden: Callable[[str, str], str]) -> None:
    """A line for every workload, also for those without a problem."""
    run = an_audit_run()
    text = audit_text.render(run, width=140, color=False, wide=True)

    assert golden("audit_wide.txt", text) == text
    assert all(f"\n{words.title(found)} " in text for found in run.workloads)


@pytest.mark.parametrize(
    "render", [audit_text.render_markdown, partial(audit_text.render, width=120, color=False)]
)
def test_ended_before_anything_was_found(render: Callable[[AuditRun], str]) -> None:
    """Workloads that were not audited are not reported as clean."""
    run = replace(an_audit_run(left=3), workloads=(), total=0, with_problems=0, problems=Counter())

    assert "nothing to report" in render(replace(run, left=0))
    assert "nothing to report" not in render(run)
    assert "not looked at: 3" in render(run)

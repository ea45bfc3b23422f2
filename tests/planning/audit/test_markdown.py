"""Audits as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given

from planning.audit.run import AuditRun
from planning.audit.text import render_markdown
from tests.planning.audit.audits import HOSTILE_RUNS, an_audit_run

#: The most characters of a comment on GitHub.
MOST_CHARACTERS = 65_536
#: A character that a backslash escapes, or code: between as many backticks, none of them escaped.
_CODE = re.compile(r"\\.|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")


def test_render(golden: Callable[[str, str], str]) -> None:
    """A row for each problem, then what all workloads come down to; or that there is no problem."""
    run = an_audit_run(top=6, left=3)
    clean = AuditRun.of(run.workloads[:0], replace(run.cluster, unread=()))
    text = f"{render_markdown(run)}\n{render_markdown(clean)}"

    assert golden("audit.md", text) == text


def test_many() -> None:
    """A comment is not longer than it may be, and says how many workloads it leaves out."""
    run = an_audit_run()
    many = [replace(run.workloads[0], name=f"|-{number}") for number in range(2_000)]
    text = render_markdown(AuditRun.of(many, run.cluster))
    (left_out,) = re.findall(r"^and ([\d,]+) more workloads with problems$", text, re.MULTILINE)

    assert len(text) < MOST_CHARACTERS
    assert 2_000 == text.count("\n| error ") + int(left_out.replace(",", ""))


@given(HOSTILE_RUNS)
def test_hostile(run: AuditRun) -> None:
    """Whatever names a cluster has, a problem is one row of six cells, and nothing is markup."""
    text = render_markdown(run)
    rows = [line for line in text.split("\n") if line.startswith("| ")][1:]

    assert sum(len(found.problems) for found in run.workloads) == len(rows)
    assert all(7 == len(re.findall(r"(?<!\\)\|", row)) for row in rows)
    assert text.replace("\n", "").isprintable()
    assert not re.search(r"@\w|<b>", _CODE.sub(lambda part: part[0][1:] if part[1] is None else "", text))

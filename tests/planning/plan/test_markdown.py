"""Plans as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given

from planning.plan.answer import PlanRun
from planning.plan.text import MARK, render_markdown
from tests.planning.plan.plans import EMPTY, HOSTILE_RUNS, RUN, SCALED

#: The most characters of a comment on GitHub.
MOST_CHARACTERS = 65_536


@pytest.mark.parametrize(
    ("name", "run"), [("plan.md", RUN), ("plan-autoscale.md", SCALED), ("plan-empty.md", EMPTY)]
)
def test_render(golden: Callable[[str, str], str], name: str, run: PlanRun) -> None:
    """A line for each workload, the numbers folded away."""
    actual = render_markdown(run)

    assert golden(name, actual) == actual


def test_many() -> None:
    """A comment is not longer than it may be, and says how many workloads it leaves out."""
    workloads = RUN.plan.changes[1:2] * 1_000
    findings = list(RUN.new) * 1_000
    text = render_markdown(
        replace(RUN, plan=replace(RUN.plan, changes=workloads), new=findings, gone=findings)
    )
    (left_out,) = re.findall(r"^and ([\d,]+) more workloads$", text, re.MULTILINE)

    assert len(text) < MOST_CHARACTERS
    assert 1_000 == len(re.findall(r"^`[-+~/]+` ", text, re.MULTILINE)) + int(left_out.replace(",", ""))


#: A character that a backslash escapes, or code: between as many backticks, none of them escaped.
_CODE = re.compile(r"\\.|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")


@given(HOSTILE_RUNS)
def test_hostile(run: PlanRun) -> None:
    """Whatever a manifest contains is no markup, mentions no user, and does not end what is folded."""
    text = render_markdown(run)
    plain = _CODE.sub(lambda part: part[0][1:] if part[1] is None else "", text)
    allowed = {MARK, "<details>", "</details>", "<summary>", "</summary>", "<!-- -->"}

    assert text.replace("\n", "").isprintable()
    assert not re.search(r"@\w", plain)
    assert set(re.findall(r"<[^>\n]*>", plain)) <= allowed
    assert text.count("<details>") == text.count("</details>")

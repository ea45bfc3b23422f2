"""A run of the linter as a Markdown table."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given

from policies.lint.reports.markdown import render
from policies.lint.reports.run import LintRun
from policies.lint.run import LintResult
from policies.manifests.findings import Location
from tests.policies.lint.reports.lint_runs import CLEAN, HOSTILE_RUNS, RUN

#: The most characters of a comment on GitHub.
MOST_CHARACTERS = 65_536


def test_render(golden: Callable[[str, str], str]) -> None:
    """A row a finding."""
    actual = render(RUN)

    assert golden("lint.md", actual) == actual


def test_clean() -> None:
    """No findings are a heading."""
    assert "### evenkeel: no findings in 1 file, 0 workloads\n" == render(CLEAN)


def test_many() -> None:
    """A comment is not longer than it may be, and says how many findings it leaves out."""
    (found,) = RUN.findings[:1]
    many = [replace(found, location=Location("b.yaml", line), message="|" * 300) for line in range(1, 1001)]
    text = render(replace(RUN, result=LintResult(many)))
    (left_out,) = re.findall(r"^and ([\d,]+) more$", text, re.MULTILINE)

    assert len(text) < MOST_CHARACTERS
    assert 1000 == text.count("\n| error ") + int(left_out)


#: A character that a backslash escapes, or code: between as many backticks, none of them escaped.
_CODE = re.compile(r"\\.|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")


@given(HOSTILE_RUNS)
def test_hostile(run: LintRun) -> None:
    """Whatever a manifest contains, a finding is one row of four cells, and nothing is markup.

    A pipe ends no cell if there is a backslash before it, whatever is before that.
    """
    text = render(run)
    rows = [line for line in text.split("\n") if line.startswith("| ")][1:]

    assert len(run.findings) == len(rows)
    assert all(5 == len(re.findall(r"(?<!\\)\|", row)) for row in rows)
    assert text.replace("\n", "").isprintable()
    assert not re.search(r"@\w|<b>", _CODE.sub(lambda part: part[0][1:] if part[1] is None else "", text))

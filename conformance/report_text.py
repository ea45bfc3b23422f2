"""A conformance run for people: a line a feature, what was not answered, and the first cases that failed.

The sentences about one case are those of all formats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import orjson

from conformance.comparison import AnswerDifference
from conformance.run import CaseOutcome, CaseResult, ConformanceRun
from policies.manifests.sanitize import one_line
from policies.manifests.words import more, plural

#: Failed cases that are shown, and differences of each.
MOST_CASES, MOST_LINES = 10, 3
#: Reasons for declined requests that are shown.
_MOST_REASONS: Final = 5

#: Characters of a value; the first of them show what differs.
_VALUE_LENGTH: Final = 200

_COLUMNS: Final = {
    CaseOutcome.PASSED: "PASSED",
    CaseOutcome.PARTIAL: "IN PART",
    CaseOutcome.FAILED: "FAILED",
    CaseOutcome.UNANSWERED: "NOT ANSWERED",
    CaseOutcome.NOT_RUN: "NOT RUN",
}


def render(run: ConformanceRun) -> str:
    """Return the report."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: ConformanceRun) -> Iterator[str]:
    yield f"{one_line(run.corpus)} against {one_line(run.target)}"
    yield ""
    yield from _table(run)
    if run.unanswered:
        yield ""
        yield "Not answered, which is not failed:"
        for name, count in sorted(run.unanswered.items()):
            yield f"  {name}: {plural(count, 'case')}"
    if run.declined:
        yield ""
        yield "Requests that it declined:"
        yield from _declined(run.declined)
    if run.failed:
        yield ""
        yield from _failed(run.failed)
    yield ""
    yield _summary(run)
    if run.stopped:
        yield f"Not finished: {run.stopped}"


def _summary(run: ConformanceRun) -> str:
    """Return the result in one line."""
    words = {
        CaseOutcome.PASSED: "passed",
        CaseOutcome.PARTIAL: "passed in part",
        CaseOutcome.FAILED: "failed",
        CaseOutcome.UNANSWERED: "not answered",
        CaseOutcome.NOT_RUN: "not run",
    }
    parts = [f"{run.total[outcome]} {word}" for outcome, word in words.items() if run.total[outcome]]
    return f"{plural(run.total.total(), 'case')}: {', '.join(parts)}"


def _table(run: ConformanceRun) -> Iterator[str]:
    rows = [(entry.id, entry.title, counts) for entry, counts in run.features()]
    names = max((len(name) for name, _, _ in rows), default=0)
    titles = max((len(title) for _, title, _ in rows), default=0)
    head = "FEATURE".ljust(names + 2 + titles)
    yield "  ".join([head, *_COLUMNS.values()])
    for name, title, counts in rows:
        numbers = (str(counts[outcome]).rjust(len(word)) for outcome, word in _COLUMNS.items())
        yield "  ".join([name.ljust(names), title.ljust(titles), *numbers])


def _declined(declined: Counter[str]) -> Iterator[str]:
    for reason, count in declined.most_common(_MOST_REASONS):
        yield f"  {plural(count, 'case')}: {one_line(reason, 200)}"
    if len(declined) > _MOST_REASONS:
        yield f"  and {plural(len(declined) - _MOST_REASONS, 'other reason')}"


def _failed(failed: list[CaseResult]) -> Iterator[str]:
    shown = failed[:MOST_CASES]
    yield (
        "Failed:"
        if len(shown) == len(failed)
        else f"Failed, the first {len(shown)} of {plural(len(failed), 'case')}:"
    )
    for result in shown:
        yield f"  {one_line(result.id)} ({', '.join(sorted(result.features))})"
        lines = failure_lines(result)
        for line in lines[:MOST_LINES]:
            yield f"    {line}"
        if len(lines) > MOST_LINES:
            yield f"    {more(len(lines) - MOST_LINES, 'difference')}"


def difference_line(difference: AnswerDifference) -> str:
    """Return a difference as one line."""
    place = f" of {one_line(difference.place)}" if difference.place else ""
    return (
        f"{difference.field}{place}: expected {value_text(difference.expected)}, "
        f"got {value_text(difference.found)}"
    )


def failure_lines(result: CaseResult) -> list[str]:
    """Return why a case failed, a line for each difference that was kept."""
    if result.comparison is None:
        return [result.problem]
    return [difference_line(difference) for difference in result.comparison.differences]


def value_text(value: object) -> str:
    """Return a value of an answer as JSON, cut."""
    if value is None:
        return "nothing"
    try:
        text = orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        # It is read deeper than it is written.
        text = "a deeply nested value"
    return one_line(text, _VALUE_LENGTH)

"""The sentences about one case in the reports of a conformance run, for all formats."""

from __future__ import annotations

from typing import Final

import orjson

from conformance.comparison import AnswerDifference
from conformance.run import CaseResult
from policies.manifests.sanitize import one_line

#: Characters of a value; the first of them show what differs.
_VALUE_LENGTH: Final = 200


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

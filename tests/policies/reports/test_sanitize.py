"""Text from outside on one line."""

from __future__ import annotations

import pytest

from policies.reports.sanitize import MAX_LENGTH, one_line, printable_lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("web ä 漢", "web ä 漢", id="plain"),
        pytest.param("a\r\nb\tc", r"a\r\nb\tc", id="line break"),
        pytest.param("\x1b[31m", r"\x1b[31m", id="escape sequence"),
        pytest.param("\u202e\ud800\x85", r"\u202e\ud800\x85", id="direction, surrogate, C1"),
        pytest.param("x" * MAX_LENGTH, "x" * MAX_LENGTH, id="as long as may be"),
        pytest.param("x" * (MAX_LENGTH + 1), "x" * (MAX_LENGTH - 1) + "…", id="too long"),
    ],
)
def test_one_line(text: str, expected: str) -> None:
    """What cannot be printed is written as an escape, what is too long is cut."""
    assert expected == one_line(text)


def test_lines_stay_lines() -> None:
    """Line breaks stay, and nothing else that cannot be printed."""
    assert "a\nb\\r\\u202e" == printable_lines("a\nb\r\u202e")

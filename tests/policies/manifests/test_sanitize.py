"""Text from outside, made safe to print."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests.sanitize import MAX_LENGTH, cut, one_line, printable_lines

#: Characters that steer a terminal or turn the order of reading, among others.
TEXTS = st.text(st.characters() | st.sampled_from("\x1b\x00\x7f\x85\r\n\t\u200f\u202e\u2066\ud800"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("web ä 漢", "web ä 漢", id="plain"),
        pytest.param("a\r\nb\tc", r"a\r\nb\tc", id="line break"),
        pytest.param("\x1b[31m", r"\x1b[31m", id="escape sequence"),
        pytest.param("\u202e\ud800\x85", r"\u202e\ud800\x85", id="direction, surrogate, C1"),
        pytest.param("x" * MAX_LENGTH, "x" * MAX_LENGTH, id="of the largest length"),
        pytest.param("x" * (MAX_LENGTH + 1), "x" * (MAX_LENGTH - 1) + "…", id="too long"),
    ],
)
def test_one_line(text: str, expected: str) -> None:
    """Characters that cannot be printed are written as escapes, a text that is too long is cut."""
    assert expected == one_line(text)


@given(TEXTS, st.integers(1, 40))
def test_a_line_is_printable_and_bounded(text: str, limit: int) -> None:
    """The line prints, is no longer than allowed, and is the text itself if that prints and fits."""
    line = one_line(text, limit)

    assert line.isprintable()
    assert len(line) <= limit
    assert line == text or not text.isprintable() or len(text) > limit


@given(TEXTS)
def test_lines_stay_lines(text: str) -> None:
    """Line breaks stay, and nothing else that cannot be printed."""
    lines = printable_lines(text)

    assert lines.replace("\n", "").isprintable()
    assert text.count("\n") == lines.count("\n")


@given(TEXTS, st.integers(1, 40))
def test_cut(text: str, limit: int) -> None:
    """A text that is too long ends in an ellipsis, another stays as it is."""
    shorter = cut(text, limit)

    assert shorter == text if len(text) <= limit else shorter == text[: limit - 1] + "…"

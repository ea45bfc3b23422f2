"""Changes of places in a text."""

from __future__ import annotations

import pytest

from policies.manifests.splice import CannotEditError, Splicer


def test_splices() -> None:
    """All places are those of the text as it was; new lines end as its lines do."""
    splicer = Splicer("a\r\nbc\r\nd")
    splicer.put_lines(splicer.line_end(3), ["x", "y"])
    splicer.put(4, 5, "C")
    splicer.drop_lines(7, 7)

    assert "a\r\nbC\r\nx\r\ny" == splicer.result()


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        pytest.param(0, 0, "b\nc", id="the first line"),
        pytest.param(2, 2, "a\nc", id="one in the middle"),
        pytest.param(2, 4, "a", id="to the end"),
    ],
)
def test_drop(first: int, last: int, expected: str) -> None:
    """A line goes with one line break."""
    splicer = Splicer("a\nb\nc")
    splicer.drop_lines(first, last)

    assert expected == splicer.result()


def test_lines_behind_a_dropped_one() -> None:
    """A text put behind a line stays when the line goes."""
    splicer = Splicer("a\nb\nc\n")
    splicer.drop_lines(2, 2)
    splicer.put_lines(3, ["x"])

    assert "a\nx\nc\n" == splicer.result()


def test_overlap() -> None:
    """Two changes of the same place are refused."""
    splicer = Splicer("abc")
    splicer.put(0, 2, "x")
    splicer.put(1, 3, "y")

    with pytest.raises(CannotEditError):
        splicer.result()


@pytest.mark.parametrize("rest", ["", "  ", " # why", ", # why"])
def test_free_line_end(rest: str) -> None:
    """Behind a value only a comment may stand where lines are to follow."""
    assert len(f"a: 1{rest}") == Splicer(f"a: 1{rest}\nb").free_line_end(4)


def test_taken_line_end() -> None:
    """Otherwise the line cannot be ended there."""
    with pytest.raises(CannotEditError):
        Splicer("{a: 1, b: 2}").free_line_end(5)

"""The width and the limits of a text that is shown."""

from __future__ import annotations

import pytest

from webhook.requests.frame import RequestError, Screen, harmless, read_screen


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param({}, Screen(80), id="nothing: 80"),
        pytest.param({"columns": "132", "color": "true"}, Screen(132, color=True), id="132, colors"),
        pytest.param({"columns": "1", "color": "yes"}, Screen(1), id="1, no true"),
    ],
)
def test_queries(query: dict[str, str], expected: Screen) -> None:
    """Columns and colors stand in the query."""
    assert expected == read_screen(query)


@pytest.mark.parametrize("columns", ["0", "1001", "-1", "x", "", "٣", "9" * 5000])
def test_bad_columns(columns: str) -> None:
    """A text that is no number of columns is an error with its field."""
    with pytest.raises(RequestError) as caught:
        read_screen({"columns": columns})

    assert ["columns"] == [str(error.path) for error in caught.value.errors]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a █ ─ ä\n", "a █ ─ ä\n", id="letters and bars"),
        pytest.param("\x1b[1;31mno\x1b[0m", "\x1b[1;31mno\x1b[0m", id="colors"),
        pytest.param("a\x1b[2Jb\x07c\rd\x9be", "a[2Jbcde", id="what clears, rings, returns"),
        pytest.param("\x1b]52;c;x\x07", "]52;c;x", id="the clipboard"),
    ],
)
def test_harmless(text: str, expected: str) -> None:
    """Lines and colors stay, nothing else that a terminal obeys."""
    assert expected == harmless(text)

"""Text that is made to fit: what gives way, and that it always fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.admission.warning_text import ELLIPSIS, LONG_WORD, fit, plain, shortened, wrapped

DOMAINS = "asks for 3 domains, there are 2 of zone"
SENTENCES = f"{DOMAINS} (a, b), so that the minimum counts as 0: 2 of 6 can run"
A, B = "a" * 30, "b" * 30


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("ünï ☃", "ünï ☃", id="what can be printed"),
        pytest.param("a\nb\tc\x7fd\u0085e\u2028f", "a b c d e f", id="controls and separators"),
        pytest.param("\ud800", " ", id="half a character, which is no UTF-8"),
    ],
)
def test_plain(text: str, expected: str) -> None:
    """The API server drops a warning with a control character in it, so there is none."""
    assert expected == plain(text)


@pytest.mark.parametrize(
    ("name", "width", "expected"),
    [
        pytest.param("zone", 4, "zone", id="4 of 4"),
        pytest.param("zones", 4, "zo…s", id="5 of 4"),
        pytest.param("zones", 2, "z…", id="5 of 2"),
        pytest.param("zones", 1, "…", id="5 of 1"),
    ],
)
def test_shortened(name: str, width: int, expected: str) -> None:
    """A name that is too long loses its middle."""
    assert expected == shortened(name, width)


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        pytest.param(SENTENCES, 95, SENTENCES, id="95 of 95"),
        pytest.param(SENTENCES, 94, SENTENCES.replace(" (a, b)", ""), id="without evidence"),
        pytest.param(SENTENCES, 75, f"{DOMAINS}, so that the minimum counts as 0", id="three clauses"),
        pytest.param(SENTENCES, 50, DOMAINS, id="two clauses"),
        pytest.param(SENTENCES, 20, "asks for 3 domains", id="one clause"),
        pytest.param(SENTENCES, 10, "asks for …", id="words"),
        pytest.param(SENTENCES, 3, "a…n", id="no word fits"),
        pytest.param("the fields are maxSkew, minDomains", 30, "the fields are maxSkew, …", id="a list"),
        pytest.param(f"asks for app={'n' * 63}", 60, f"asks for app={'n' * 16}…{'n' * 19}", id="a long name"),
        pytest.param("1 pod(s) (2 node(s)) wait", 20, "1 pod(s) wait", id="brackets in brackets"),
        pytest.param("had {a: b, so c} d e f", 20, "had {a: b, so c} d …", id="no clause ends in brackets"),
    ],
)
def test_fit(text: str, width: int, expected: str) -> None:
    """Evidence gives way first, then clauses from the end; what breaks off says so."""
    assert expected == fit(text, width)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("one line", ["one line"], id="1 line"),
        pytest.param(f"{A}; {B}", [A, B], id="a sentence each"),
        pytest.param(
            f"{A}: b c b c {B}", [f"{A}:", f"b c b c {B}"], id="after the colon, not as late as can be"
        ),
        pytest.param(f"{A} (one, two) {B}", [A, f"(one, two) {B}"], id="brackets stay together"),
        pytest.param(f"{A} b {B} (evidence and more)", [f"{A} b", B], id="too long: without evidence"),
        pytest.param("w " * 60 + "end", ["w " * 21 + "w", "w " * 20 + "w …"], id="too long: without its end"),
        pytest.param("x" * 90, ["x" * 20 + "…" + "x" * 19], id="a word that is too long for any line"),
    ],
)
def test_wrapped(text: str, expected: list[str]) -> None:
    """Lines are few, then broken at the best place; what is too long for all of them is left out."""
    assert expected == wrapped(text, 44, 2, indent=1)


texts = st.lists(
    st.sampled_from(["; ", ": ", ", ", ", so ", " (", ")", " ", "{", "]", "\n", ELLIPSIS])
    | st.text(max_size=8)
    | st.integers(1, 90).map("n".__mul__)
).map("".join)


@given(text=texts, width=st.integers(1, 120))
def test_whatever_it_is_it_fits(text: str, width: int) -> None:
    """No text is longer than its width, has a control character, or gets shorter the second time."""
    fitted = fit(text, width)

    assert len(fitted) <= width
    assert fitted.isprintable()
    assert fitted == fit(fitted, width)


@given(text=texts, width=st.integers(LONG_WORD + 5, 120), most=st.integers(1, 4), indent=st.integers(0, 4))
def test_whatever_it_is_its_lines_fit(text: str, width: int, most: int, indent: int) -> None:
    """There are no more lines than may be, none is too long, and what fits is whole."""
    lines = wrapped(text, width, most, indent=indent)

    assert 1 <= len(lines) <= most
    assert all(line.isprintable() for line in lines)
    assert [] == [line for line in lines[:1] if len(line) > width]
    assert [] == [line for line in lines[1:] if len(line) > width - indent]
    assert len(text) > width or [plain(text)] == lines

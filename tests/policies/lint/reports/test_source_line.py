"""A source line with a caret under a field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.lint.reports.run import LEAD, WIDTH, mark, span
from policies.manifests.fields import FieldPath, Key
from tests.policies.lint.reports.lint_runs import TEXTS


@pytest.mark.parametrize(
    ("line", "segments", "expected"),
    [
        pytest.param("  maxSkew: 0", ("spec", "maxSkew"), "maxSkew", id="block mapping"),
        pytest.param("- maxSkew: 0", ("c", 0, "maxSkew"), "maxSkew", id="first of an entry"),
        pytest.param("- maxSkew: 0", ("c", 0), "-", id="an entry"),
        pytest.param("- maxSkew: 0", ("c", 0, "topologyKey"), "-", id="a field that is not there"),
        pytest.param(
            "  labelSelector: {}", ("labelSelector", "matchLabels"), "labelSelector", id="its parent"
        ),
        pytest.param("{a: 1, ab: 2, b: 3}", ("b",), "b", id="flow mapping"),
        pytest.param('{"a":1,"b":{"a":2}}', ("b",), '"b"', id="JSON"),
        pytest.param("'a b' : 1", ("a b",), "'a b'", id="quotes and blanks"),
        pytest.param("image: app:1", ("app",), "image:", id="a value with a colon"),
        pytest.param("x-app: 1", ("app",), "x-app:", id="the end of another key"),
        pytest.param("[{a: 0}, {a: 1}]", ("s", 1, "a"), "[{a:", id="twice: no guess"),
        pytest.param("a.b/c: d", ("l", Key("a.b/c")), "a.b/c", id="label"),
        pytest.param("  *alias", ("s",), "*alias", id="no key at all"),
    ],
)
def test_span(line: str, segments: tuple[str | int, ...], expected: str) -> None:
    """The key of the field or of its nearest ancestor in the line, else the first word."""
    start, end = span(line, FieldPath(segments))

    assert expected == line[start:end]


@pytest.mark.parametrize(
    ("line", "blanks", "carets"),
    [
        pytest.param("\t\tkey: 1", 2, 3, id="tabs are one blank"),
        pytest.param("{漢字: 1, key: 2}", 10, 3, id="wide characters are two columns"),
        pytest.param("{e\u0301: 1, key: 2}", 7, 3, id="combining characters are none"),
        pytest.param("\x1b[1m key: 2", 5, 3, id="control characters are one"),
        pytest.param("", 0, 1, id="an empty line"),
    ],
)
def test_columns(line: str, blanks: int, carets: int) -> None:
    """Carets stand where a terminal shows the field."""
    marked = mark(line, FieldPath(("key",)))

    assert (blanks, carets) == (marked.blanks, marked.carets)


def test_long_line() -> None:
    """Of a long line the part around the field is shown."""
    marked = mark(f"{{x: {'y' * 1000}, key: {'z' * 1000}}}", FieldPath(("key",)))

    assert "key" == marked.text[marked.blanks : marked.blanks + marked.carets]
    assert (LEAD + 1, WIDTH + 2) == (marked.blanks, len(marked.text))


@given(TEXTS, st.lists(TEXTS | st.integers(0, 3), max_size=3))
def test_hostile(line: str, segments: list[str | int]) -> None:
    """Any line can be printed, and a caret for any path has a column of it."""
    marked = mark(line, FieldPath(tuple(segments)))

    assert marked.text.isprintable()
    assert marked.carets >= 1
    assert 0 <= marked.blanks <= 2 * (WIDTH + 1)

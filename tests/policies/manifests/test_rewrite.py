"""Edits written into texts: what they mean afterwards, and that nothing else changes."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests.documents import load
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.fields import FieldPath
from policies.manifests.rewrite import RewriteRefusal, rewrite
from tests.policies.manifests.manifest_texts import edits_of, json_texts, yaml_texts


def _rewritten(text: str, *edits: tuple[tuple[str | int, ...], Any], index: int = 0) -> str | RewriteRefusal:
    made = [Edit(FieldPath(path), None, new) for path, new in edits]
    outcome = rewrite(text.encode(), load(text, "f"), {index: made})
    return outcome if isinstance(outcome, RewriteRefusal) else outcome.decode()


@given(st.data(), yaml_texts() | json_texts())
def test_set_and_add(data: st.DataObject, written: tuple[dict[str, Any], str]) -> None:
    """Whatever the layout, edits are made, and each touches one of the lines that were there at most."""
    value, text = written
    edits = data.draw(edits_of(value, deleting=False))
    outcome = rewrite(text.encode(), load(text, "f"), {0: edits})

    assert isinstance(outcome, bytes)
    assert _dumped([apply_edits(value, edits)]) == _dumped(one.value for one in load(outcome, "f"))
    assert len(edits) >= _changed_lines(text, outcome.decode())


@given(st.data(), yaml_texts() | json_texts())
def test_take_away(data: st.DataObject, written: tuple[dict[str, Any], str]) -> None:
    """With fields that go, the result means what it should, and comments on lines of their own stay."""
    value, text = written
    edits = data.draw(edits_of(value, deleting=True))
    outcome = rewrite(text.encode(), load(text, "f"), {0: edits})

    if isinstance(outcome, bytes):
        assert _dumped([apply_edits(value, edits)]) == _dumped(one.value for one in load(outcome, "f"))
        assert text.count("# comment") == outcome.decode().count("# comment")


def _dumped(values: Iterable[Any]) -> str:
    return json.dumps(list(values), sort_keys=True)


def _changed_lines(old: str, new: str) -> int:
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return sum(end - start for kind, start, end, _, _ in matcher.get_opcodes() if kind != "equal")


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        pytest.param("a: b  # c\n", [(("a",), "d")], "a: d  # c\n", id="a scalar, its comment stays"),
        pytest.param("a: 'b'\n", [(("a",), "d")], "a: 'd'\n", id="its quotes stay"),
        pytest.param("a: b\r\nc: d\r\n", [(("e",), 1)], "a: b\r\nc: d\r\ne: 1\r\n", id="CRLF"),
        pytest.param("a: b", [(("e",), [1])], "a: b\ne:\n  - 1", id="no line break at the end"),
        pytest.param("a: b\n\n\n---\nc: d\n", [(("e",), 1)], "a: b\ne: 1\n\n\n---\nc: d\n", id="two"),
        pytest.param(
            "a:\n    b:\n    -   c: 1\n",
            [(("a", "b", 0, "d"), {"e": [1]})],
            "a:\n    b:\n    -   c: 1\n        d:\n            e:\n            -   1\n",
            id="four columns, lists not indented",
        ),
        pytest.param(
            "a:\n  b: 1\n  # of a\n# of c\nc: 2\n",
            [(("a", "d"), 3)],
            "a:\n  b: 1\n  # of a\n  d: 3\n# of c\nc: 2\n",
            id="comments stay with what they are about",
        ),
        pytest.param(
            "a:\n- 1\n# of c\nc: 2\n", [(("a", 1), 3)], "a:\n- 1\n- 3\n# of c\nc: 2\n", id="also below a list"
        ),
        pytest.param(
            "a:\n  b: |\n    x\n\n    y\n\nc: >-\n  z\n",
            [(("a", "d"), 1)],
            "a:\n  b: |\n    x\n\n    y\n  d: 1\n\nc: >-\n  z\n",
            id="behind a block text",
        ),
        pytest.param("a:   # c\nb: 1\n", [(("a",), {"d": 2})], "a:   # c\n  d: 2\nb: 1\n", id="null filled"),
        pytest.param("a: {}  # c\n", [(("a", "d"), 2)], "a:  # c\n  d: 2\n", id="empty brackets filled"),
        pytest.param("a: {b: 1}\n", [(("a", "d"), [2])], "a: {b: 1, d: [2]}\n", id="brackets stay"),
        pytest.param(
            "a: [\n  b, # c\n]\n", [(("a", 1), "d")], "a: [\n  b, # c\n  d,\n]\n", id="a last comma stays"
        ),
        pytest.param(
            "a: [\n  b # c\n]\n", [(("a", 1), "d")], "a: [\n  b, # c\n  d\n]\n", id="none at the end"
        ),
        pytest.param("- a: 1\n  b: 2\n", [], "- a: 1\n  b: 2\n", id="nothing to do"),
        pytest.param("x:\n- a: 1\n  b: 2\n", [(("x", 0, "a"), None)], "x:\n- b: 2\n", id="the first"),
        pytest.param("x:\n- a\n- b\n", [(("x", 0), None)], "x:\n- b\n", id="an item"),
        pytest.param("x:\n- a\n", [(("x", 0), None)], "x: []\n", id="the last item"),
        pytest.param("x: [a, b, c]\n", [(("x", 0), None), (("x", 2), None)], "x: [b]\n", id="in brackets"),
        pytest.param('{"a":1}', [(("b",), {"c": []})], '{"a":1,"b":{"c":[]}}', id="JSON without spaces"),
        pytest.param(
            '{\n\t"a": {}\n}\n',
            [(("a", "b"), {"c": 1})],
            '{\n\t"a": {\n\t\t"b": {\n\t\t\t"c": 1\n\t\t}\n\t}\n}\n',
            id="JSON with tabs",
        ),
        pytest.param("a: &x 1\nb: 2\n", [(("b",), 3)], "a: &x 1\nb: 3\n", id="an anchor elsewhere"),
        pytest.param("a: 1\na: 2\nb: 2\n", [(("b",), 3)], "a: 1\na: 2\nb: 3\n", id="a key twice elsewhere"),
        pytest.param("a: [x::]\nb: [y:, 2]\n", [(("b", 1), 3)], "a: [x::]\nb: [y:, 3]\n", id="colons"),
        pytest.param("a: &x {b: 1}\nc:\n  <<: *x\n", [(("c", "d"), 2)],
                     "a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n", id="beside a merge key"),
    ],
)  # fmt: skip
def test_table(text: str, edits: list[tuple[tuple[str | int, ...], Any]], expected: str) -> None:
    """The text around an edit stays as it was."""
    assert expected == (_rewritten(text, *edits) if isinstance(load(text, "f")[0].value, dict) else text)


@pytest.mark.parametrize(
    ("text", "edits", "line"),
    [
        pytest.param("a: &x {b: 1}\nc: *x\n", [(("c", "d"), 2)], 2, id="an alias"),
        pytest.param("a: &x {b: 1}\nc: *x\n", [(("a", "d"), 2)], 0, id="its anchor"),
        pytest.param("a: &x {b: 1}\nc: {<<: *x, e: 1}\n", [(("c", "b"), 2)], 2, id="from a merge key"),
        pytest.param("a:\n  b: !x c\n", [(("a", "b"), 2)], 2, id="a tag"),
        pytest.param("a: '{{ x }}'\n", [(("a",), 2)], 1, id="a template"),
        pytest.param("a: [b: 1]\n", [(("a", 0, "c"), 2)], 0, id="a pair without braces"),
        pytest.param("a: 1\nb: {c: 1}\nb: {c: 2}\n", [(("b", "c"), 3)], 3, id="a key twice"),
        pytest.param('{"a": 1,\n"a": 2}', [(("a",), 3)], 2, id="JSON: a key twice"),
        pytest.param("a: 1\n---\n\ufeffb: 1\n", [(("a",), 3)], 3, id="a byte order mark inside"),
        pytest.param("x:\n- a: 1\n  # of b\n  b: 2\n", [(("x", 0, "a"), None)], 4, id="a comment in between"),
    ],
)
def test_refused(text: str, edits: list[tuple[tuple[str | int, ...], Any]], line: int) -> None:
    """A value that cannot be changed alone is not changed."""
    outcome = _rewritten(text, *edits)

    assert isinstance(outcome, RewriteRefusal)
    assert line == outcome.line


def test_byte_order_mark() -> None:
    """A mark in UTF-8 stays; other encodings are left alone."""
    edit = {0: [Edit(FieldPath(("a",)), 1, 2)]}
    text = "a: 1\n"
    (document,) = load(text, "f")

    assert "a: 2\n".encode("utf-8-sig") == rewrite(text.encode("utf-8-sig"), [document], edit)
    assert isinstance(rewrite(text.encode("utf-16"), [document], edit), RewriteRefusal)
    assert isinstance(rewrite(text.encode("utf-16-le"), [document], edit), RewriteRefusal)


def test_documents_by_index() -> None:
    """Empty documents count, and each is edited by itself."""
    text = "---\n# none\n---\na: 1\n---\nb: 1\n"

    assert "---\n# none\n---\na: 1\n---\nb: 2\n" == _rewritten(text, (("b",), 2), index=2)

"""Literals in a CEL expression."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.foreign_policies.cel import UNKNOWN, Tokens, read_literal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("1", 1, id="integer"),
        pytest.param("-1", -1, id="negative integer"),
        pytest.param("1.5", UNKNOWN, id="no constraint holds a double"),
        pytest.param("1u", UNKNOWN, id="nor an unsigned integer"),
        pytest.param("9" * 30, UNKNOWN, id="a number past int64"),
        pytest.param("'a b'", "a b", id="single quotes"),
        pytest.param('"a\\"b"', UNKNOWN, id="escapes are left alone"),
        pytest.param('"ab', UNKNOWN, id="a string without an end"),
        pytest.param('"', UNKNOWN, id="a quote"),
        pytest.param("true", True, id="boolean"),
        pytest.param("null", None, id="null"),
        pytest.param("[]", [], id="empty list"),
        pytest.param("[1, 2,]", [1, 2], id="comma at the end"),
        pytest.param('{"a": 1, "b": {"c": [x]}}', {"a": 1, "b": {"c": [UNKNOWN]}}, id="nested"),
        pytest.param("Object.spec{a: 1}", {"a": 1}, id="message"),
        pytest.param("Object.spec {a: 1}", {"a": 1}, id="message with a blank"),
        pytest.param("dyn([dyn(1)])", [1], id="dyn"),
        pytest.param("[1] // one\n", [1], id="comment"),
        pytest.param("[1] + object.x", UNKNOWN, id="sum"),
        pytest.param("a ? [1] : [2]", UNKNOWN, id="condition"),
        pytest.param("[f(1, [2]), 3]", [UNKNOWN, 3], id="call"),
        pytest.param("['a'.lowerAscii(), 3]", [UNKNOWN, 3], id="method"),
        pytest.param("[", UNKNOWN, id="list without an end"),
        pytest.param("{1: 2}", UNKNOWN, id="key that is no name"),
        pytest.param("{a", UNKNOWN, id="object without an end"),
        pytest.param("", UNKNOWN, id="nothing"),
        pytest.param("[" * 5000, UNKNOWN, id="5000 levels"),
    ],
)
def test_read(text: str, expected: Any) -> None:
    """Literals are read, anything else is unknown and never an exception."""
    assert expected == read_literal(Tokens(text))

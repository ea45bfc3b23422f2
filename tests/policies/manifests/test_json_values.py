"""JSON values: what is special to JSON."""

from __future__ import annotations

import pytest

from policies.manifests import json_values


def test_values_know_their_line() -> None:
    """Each value of a stream counts its lines from the start of the file."""
    found = json_values.read('\n{"a":\n1}\n\n{"b": 2} [3]', "f.json")

    assert [({"a": 1}, 2), ({"b": 2}, 5), ([3], 5)] == [(each.value, each.line) for each in found]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("{", 1, id="an open brace"),
        pytest.param("{'a': 1}", 1, id="single quotes"),
        pytest.param('{"a": 1,\n}', 2, id="a comma before the end"),
        pytest.param("[1]\n[1 2]", 2, id="in the second value"),
        pytest.param("{} x", 1, id="text behind"),
    ],
)
def test_no_json(text: str, line: int) -> None:
    """The error of a text that is no JSON says on which line."""
    with pytest.raises(json_values.NoJsonError) as caught:
        list(json_values.read(text, "f"))

    assert line in {caught.value.line, caught.value.line + 1}


def test_escaped_pair() -> None:
    """A whole surrogate pair is one character."""
    (value,) = json_values.read('["\\ud83d\\ude00"]', "f")

    assert ["😀"] == value.value

"""Documents as an API server may send them: what orjson refuses is read, and what is not read is said."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.json_bytes import JsonError, read_json, read_json_within
from policies.manifests.yaml_events import MAX_DEPTH


def _nested(levels: int, inner: bytes = b"{}") -> bytes:
    return b'{"f:a":' * levels + inner + b"}" * levels


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return depth


@pytest.mark.parametrize("levels", [1_023, 1_024, 1_100, 9_999, 500_000])
def test_depth(levels: int) -> None:
    """Fields beside thousands of levels are read, and the levels are cut."""
    read = read_json(b'{"before": 1, "metadata": ' + _nested(levels) + b', "after": ["}", 2]}')

    assert (1, ["}", 2]) == (read.value["before"], read.value["after"])
    assert MAX_DEPTH >= _depth(read.value) - 1 or not read.cut
    assert bool(read.cut) == (levels + 2 > 1_024)


def test_what_is_cut_keeps_its_type() -> None:
    """A list stays a list and an object an object: only what they hold is left out."""
    for opened, closed, empty in ((b'{"a":', b"}", {}), (b"[", b"]", [])):
        value = read_json(opened * 2_000 + b"[1, 2]" + closed * 2_000).value
        for _ in range(MAX_DEPTH):
            value = value["a"] if isinstance(value, dict) else value[0]

        assert empty == value


@pytest.mark.parametrize(
    ("data", "value"),
    [
        pytest.param(rb'["\ud800", "\ud83d\ude00"]', ["\ufffd", "😀"], id="a high half and a pair"),
        pytest.param(rb'["\udc00\ud800\udc00"]', ["\ufffd\U00010000"], id="a low half before a pair"),
        pytest.param(rb'["\\\ud800", "\\ud800"]', ["\\\ufffd", "\\ud800"], id="escaped backslashes"),
        pytest.param(b'["\xff", "\xed\xa0\x80"]', ["\ufffd", "\ufffd" * 3], id="bytes that are no UTF-8"),
        pytest.param(b'[1e999, -1e999, "1e999"]', [1.7976931348623157e308, -1.7976931348623157e308, "1e999"],
                     id="exponents"),
        pytest.param(b"[1" + b"0" * 5_000 + b", 1.5, 1e5]", [1.7976931348623157e308, 1.5, 1e5],
                     id="an integer of 5,001 digits"),
        pytest.param(rb'["\"1e999\\", 1e999, "\ud800"]', ['"1e999\\', 1.7976931348623157e308, "\ufffd"],
                     id="a text that looks like numbers"),
    ],
)  # fmt: skip
def test_characters_and_numbers(data: bytes, value: object) -> None:
    """JSON that Go lets pass and orjson does not is read as Go would, and said."""
    read = read_json(data)

    assert value == read.value
    assert read.cut


def test_the_last_of_duplicate_keys_counts() -> None:
    """Also in a document that is read a second time."""
    assert {"a": 2} == read_json(b'{"a": 1, "a": 2}').value
    assert 2 == read_json(b'{"a": 1, "deep": ' + _nested(2_000) + b', "a": 2}').value["a"]


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"a": 1}}', b"[" * 100_000, b"]" * 100_000, b'"' + b'\\"' * 50_000, b"NaN", b"[1e]"]
)
def test_no_json(data: bytes) -> None:
    """A text that is no JSON is an error, however long and deep."""
    with pytest.raises(JsonError):
        read_json(data)


def test_too_many_values() -> None:
    """The cost of a document is known before it is read; commas in a text are no values."""
    assert [{}] * 9 == read_json_within(b"[" + b"{}," * 8 + b"{}]", most_values=18).value
    assert read_json_within(b'["' + b"," * 1_000_000 + b'"]', most_values=18).value
    with pytest.raises(JsonError):
        read_json_within(b"[" + b"{}," * 9 + b"{}]", most_values=18)


def test_while_somebody_waits() -> None:
    """The answers of an API server are read, and a large document is not looked at twice."""
    deep = b'{"a": ' + _nested(2_000) + b', "b": "%b"}'

    assert read_json_within(deep % b"", most_values=9_000).cut
    for data in (deep % (b" " * 5_000_000), rb'["\ud800"]'):
        with pytest.raises(JsonError):
            read_json_within(data, most_values=9_000)
        assert read_json(data).cut

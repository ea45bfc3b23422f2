"""Documents as an API server may send them: what orjson refuses is read, and what is not read is said."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests import json_bytes
from policies.manifests.json_bytes import JsonError, count_values, read_json
from policies.manifests.yaml_values import MAX_DEPTH

#: Texts with all that could be taken for the end of a text or for structure.
_TEXTS = st.text(alphabet='"\\[]{},:a\u00e9\U0001f600', max_size=12)
_DOCUMENTS = st.recursive(
    _TEXTS | st.integers(-9, 99) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=30,
)


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
    """What stands beside thousands of levels is read, and the levels are cut."""
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
    """What Go lets pass and orjson does not is read as Go would, and said."""
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
    """What is no JSON is an error, however long and deep."""
    with pytest.raises(JsonError):
        read_json(data)


@given(_DOCUMENTS, st.integers(1, 9))
def test_any_document_at_any_block(document: object, block: int) -> None:
    """Texts and depth are found wherever a block ends: nothing is cut that need not be."""
    data = orjson.dumps(document)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_bytes, "_BLOCK", block)
        deep = b"[" * 1_100 + data + b"," + data + b"]" * 1_100

        assert data == json_bytes._flattened(data)
        assert [document, 1] == read_json(b"[" + data + b",1]").value
        assert [document, document] == read_json(b"[" + data + b"," + deep + b"," + data + b"]").value[::2]
        assert _values(document) == count_values(data, -1)


def _values(document: object) -> int:
    """Return how many lists and objects there are, and entries of them beyond the first."""
    if not isinstance(document, dict | list):
        return 0
    inner = document.values() if isinstance(document, dict) else document
    return 1 + max(0, len(document) - 1) + sum(map(_values, inner))


def test_too_many_values() -> None:
    """What a document costs is known before it is read; commas in a text are no values."""
    assert [{}] * 9 == read_json(b"[" + b"{}," * 8 + b"{}]", most_values=18).value
    assert read_json(b'["' + b"," * 1_000_000 + b'"]', most_values=18).value
    with pytest.raises(JsonError):
        read_json(b"[" + b"{}," * 9 + b"{}]", most_values=18)

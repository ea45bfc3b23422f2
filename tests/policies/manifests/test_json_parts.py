"""The parts of texts that no parser reads."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests.json_bytes import is_closed, items, members, value, written_identity

#: Texts with all that could be taken for the end of a text or for structure.
_TEXTS = st.text(alphabet='"\\[]{},:aé', max_size=8)
_VALUES = st.recursive(
    _TEXTS | st.integers(-9, 99) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS.filter(bool), inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(_VALUES, max_size=5))
def test_items_are_those_of_a_parser(listed: list[object]) -> None:
    """The parts of a readable list are the items that a parser finds."""
    assert listed == [value(part) for part in items(orjson.dumps(listed))]


@given(st.dictionaries(_TEXTS.filter(bool), _VALUES, max_size=5))
def test_members_are_those_of_a_parser(obj: dict[str, object]) -> None:
    """Names with quotes and brackets are names."""
    assert obj == {name: value(part) for name, part in members(orjson.dumps(obj)).items()}


@given(st.binary(max_size=60) | st.text(alphabet='"\\[]{},:a ').map(str.encode))
def test_rubbish(text: bytes) -> None:
    """Any bytes have parts or none."""
    assert all(list(items(text)))
    assert all(members(text))
    written_identity(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b"[1, [2, 3], {]", [b"1", b"[2, 3]", b"{]"], id="a broken item"),
        pytest.param(b'[{"a": 1}, {"b', [b'{"a": 1}', b'{"b'], id="ends within an item"),
        pytest.param(b'["\\", ], ["]', [b'"\\", ], ["'], id="brackets in a string"),
        pytest.param(b" [ ]", [], id="0 items"),
        pytest.param(b"null", [], id="null"),
        pytest.param(b'{"a": [1]}', [], id="an object"),
        pytest.param(b"[" * 100_000, [b"[" * 99_999], id="100,000 levels"),
    ],
)
def test_items(text: bytes, expected: list[bytes]) -> None:
    """One broken item takes none of those before it along."""
    assert expected == list(items(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b'{"metadata": {"name": "a", "namespace": "b"}, "x": nonsense', ("b", "a"), id="both"),
        pytest.param(b'{"metadata": {"name": "a", "name": "b"}}', ("", "b"), id="2 names: the last"),
        pytest.param(b'{"metadata": {"annotations": {"name": "a"}, "name": "b', ("", ""), id="cut name"),
        pytest.param(b'{"metadata": [{"name": "a"}]}', ("", ""), id="a list"),
        pytest.param(b'{"metadata": {"name": 7}}', ("", ""), id="a number"),
        pytest.param(b"null", ("", ""), id="null"),
    ],
)
def test_identity(text: bytes, expected: tuple[str, str]) -> None:
    """Namespace and name are found where they stand, and nowhere else."""
    assert expected == written_identity(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b'{"a": [x, "]"]} \n', True, id="nonsense within"),
        pytest.param(b'{"a": [1}', False, id="open"),
        pytest.param(b'{"a": 1}, {"b": 2}', False, id="2 objects"),
        pytest.param(b'{"a": "}', False, id="a string without an end"),
        pytest.param(b"}", False, id="closed before it was open"),
        pytest.param(b"", False, id="0 bytes"),
    ],
)
def test_what_is_closed(text: bytes, *, expected: bool) -> None:
    """Only where brackets match are the parts those that were written."""
    assert expected == is_closed(text)

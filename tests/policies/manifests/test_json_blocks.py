"""The texts of a document, and the depth of the rest, wherever a block ends."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests import json_blocks
from policies.manifests.json_blocks import flattened
from policies.manifests.json_bytes import count_values, read_json
from policies.manifests.yaml_events import MAX_DEPTH

#: Texts with all that could be taken for the end of a text or for structure.
_TEXTS = st.text(alphabet='"\\[]{},:a\u00e9\U0001f600', max_size=12)
_DOCUMENTS = st.recursive(
    _TEXTS | st.integers(-9, 99) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=30,
)


@given(_DOCUMENTS, st.integers(1, 9))
def test_any_document_at_any_block(document: object, block: int) -> None:
    """Texts and depth are found wherever a block ends: nothing is cut that need not be."""
    data = orjson.dumps(document)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_blocks, "_BLOCK", block)
        deep = b"[" * 1_100 + data + b"," + data + b"]" * 1_100

        assert data == flattened(data, MAX_DEPTH)
        assert [document, 1] == read_json(b"[" + data + b",1]").value
        assert [document, document] == read_json(b"[" + data + b"," + deep + b"," + data + b"]").value[::2]
        assert _values(document) == count_values(data, -1)


def _values(document: object) -> int:
    """Return how many lists and objects there are, and entries of them beyond the first."""
    if not isinstance(document, dict | list):
        return 0
    inner = document.values() if isinstance(document, dict) else document
    return 1 + max(0, len(document) - 1) + sum(map(_values, inner))

"""JSON merge patches."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policies.manifests.json_patch import merge_patch

#: RFC 7386 has no way to say null, so objects have none.
VALUES = st.recursive(
    st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES)


def _merged(target: Any, patch: Any) -> Any:
    """MergePatch of RFC 7386, section 2."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = _merged(target.get(name), value)
    return target


@given(OBJECTS, OBJECTS)
def test_it_leads_from_one_to_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    """The RFC's own procedure makes the new object of the old one; an empty patch means that they agree."""
    patch = merge_patch(old, new)

    assert repr(_normal(new)) == repr(_normal(_merged(copy.deepcopy(old), patch)))


def _normal(value: Any) -> Any:
    """Return a value with the members of objects in order: 1 and True are equal, but not alike."""
    if isinstance(value, dict):
        return {name: _normal(value[name]) for name in sorted(value)}
    return list(map(_normal, value)) if isinstance(value, list) else value

"""JSON merge patches (RFC 7386)."""

from __future__ import annotations

import json
from typing import Any


def merge_patch(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the patch from one object to another; lists are replaced as a whole.

    >>> merge_patch({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 4, "d": 3}, "e": [5]})
    {'a': None, 'b': {'c': 4}, 'e': [5]}
    """
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            if below := merge_patch(before, value):
                patch[name] = below
        elif name not in old or _text(before) != _text(value):
            patch[name] = value
    return patch


def _text(value: Any) -> str:
    """Return a value as JSON: to Python 0 and false are equal."""
    return json.dumps(value, sort_keys=True)

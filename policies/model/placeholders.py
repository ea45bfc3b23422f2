"""Texts that another tool fills in before a manifest is applied: Helm, Flux, envsubst, ytt and their like.

What such a text will be is not known, so it is neither right nor wrong.
"""

from __future__ import annotations

from typing import Any

#: How placeholders start: Helm and Jinja, Flux and envsubst, Kustomize's vars, ERB. No label, topology key
#: or word of the API can hold any of them.
STARTS = ("{{", "{%", "${", "$(", "<%")
#: What encloses a text that a person or ``sed`` fills in: ``<REPLICAS>``, ``@NAME@``.
ENCLOSING = (("<", ">"), ("@", "@"))


def has_placeholder(value: Any) -> bool:
    """Return whether a value holds a text that is still to be filled in.

    >>> has_placeholder({"labelSelector": {"matchLabels": {"app": "${APP}"}}}), has_placeholder("web")
    (True, False)
    >>> has_placeholder("<REPLICAS>"), has_placeholder("a@b")
    (True, False)
    """
    if isinstance(value, str):
        return any(start in value for start in STARTS) or _is_enclosed(value)
    if isinstance(value, dict):
        return any(has_placeholder(key) or has_placeholder(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(has_placeholder, value))


def _is_enclosed(text: str) -> bool:
    return len(text) > 2 and any(text.startswith(first) and text.endswith(last) for first, last in ENCLOSING)

"""Syntax of labels as CEL expressions; ``policies/model/labels`` has the rules and where they come from."""

from __future__ import annotations

from policies.cel.check import literal
from policies.model.labels import CACHED_LENGTH, NAME_LENGTH, PREFIX_LENGTH

_NAME = rf"([A-Za-z0-9]([-A-Za-z0-9_.]{{0,{NAME_LENGTH - 2}}}[A-Za-z0-9])?)"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_KEY = literal(f"^({_SUBDOMAIN}/)?{_NAME}$")
_VALUE = literal(f"^{_NAME}?$")
#: That a prefix is not too long; the pattern of the key counts only the characters of the name.
_LENGTHS = literal(f"^([^/]{{1,{PREFIX_LENGTH}}}/)?[^/]+$")


def is_label_key(name: str) -> str:
    """Return the expression that says whether a text is a label key.

    Lengths come first: the cost of a pattern grows with the text that it is matched with.
    """
    short = f"{name}.size() <= {NAME_LENGTH}"
    return (
        f"({name}.size() <= {CACHED_LENGTH} && {name}.matches({_KEY}) "
        f"&& ({short} || {name}.matches({_LENGTHS})))"
    )


def is_label_value(name: str) -> str:
    """Return the expression that says whether a text is a label value."""
    return f"({name}.size() <= {NAME_LENGTH} && {name}.matches({_VALUE}))"

"""How many examples a property is tried with, beside the usual number."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

#: The number that those of single properties are given for; profiles have another, and theirs in proportion.
USUAL = 100


def examples(count: int, **others: Any) -> settings:
    """Return settings with a number of examples, which a profile changes as it does that of others."""
    return settings(max_examples=max(1, count * settings().max_examples // USUAL), **others)

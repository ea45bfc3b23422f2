"""How many examples a property is tried with, beside the usual number."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

#: Examples of a property that names no number, where all are tried.
USUAL = 100


def examples(count: int, **others: Any) -> settings:
    """Return settings with a number of examples, which the profile of ``make quick`` lowers as all others."""
    return settings(max_examples=max(1, count * settings().max_examples // USUAL), **others)

"""Cases for tests."""

from __future__ import annotations

import itertools
from typing import Any

from conformance.case import ConformanceCase, Operation

_NUMBERS = itertools.count()


def case_of(
    request: dict[str, Any],
    expected: dict[str, Any],
    *,
    release: str = "1.36",
    operation: Operation = Operation.SCORE,
) -> ConformanceCase:
    """Return a case with an id of its own."""
    return ConformanceCase(
        id=f"case-{next(_NUMBERS)}",
        features=("profile",),
        release=release,
        source="measured",
        operation=operation,
        request=request,
        expected=expected,
    )

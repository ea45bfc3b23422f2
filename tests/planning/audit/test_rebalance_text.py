"""Plans of evictions, in the format text."""

from __future__ import annotations

from collections.abc import Callable

from planning.audit import evictions_text as evictions
from tests.planning.audit.rebalances import rebalances


def test_text(golden: Callable[[str, str], str]) -> None:
    """The evictions with where the replacements go, or why there is no plan."""
    text = "\n".join(evictions.render_text(*each, width=100, color=False) for each in rebalances())

    assert golden("rebalance.txt", text) == text
    assert "\x1b" not in text

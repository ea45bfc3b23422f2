"""Words that the checks share."""

from __future__ import annotations

import pytest

from webhook.doctor.check_result import CheckStatus, joined


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param([], "", id="none"),
        pytest.param(list("abcde"), "a, b, c, d, e", id="5"),
        pytest.param(list("abcdefg"), "a, b, c, d, e and 2 more", id="7: 2 are only counted"),
    ],
)
def test_lists_are_short(names: list[str], expected: str) -> None:
    """At most five names are listed."""
    assert expected == joined(names)


def test_order_of_statuses() -> None:
    """Reports begin with the worst."""
    assert ["problem", "warning", "skipped", "ok"] == list(map(str, CheckStatus))

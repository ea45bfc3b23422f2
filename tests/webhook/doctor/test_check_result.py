"""The statuses of checks."""

from __future__ import annotations

from webhook.doctor.observations import CheckStatus


def test_order_of_statuses() -> None:
    """Reports begin with the worst."""
    assert ["problem", "warning", "skipped", "ok"] == list(map(str, CheckStatus))

"""Readiness: the reasons why no request should come here."""

from __future__ import annotations

from datetime import UTC, datetime

from webhook.state import ServerState


def test_ready(state: ServerState) -> None:
    """Without a reason against it the server is ready."""
    assert [] == state.unready_reasons()


def test_draining_and_expired(state: ServerState) -> None:
    """All reasons are told at once."""
    state.draining = True
    state.certificate_expiry = lambda: datetime(2026, 11, 20, tzinfo=UTC)

    assert [
        "draining: the server was asked to end",
        "certificate expired at 2026-11-20T00:00:00Z",
    ] == state.unready_reasons()

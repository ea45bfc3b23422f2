"""Fixtures of the tests of commands."""

from __future__ import annotations

import pytest

from webhook.cli.live import api_server


@pytest.fixture(autouse=True)
def no_width_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pipes no width: workers of pytest-xdist are told that of the terminal."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def no_cluster_is_remembered() -> None:
    """Have a command find its cluster as a process of its own does."""
    api_server.cache_clear()

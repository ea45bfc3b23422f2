"""The message where there is no browser."""

from __future__ import annotations

import pytest

from tests.browser.chromium import missing_chromium


def test_a_missing_browser_is_named() -> None:
    """A path that is wrong is not replaced by another browser."""
    said = missing_chromium({"EVENKEEL_CHROMIUM": "/no/chromium"})

    assert "NOT tried" in said
    assert "/no/chromium" in said


def test_nothing_is_said_of_a_browser_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one on PATH is found."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")

    assert "" == missing_chromium({})

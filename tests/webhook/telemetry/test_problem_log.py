"""Problems are logged when they begin, change and end."""

from __future__ import annotations

import logging

import pytest

from webhook.telemetry.logs import ProblemLog


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The lines of the log."""
    caplog.set_level(logging.INFO, logger="evenkeel")
    return caplog


def test_what_lasts_is_logged_once(lines: pytest.LogCaptureFixture) -> None:
    """Again only if it becomes something else, and when it is over."""
    problems = ProblemLog()
    for reason in ("", "away", "away", "refuses", "", ""):
        problems.report("watch_failed", reason)

    assert ["watch_failed", "watch_failed", "watch_failed_resolved"] == lines.messages
    levels = [record.levelno for record in lines.records]
    assert [logging.WARNING, logging.WARNING, logging.INFO] == levels


def test_the_reason_now() -> None:
    """It is known until the problem is over, for each subject."""
    problems = ProblemLog()
    problems.report("invalid", "empty", subject="a")

    assert ("empty", "") == (problems.reason("invalid", "a"), problems.reason("invalid", "b"))


def test_all_subjects(lines: pytest.LogCaptureFixture) -> None:
    """A problem that is no longer reported is resolved; other events stay."""
    problems = ProblemLog()
    problems.report("other", "lasts", subject="a")
    problems.report_all("invalid", {"a": "empty", "b": "empty"})
    problems.report_all("invalid", {"b": "empty", "c": "empty"})

    subjects = [(record.message, vars(record)["fields"].get("subject")) for record in lines.records]
    assert [
        ("other", "a"), ("invalid", "a"), ("invalid", "b"), ("invalid_resolved", "a"), ("invalid", "c"),
    ] == subjects  # fmt: skip
    assert "lasts" == problems.reason("other", "a")

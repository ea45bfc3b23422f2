"""Logs: one line an event, whatever is in it."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator

import pytest

from webhook.logs import LONGEST_VALUE, EventLog, StructuredHandler, Value
from webhook.settings import LogFormat, LogLevel


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe: its read and its write end."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def _written(pipe: tuple[int, int]) -> str:
    return os.read(pipe[0], 65536).decode("ascii")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("web-1", "web-1", id="plain"),
        pytest.param("Deployment.apps", "Deployment.apps", id="with a dot"),
        pytest.param("", '""', id="empty"),
        pytest.param("two words", '"two words"', id="space"),
        pytest.param('a" admin=true', '"a\\" admin=true"', id="forged field"),
        pytest.param("a\n2026 info forged", '"a\\n2026 info forged"', id="forged line"),
        pytest.param("a=b", '"a=b"', id="equals sign"),
        pytest.param("\x1b[31mred", '"\\u001b[31mred"', id="terminal escape"),
        pytest.param("a\u2028b\u0085c\u202e", '"a\\u2028b\\u0085c\\u202e"', id="Unicode line ends and bidi"),
        pytest.param("\ud800", '"\\ud800"', id="lone surrogate"),
        pytest.param(True, "true", id="true"),
        pytest.param(0.25, "0.25", id="0.25"),
    ],
)
def test_text_values(pipe: tuple[int, int], value: Value, expected: str) -> None:
    """A value that is not plain is quoted and escaped, so that it can forge neither line nor field."""
    EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=pipe[1]).write(logging.INFO, "done", {"name": value})
    line = _written(pipe)

    assert f" info done name={expected}\n" == line[24:]


@pytest.mark.parametrize("value", ["web", 'a"\n', "a\u2028b", "\ud800", "é", "a" * 400])
def test_json_lines(pipe: tuple[int, int], value: str) -> None:
    """A JSON line is one line of ASCII that reads back as what was written."""
    EventLog(LogFormat.JSON, LogLevel.INFO, descriptor=pipe[1]).write(logging.INFO, "done", {"name": value})
    line = _written(pipe)

    assert 1 == len(line.splitlines())
    found = json.loads(line)
    del found["time"]
    cut = value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}…"
    assert {"level": "info", "event": "done", "name": cut} == found
    # Who reads lines without a parser of JSON finds them spaced alike, whatever they hold.
    assert '","level":"info","event":"done","name":"' in line


def test_long_values_are_cut(pipe: tuple[int, int]) -> None:
    """A megabyte in a name costs a short line."""
    EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=pipe[1]).write(
        logging.INFO, "done", {"name": "a" * 10**6}
    )

    assert len(_written(pipe)) < 400


def test_threshold(pipe: tuple[int, int]) -> None:
    """Less severe lines than asked for are not written."""
    log = EventLog(LogFormat.TEXT, LogLevel.WARNING, descriptor=pipe[1])
    log.write(logging.INFO, "quiet", {})
    log.write(logging.WARNING, "loud", {})

    assert ["loud"] == [line.split()[2] for line in _written(pipe).splitlines()]


def test_held_lines(pipe: tuple[int, int]) -> None:
    """Held lines are written by the next flush, in order, and none of them twice."""
    log = EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=pipe[1])
    for number in range(100):
        log.hold(logging.INFO, "done", {"number": number, "padding": "a" * 100})
    log.hold(logging.DEBUG, "quiet", {})
    log.flush()
    log.flush()
    found = [line.split()[3] for line in _written(pipe).splitlines()]

    assert [f"number={number}" for number in range(100)] == found


def test_closed_descriptor_is_no_error() -> None:
    """A server whose stderr is gone goes on."""
    read, write = os.pipe()
    os.close(read)
    os.close(write)
    EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=write).write(logging.INFO, "done", {})


def test_exceptions_are_one_line(pipe: tuple[int, int]) -> None:
    """A traceback is a field of its line, not twenty lines."""
    handler = StructuredHandler(EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=pipe[1]))
    record = logging.LogRecord("evenkeel", logging.ERROR, __file__, 1, "review_failed", None, None)
    try:
        int("bad\nvalue")
    except ValueError:
        record.exc_info = sys.exc_info()
    record.fields = {"uid": "1"}
    handler.emit(record)
    line = _written(pipe)

    assert 1 == len(line.splitlines())
    assert "error review_failed uid=1 traceback=" in line
    assert "ValueError: invalid literal" in line


def test_other_loggers_share_the_format(pipe: tuple[int, int]) -> None:
    """What gunicorn says comes as an event of its name."""
    handler = StructuredHandler(EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=pipe[1]))
    text, values = "Worker (pid:%s) was sent %s!", (7, "SIGKILL")
    handler.emit(logging.LogRecord("gunicorn.error", logging.WARNING, __file__, 1, text, values, None))

    assert 'warning gunicorn message="Worker (pid:7) was sent SIGKILL!"' in _written(pipe)

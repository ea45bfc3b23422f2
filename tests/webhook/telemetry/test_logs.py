"""Logs: one line an event, whatever is in it."""

from __future__ import annotations

import json
import logging
import os
import select
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from webhook.settings import LogFormat, LogLevel
from webhook.telemetry.logs import EventLog, StructuredHandler, Value, without_waiting


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe: its read and its write end."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def _written(pipe: tuple[int, int]) -> str:
    return os.read(pipe[0], 65536).decode()


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
        pytest.param("a\x7fb", '"a\\u007fb"', id="DEL"),
        pytest.param(True, "true", id="true"),
        pytest.param(0.25, "0.25", id="0.25"),
    ],
)
def test_text_values(pipe: tuple[int, int], value: Value, expected: str) -> None:
    """A value that is not plain is quoted and escaped, so that it can forge neither line nor field."""
    EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=pipe[1]).write(logging.INFO, "done", {"name": value})
    line = _written(pipe)

    assert f" info done name={expected}\n" == line[24:]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("web é 漢", "web é 漢", id="printable"),
        pytest.param('a"b', 'a"b', id="quote"),
        pytest.param("a\n2026 info forged", r"a\n2026 info forged", id="forged line"),
        pytest.param("\x1b[31m\x7f\x85", r"\x1b[31m\x7f\x85", id="terminal escape, DEL, C1"),
        pytest.param("a\u2028b\u202e\u2066", r"a\u2028b\u202e\u2066", id="Unicode line end and bidi"),
        pytest.param("\ud800", r"\ud800", id="lone surrogate"),
        pytest.param("a" * 301, "a" * 300 + "…", id="301 characters"),
        pytest.param(0.25, 0.25, id="0.25"),
    ],
)
def test_json_lines(pipe: tuple[int, int], value: Value, expected: Value) -> None:
    """A JSON line is one line without spaces; what it reads back as can be printed."""
    EventLog(LogFormat.JSON, LogLevel.INFO, descriptor=pipe[1]).write(logging.INFO, "done", {"name": value})
    line = _written(pipe)

    assert 1 == len(line.splitlines())
    found = json.loads(line)
    del found["time"]
    assert {"level": "info", "event": "done", "name": expected} == found
    assert line[35:].startswith('"level":"info","event":"done","name":')


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


def _fill(descriptor: int) -> None:
    """Write until a pipe takes nothing any more."""
    os.set_blocking(descriptor, False)
    with suppress(BlockingIOError):
        while True:
            os.write(descriptor, b"x" * 512)
    os.set_blocking(descriptor, True)


@pytest.mark.parametrize(
    "anew", [pytest.param(True, id="own pipe"), pytest.param(False, id="another user's")]
)
def test_nobody_reads(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch, *, anew: bool) -> None:
    """Lines that a full pipe does not take are dropped, counted, and told of when it takes some again."""
    if not anew:

        def refuse(*_: object) -> int:
            raise PermissionError

        monkeypatch.setattr("webhook.telemetry.logs.os.open", refuse)
    _fill(pipe[1])
    log = EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=without_waiting(pipe[1]))
    for number in range(3):
        log.write(logging.INFO, "done", {"number": number})
    assert 3 == log.take_dropped()
    while "x" in _written(pipe) and select.select([pipe[0]], [], [], 0)[0]:
        pass
    log.write(logging.INFO, "done", {"number": 3})
    told = [line.split()[1:] for line in _written(pipe).splitlines()]

    assert [["warning", "log_lines_dropped", "lines=3"], ["info", "done", "number=3"]] == told
    assert 0 == log.take_dropped()
    assert anew == os.get_blocking(pipe[1])


def test_a_torn_line_ends_before_the_next(pipe: tuple[int, int]) -> None:
    """Of a line that is longer than a pipe takes at once the rest is lost, and no other line."""
    log = EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=without_waiting(pipe[1]))
    log.write(logging.ERROR, "failed", {"traceback": "x" * 10**6})
    os.read(pipe[0], 10**6)
    log.write(logging.INFO, "done", {})
    lines = _written(pipe).splitlines()

    assert ["", "warning log_lines_dropped lines=1", "info done"] == [line[25:] for line in lines]
    assert 1 == log.take_dropped()


def test_files_are_written_where_they_end(tmp_path: Path) -> None:
    """A log in a file is not opened anew, which would begin at its start."""
    with (tmp_path / "log").open("wb") as file:
        file.write(b"before\n")
        file.flush()
        log = EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=without_waiting(file.fileno()))
        log.write(logging.INFO, "done", {})

    assert ["before", "done"] == [line.split()[-1] for line in (tmp_path / "log").read_text().splitlines()]


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
    """A message of gunicorn is written as an event of its name."""
    handler = StructuredHandler(EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=pipe[1]))
    text, values = "Worker (pid:%s) was sent %s!", (7, "SIGKILL")
    handler.emit(logging.LogRecord("gunicorn.error", logging.WARNING, __file__, 1, text, values, None))

    assert 'warning gunicorn message="Worker (pid:7) was sent SIGKILL!"' in _written(pipe)

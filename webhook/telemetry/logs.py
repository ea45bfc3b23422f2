"""Structured logs on stderr: an event and its fields, one line each, as text or JSON.

``2026-11-20T13:42:19.123Z info review_denied uid=… phase=validate …``. No value can forge a line or a
field, or steer a terminal: in text whatever is not plain ASCII is quoted and escaped, in JSON whatever cannot
be printed is escaped in the value itself, since tools print values as they decode them.

Nothing waits for the reader of the log: a line that stderr does not take at once is dropped, counted, and
reported before the next one that it takes.

Lines of reviews do not pass the standard library's ``logging``: with a formatter it takes 11 µs a line
where this takes 4, and a review has some 60 in all. Everything rare does (``StructuredHandler``), so that
libraries and gunicorn end in the same stream and format.
"""

from __future__ import annotations

import json
import logging
import os
import re
import select
import stat
import time
from collections import deque
from collections.abc import Mapping
from typing import Final, TypeAlias

import orjson

from policies.manifests.sanitize import one_line, printable_lines
from webhook.settings import LogFormat, LogLevel

Value: TypeAlias = str | int | float | bool

#: The logger of everything that is not a review.
LOGGER = logging.getLogger("evenkeel")

#: Characters of one value that a line repeats. A name has at most 253 in Kubernetes.
LONGEST_VALUE: Final = 300

#: Values that need no quotes: short, and nothing that a reader of ``key=value`` could take for an end.
_PLAIN = re.compile(rf"[A-Za-z0-9_.,:;/@+*()\[\]{{}}<>|~-]{{1,{LONGEST_VALUE}}}").fullmatch
#: The field that is never cut, and the only one with line breaks in JSON.
_TRACEBACK: Final = "traceback"
#: How ``logging`` numbers the levels.
_LEVELS = {
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.INFO: logging.INFO,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
}
#: How a line names a level's number.
_NAMES = {number: level.value for level, number in _LEVELS.items()} | {logging.CRITICAL: "critical"}


class EventLog:
    """Writes events to one file descriptor.

    What is written in one system call of at most ``PIPE_BUF`` bytes reaches a pipe whole or not at all, so
    threads and workers need no lock.

    Args:
        log_format: How lines look.
        level: The least severe one that is written.
        descriptor: Where to; one that ``without_waiting`` returned never holds anybody up.
    """

    def __init__(self, log_format: LogFormat, level: LogLevel, *, descriptor: int) -> None:
        self._line = _json_line if log_format is LogFormat.JSON else _text_line
        self._threshold = _LEVELS[level]
        self._descriptor = descriptor
        self._held: deque[bytes] = deque()
        self._dropped = 0
        self._untold = 0
        self._torn = False

    def enabled(self, level: int) -> bool:
        """Return whether lines of a level (as ``logging`` numbers them) are written."""
        return level >= self._threshold

    def write(self, level: int, event: str, fields: dict[str, Value]) -> None:
        """Write one line if its level is high enough; a log that cannot be written is no error."""
        if level < self._threshold:
            return
        self._put(self._line(time.time(), _NAMES.get(level) or f"level-{level}", event, fields))

    def hold(self, level: int, event: str, fields: dict[str, Value]) -> None:
        """Keep one line for the next ``flush`` if its level is high enough.

        All lines of a turn of the main loop then cost one system call.
        """
        if level >= self._threshold:
            self._held.append(self._line(time.time(), _NAMES[level], event, fields))

    def flush(self) -> None:
        """Write the lines that are held; called by one thread, while others may hold more."""
        batch = b""
        while self._held:
            line = self._held.popleft()
            if len(batch) + len(line) > select.PIPE_BUF:
                self._put(batch)
                batch = b""
            batch += line
        self._put(batch)

    def take_dropped(self) -> int:
        """Return how many lines were dropped since the last time."""
        dropped, self._dropped = self._dropped, 0
        return dropped

    def _put(self, lines: bytes) -> None:
        """Write lines. Reviews are worth more than their logs: what is not taken at once is dropped."""
        if not lines:
            return
        if self._untold:
            told = self._line(time.time(), "warning", "log_lines_dropped", {"lines": self._untold})
            self._untold = 0 if self._write(told) else self._untold
        if self._untold or not self._write(lines):
            count = lines.count(b"\n")
            self._untold += count
            self._dropped += count

    def _write(self, text: bytes) -> bool:
        """Write a text and return whether all of it was taken."""
        try:
            # A line longer than PIPE_BUF may have been taken in part: it ends before the next one begins.
            written = os.write(self._descriptor, b"\n" + text if self._torn else text) - self._torn
        except OSError:
            # Nobody reads, stderr is closed, or its disk is full.
            return False
        self._torn = 0 <= written < len(text)
        return not self._torn


def without_waiting(descriptor: int) -> int:
    """Return a descriptor of the same pipe, terminal or socket that takes what it can and never waits.

    It is opened again, so that other programs that write there go on waiting if they want to. What cannot be
    opened (a socket, another user's pipe) is changed for all; a file is on a disk, where nothing waits.
    """
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    try:
        return os.open(
            f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        )
    except OSError:
        os.set_blocking(descriptor, False)
        return descriptor


class StructuredHandler(logging.Handler):
    """Brings ``logging`` records into the same stream; fields come as ``extra={"fields": {…}}``."""

    def __init__(self, events: EventLog) -> None:
        super().__init__()
        self._events = events

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as one line, with a traceback escaped into a field."""
        fields: dict[str, Value] = dict(getattr(record, "fields", {}))
        event = record.getMessage()
        if record.name != LOGGER.name:
            fields = {"message": event, **fields}
            event = record.name.partition(".")[0]
        if record.exc_info:
            fields[_TRACEBACK] = logging.Formatter().formatException(record.exc_info)
        self._events.write(record.levelno, event, fields)


def set_up(events: EventLog, level: LogLevel) -> None:
    """Make every logger of this process write through ``events``."""
    handler = StructuredHandler(events)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(_LEVELS[level], logging.WARNING))
    LOGGER.handlers[:] = [handler]
    LOGGER.propagate = False
    LOGGER.setLevel(_LEVELS[level])


class ProblemLog:
    """The problems of one controller, by their log event and, where there may be several, their subject."""

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, str], str] = {}

    def reason(self, event: str, subject: str = "") -> str:
        """Return the reason of a problem; empty if there is none."""
        return self._reasons.get((event, subject), "")

    def report(
        self,
        event: str,
        reason: str,
        *,
        subject: str = "",
        level: int = logging.WARNING,
        trace: Exception | None = None,
    ) -> None:
        """Log a problem unless that is how it was before.

        Args:
            event: The log event; when the problem is over, it has the suffix ``_resolved``.
            reason: The reason; empty if there is no problem.
            subject: The object that has it.
            level: The level of a problem.
            trace: What it was caught as, where it was not foreseen.
        """
        if reason == self.reason(event, subject):
            return
        fields = {"subject": subject} if subject else {}
        if reason:
            self._reasons[event, subject] = reason
            LOGGER.log(level, event, extra={"fields": {**fields, "reason": reason}}, exc_info=trace)
        else:
            del self._reasons[event, subject]
            LOGGER.info("%s_resolved", event, extra={"fields": fields})

    def report_all(self, event: str, reasons: Mapping[str, str]) -> None:
        """Log the problems of all subjects; others that had one have none any more."""
        over = {subject: "" for known, subject in self._reasons if known == event}
        for subject, reason in (over | dict(reasons)).items():
            self.report(event, reason, subject=subject)


def _text_line(now: float, level: str, event: str, fields: dict[str, Value]) -> bytes:
    line = f"{_timestamp(now)} {level} {event}"
    for key, value in fields.items():
        if not isinstance(value, str):
            line += f" {key}={str(value).lower() if isinstance(value, bool) else value}"
        elif _PLAIN(value):
            line += f" {key}={value}"
        else:
            quoted = json.dumps(_shortened(key, value))
            # DEL is the one control character that JSON leaves as it is.
            line += f" {key}=" + quoted.replace("\x7f", "\\u007f")
    return f"{line}\n".encode("ascii")


def _shortened(key: str, value: str) -> str:
    return value if len(value) <= LONGEST_VALUE or key == _TRACEBACK else f"{value[:LONGEST_VALUE]}…"


def _json_line(now: float, level: str, event: str, fields: dict[str, Value]) -> bytes:
    document: dict[str, Value] = {"time": _timestamp(now), "level": level, "event": event}
    document |= {key: _json_value(key, value) for key, value in fields.items()}
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def _json_value(key: str, value: Value) -> Value:
    if not isinstance(value, str):
        return value
    return printable_lines(value) if key == _TRACEBACK else one_line(_shortened(key, value))


_second = 0
_second_text = ""


def _timestamp(now: float) -> str:
    """Return RFC 3339 UTC with milliseconds; formats each second once."""
    global _second, _second_text  # noqa: PLW0603  # a cache; a race only formats twice
    second = int(now)
    text = _second_text
    if second != _second:
        text = _second_text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        _second = second
    return f"{text}.{int((now - second) * 1000):03d}Z"

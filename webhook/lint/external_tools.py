"""Run Git and the programs that turn templates into manifests."""

from __future__ import annotations

import json
import os
import re
import subprocess
from itertools import takewhile
from pathlib import Path
from typing import Final

from policies.manifests.sanitize import one_line
from policies.manifests.skipped import SkipReason
from webhook.lint.tool_limits import TIMEOUT_S, ToolError

#: Whether programs can be confined: Windows has neither limits nor groups of processes.
CONFINES: Final = hasattr(os, "killpg")
if CONFINES:
    from webhook.lint import sandbox

#: Bytes of a program's complaint that are looked at; far more than any that is read by people.
MAX_COMPLAINT: Final = 2**16
#: Characters of an error that are repeated, of its start and of its end, where the cause is; both
#: together are what fits a few lines of a terminal.
HEAD_LENGTH: Final = 400
TAIL_LENGTH: Final = 600
#: What kubectl writes before its complaint: time, process and place, which say nothing about the cause.
_LOG_LINE: Final = re.compile(r'[EF]\d{4} [\d:.]+ +\d+ \S+\] "command failed" err=(".*"|<)')
#: The end of a complaint of several lines, which starts with ``<``.
_LOG_END: Final = ">"
#: Where things are in the memory of a program: other addresses in each run.
_ADDRESS: Final = re.compile(r" *\(&\{0x[0-9a-f]+ <nil>\}\)|\b0x[0-9a-f]{6,16}\b")
#: How helm and kustomize start the error that ends them, and what helm advises below it.
_ERROR: Final = "Error: "
_ADVICE: Final = "Use --debug flag"
_WARNING: Final = re.compile(
    r"(?i)warning:|W\d{4} |walk\.go:|coalesce\.go:|level=(warn|info)|\d{4}/\d\d/\d\d "
)
#: What kustomize says of each folder on the way to the one that is wrong: it is no file, so it was entered.
_ENTERED: Final = re.compile(
    r"accumulating resources: accumulation err='accumulating resources from '[^']*': "
    r"(?:'[^']*' must resolve to a file|read [^']*: is a directory)': "
    r"recursed accumulation of path '([^']*)': "
)
#: What it says of a resource that is neither a file nor a folder: the same cause twice.
_TWICE: Final = re.compile(
    r"accumulating resources: accumulation err='accumulating resources from '([^']*)': (.+)': must build at"
    r" directory: .+"
)


def run_tool(command: list[str], *, stdin: bytes = b"", trusted: bool = False) -> bytes:
    """Return the output of a program.

    Args:
        command: The program and its arguments.
        stdin: What it reads.
        trusted: Whether it is run even where nothing can confine it.

    Raises:
        ToolError: It cannot be run, exceeds a limit, or fails.
    """
    name = " ".join(part.rpartition("/")[2] for part in command[:2])
    if not (CONFINES or trusted):
        raise ToolError(f"{name} is not run: nothing confines a program here", SkipReason.TOOL_MISSING)
    try:
        done = _confined(command, stdin, name) if CONFINES else _unconfined(command, stdin, name)
    except OSError as error:
        raise ToolError(f"{name} cannot be run: {error.strerror}") from error
    except ValueError as error:
        # A name of an untrusted manifest may hold what no argument of a program can.
        raise ToolError(f"{name} cannot be run: {error}") from error
    if done.returncode:
        raise ToolError(f"{name} fails: {complaint(done.stderr)}")
    return done.stdout


def _confined(command: list[str], stdin: bytes, name: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return sandbox.run_confined(command, stdin=stdin)
    except sandbox.SandboxLimitError as error:
        raise ToolError(f"{name} {error}", SkipReason.LIMIT_EXCEEDED) from error


def _unconfined(command: list[str], stdin: bytes, name: str) -> subprocess.CompletedProcess[bytes]:
    # Windows starts nothing without variables of its own.
    environment = os.environ | {"GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}
    try:
        return subprocess.run(  # noqa: S603  # a program of the user's own PATH, given a path
            command, input=stdin, capture_output=True, env=environment, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{name} takes more than {TIMEOUT_S} s", SkipReason.LIMIT_EXCEEDED) from error


def complaint(stderr: bytes) -> str:
    r"""Return the error that ended a program, on one line: without warnings before it and advice below it.

    >>> complaint(b"WARNING: old\nError: values are wrong:\n- (root): no a\n- (root): no b\n")
    'values are wrong: (root): no a; (root): no b'
    """
    lines = [line.strip() for line in stderr[-MAX_COMPLAINT:].decode(errors="replace").splitlines()]
    text = _joined(_error_lines([line for line in lines if line])) or "it does not say why"
    text = one_line(_ADDRESS.sub("", text), MAX_COMPLAINT)
    text = _TWICE.sub(r"\1: \2", _ENTERED.sub(r"\1: ", text.replace(f"{Path.cwd()}/", "")))
    if len(text) <= HEAD_LENGTH + TAIL_LENGTH:
        return text
    return f"{text[:HEAD_LENGTH]} … {text[-TAIL_LENGTH:]}"


def _error_lines(lines: list[str]) -> list[str]:
    for position, line in enumerate(lines):
        if line.startswith(_ERROR):
            rest = [line.removeprefix(_ERROR), *lines[position + 1 :]]
            return [line for line in rest if not line.startswith(_ADVICE)]
        if logged := _LOG_LINE.fullmatch(line):
            rest = lines[position + 1 :]
            return [_unquoted(logged[1])] if logged[1] != "<" else list(takewhile(_LOG_END.__ne__, rest))
    return [line for line in lines if not _WARNING.match(line)] or lines


def _joined(lines: list[str]) -> str:
    """Return lines as one: what ends in a colon goes on, the rest is a list."""
    text = ""
    for line in lines:
        separator = "" if not text else " " if text.endswith(":") else "; "
        text += separator + line.removeprefix("- ")
    return text


def _unquoted(text: str) -> str:
    """Return a text that Go has quoted, nearly as JSON would."""
    try:
        return str(json.loads(text))
    except json.JSONDecodeError:
        return text.strip('"')

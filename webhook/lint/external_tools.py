"""Run the programs of other projects that turn templates into manifests."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from policies.manifests.skipped import SkipReason
from webhook.lint import sandbox

#: Bytes of a program's complaint that are looked at. Arbitrary; far more than any that is read by people.
MAX_COMPLAINT: Final = 2**16
#: Characters of an error that are repeated, of its start and of its end, where the cause is. Arbitrary; both
#: together are what fits a few lines of a terminal.
HEAD_LENGTH: Final = 400
TAIL_LENGTH: Final = 600
#: What kubectl writes before its complaint: time, process and place, which tell nobody anything.
_LOG_LINE: Final = re.compile(r'[EF]\d{4} [\d:.]+ +\d+ \S+\] "command failed" err=(".*")')
#: How helm and kustomize start the error that ends them, and what helm advises below it.
_ERROR: Final = "Error: "
_ADVICE: Final = "Use --debug flag"
_WARNING: Final = re.compile(
    r"(?i)warning:|W\d{4} |walk\.go:|coalesce\.go:|level=(warn|info)|\d{4}/\d\d/\d\d "
)
#: What kustomize says of each folder on the way to the one that is wrong: it is no file, so it was entered.
_ENTERED: Final = re.compile(
    r"accumulating resources: accumulation err='accumulating resources from '[^']*': '[^']*' must resolve to"
    r" a file': recursed accumulation of path '([^']*)': "
)
#: What it says of a resource that is neither a file nor a folder: the same cause twice.
_TWICE: Final = re.compile(
    r"accumulating resources: accumulation err='accumulating resources from '([^']*)': (.+)': must build at"
    r" directory: .+"
)


class ToolError(Exception):
    """Something could not be rendered; the text says why.

    Attributes:
        reason: The same for programs.
        needs: What would have to be downloaded.
    """

    def __init__(
        self, text: str, reason: SkipReason = SkipReason.TOOL_FAILED, needs: tuple[str, ...] = ()
    ) -> None:
        super().__init__(text)
        self.reason, self.needs = reason, needs


def run_tool(command: list[str], *, stdin: bytes = b"") -> bytes:
    """Return what a program prints.

    Args:
        command: The program and its arguments.
        stdin: What it reads.

    Raises:
        ToolError: It cannot be run, exceeds a limit, or fails.
    """
    name = " ".join(part.rpartition("/")[2] for part in command[:2])
    try:
        done = sandbox.run(command, stdin=stdin)
    except sandbox.SandboxLimitError as error:
        raise ToolError(f"{name} {error}", SkipReason.LIMIT_EXCEEDED) from error
    except OSError as error:
        raise ToolError(f"{name} cannot be run: {error.strerror}") from error
    except ValueError as error:
        # A name of an untrusted manifest may hold what no argument of a program can.
        raise ToolError(f"{name} cannot be run: {error}") from error
    if done.code:
        raise ToolError(f"{name} fails: {complaint(done.complaint)}")
    return done.output


def complaint(stderr: bytes) -> str:
    r"""Return the error that ended a program, on one line: without warnings before it and advice below it.

    >>> complaint(b"WARNING: old\nError: values are wrong:\n- (root): no a\n- (root): no b\n")
    'values are wrong: (root): no a; (root): no b'
    """
    lines = [line.strip() for line in stderr[-MAX_COMPLAINT:].decode(errors="replace").splitlines()]
    text = _joined(_error_lines([line for line in lines if line])) or "it does not say why"
    text = "".join(char if char.isprintable() else " " for char in text)
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
            return [_unquoted(logged[1])]
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

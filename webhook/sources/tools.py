"""Run the programs of other projects that turn templates into manifests."""

from __future__ import annotations

import re
import subprocess

#: Seconds a program may take for one chart or kustomization. Arbitrary; they take one or two.
TIMEOUT_S = 60
#: What kubectl writes before its complaint: time, process and place, which tell nobody anything.
_LOG_HEAD = re.compile(r'[EF]\d{4} [\d:.]+ +\d+ \S+\] "command failed" err="')
#: Characters of a program's complaint that are repeated. Arbitrary; one line of a terminal or two.
TOLD_LENGTH = 200


class ToolError(Exception):
    """A program could not do its work; the text is the rest of a line that names what it was given."""


def run_tool(command: list[str]) -> bytes:
    """Return what a program prints.

    Raises:
        ToolError: It cannot be run, takes too long, or fails.
    """
    name = " ".join(part.rpartition("/")[2] for part in command[:2])
    try:
        done = subprocess.run(  # noqa: S603  # a program of the user's own PATH, given a path
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{name} takes more than {TIMEOUT_S} s") from error
    except OSError as error:
        raise ToolError(f"{name} cannot be run: {error.strerror}") from error
    if done.returncode:
        raise ToolError(f"{name} fails: {_first_line(done.stderr)}")
    return done.stdout


def _first_line(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    text = "".join(char for char in (lines or ["it does not say why"])[0] if char.isprintable())
    text = _LOG_HEAD.sub("", text)
    return text if len(text) <= TOLD_LENGTH else f"{text[:TOLD_LENGTH]}…"

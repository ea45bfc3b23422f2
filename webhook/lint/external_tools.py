"""Run the programs that turn templates into manifests: no network, no secrets, and limits."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import IO, Final

from policies.manifests.sanitize import one_line
from policies.manifests.skipped import SkipReason
from webhook.lint.tool_error import ToolError

#: Whether programs can be confined: Windows has neither limits nor groups of processes as below.
CONFINES: Final = hasattr(os, "killpg")
if CONFINES:
    import resource

#: Seconds that a program may take for one chart or kustomization. They take one or two.
TIMEOUT_S: Final = 60
#: Seconds of the processor that a program may take; the largest charts take two.
PROCESSOR_S: Final = 10
#: Seconds of the processor that every program of a run may take, however many there are.
ORDINARY_S: Final = 2
#: Seconds of the processor that all programs of a run may take beyond that, together.
EXTRA_S: Final = 60
#: Bytes that a program may print; the largest charts print a sixth of it.
MAX_OUTPUT: Final = 2**25
#: Bytes of address space that a program may have. Helm and kustomize reserve 0.8 GiB and seldom use 0.2 more.
MAX_MEMORY: Final = 2**31
#: What a program may not exceed, in its process and each that it starts.
_LIMITS: Final = (
    (
        (resource.RLIMIT_FSIZE, MAX_OUTPUT),
        (resource.RLIMIT_AS, MAX_MEMORY),
        (resource.RLIMIT_CORE, 0),
    )
    if CONFINES
    else ()
)
#: An address where nothing listens: port 1 is reserved.
_NOWHERE: Final = "http://127.0.0.1:1"
#: How a runtime ends that gets no more memory: of Go, of the C library, and of a shell.
_NO_MEMORY: Final = (
    b"out of memory", b"cannot allocate memory", b"Cannot allocate memory", b"failed to reserve",
)  # fmt: skip
#: Flags of Linux for a network of one's own, and for the right to have one.
_NEW_NETWORK: Final = 0x40000000
_NEW_USER: Final = 0x10000000


@dataclass(slots=True)
class _Allowance:
    """The time of the processor that programs of this run, which is this process, may yet take.

    Attributes:
        extra_s: Seconds beyond those that each may take.
    """

    extra_s: float = EXTRA_S

    @property
    def limit_s(self) -> int:
        """Whole seconds for the next program."""
        return min(PROCESSOR_S, ORDINARY_S + int(self.extra_s))

    def charge(self, used_s: float) -> None:
        """Count what a program took."""
        self.extra_s = max(0.0, self.extra_s - max(0.0, used_s - ORDINARY_S))


_ALLOWANCE: Final = _Allowance()


class SandboxLimitError(Exception):
    """A program has exceeded a limit; the text says which."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a program ended.

    Attributes:
        code: Its exit code.
        output: What it printed.
        complaint: What it printed on standard error.
    """

    code: int
    output: bytes
    complaint: bytes


def run_confined(command: list[str], *, stdin: bytes = b"") -> Done:
    """Run a program to its end.

    It sees an empty home, no variable of ours, no other program, and no network where the kernel lets us
    take it away; else it finds proxies where nothing listens.

    Args:
        command: The program, by its path, and its arguments.
        stdin: What it reads.

    Raises:
        SandboxLimitError: It has exceeded a limit.
        OSError: It cannot be run.
        ValueError: The same, for what is no argument.
    """
    limit_s, before_s = _ALLOWANCE.limit_s, _processor_s()
    with (
        tempfile.TemporaryDirectory(prefix="evenkeel-home-", ignore_cleanup_errors=True) as home,
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as complaint,
    ):
        given.write(stdin)
        given.seek(0)
        # Files, not pipes: the kernel stops a program that writes too much, and nothing need read meanwhile.
        process = subprocess.Popen(  # noqa: S603  # a program of the user's own PATH, given a path
            command,
            stdin=given,
            stdout=output,
            stderr=complaint,
            env=_environment(home),
            start_new_session=CONFINES,
            preexec_fn=partial(_confine, limit_s) if CONFINES else None,  # noqa: PLW1509  # no thread of ours could hold a lock
        )
        try:
            code = _wait(process)
        finally:
            _ALLOWANCE.charge(_processor_s() - before_s)
        done = Done(code, _content(output), _content(complaint))
    _check_limits(done, limit_s)
    return done


def _environment(home: str) -> dict[str, str]:
    """Return the variables of a program: whatever it or Git could use for another way out leads nowhere."""
    proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    return {
        "PATH": str(Path(home, "bin")),
        "HOME": home,
        "TMPDIR": home,
        "LC_ALL": "C",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        **{variable: _NOWHERE for name in proxies for variable in (name, name.lower())},
    }


def _processor_s() -> float:
    """Return the seconds of the processor that the programs took which have ended."""
    if not CONFINES:
        return 0.0
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _confine(processor_s: int) -> None:
    """Give up the network and what exceeds the limits; runs in the new process."""
    for kind, limit in ((resource.RLIMIT_CPU, processor_s), *_LIMITS):
        # Not every system has every limit, and none may be raised.
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(kind)[1]
            least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(kind, (least, least))
    unshare = getattr(_LIBC, "unshare", None)
    # Root keeps its rights over files; other users may have a network only with users of their own.
    if unshare is not None and unshare(_NEW_NETWORK):
        unshare(_NEW_NETWORK | _NEW_USER)


#: The C library, loaded before the new process needs it.
_LIBC: Final = ctypes.CDLL(None) if CONFINES else None


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a program; kill it, with all that it has started, if it takes too long."""
    try:
        return process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise SandboxLimitError(f"takes more than {TIMEOUT_S} s") from None
    finally:
        if process.returncode is None:
            if CONFINES:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            process.wait()


def _check_limits(done: Done, processor_s: int) -> None:
    if max(len(done.output), len(done.complaint)) >= MAX_OUTPUT:
        raise SandboxLimitError(f"prints more than {MAX_OUTPUT // 2**20} MiB")
    if done.code and any(mark in done.complaint for mark in _NO_MEMORY):
        raise SandboxLimitError(f"needs more than {MAX_MEMORY // 2**30} GiB of memory")
    if CONFINES and done.code in {-signal.SIGKILL, -signal.SIGXCPU}:
        text = f"was killed, as after {processor_s} s of processor time"
        if processor_s < PROCESSOR_S:
            text += f", since others took {EXTRA_S} s more than is usual: give it in a run of its own"
        raise SandboxLimitError(text)


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


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
        done = run_confined(command, stdin=stdin)
    except SandboxLimitError as error:
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

"""A command that reads a score request a line and writes an answer a line, as ``evenkeel score --jsonl``.

A request is sent when the one before is answered, so an answer is known to belong to its request.
"""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import time
from typing import Final

from conformance.case import Operation
from conformance.implementation import MOST_ANSWER_BYTES, ImplementationError
from policies.manifests.errors import UsageError
from policies.manifests.sanitize import one_line
from policies.manifests.words import plural

#: Bytes that are read or written at once: what a pipe holds.
_CHUNK: Final = 65536
#: Seconds for a command to end when its input has.
_END_S: Final = 5.0


class LineCommand:
    """A running command. See ``Implementation``."""

    def __init__(self, command: str, operation: Operation, *, timeout_s: float) -> None:
        """Start the command, without a shell.

        Args:
            command: The program and its arguments, quoted as for a shell.
            operation: The operation of its requests.
            timeout_s: Seconds for each answer.

        Raises:
            UsageError: It cannot be started.
        """
        self.title = f"the command {one_line(command)}"
        self.operations = frozenset({operation})
        self._timeout_s = timeout_s
        self._answers = 0
        self._rest = bytearray()
        try:
            # A group of its own, so that what it starts ends with it.
            self._process = subprocess.Popen(  # noqa: S603  # the user's own command, without a shell
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError, IndexError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise UsageError(f"cannot run {one_line(command)}: {why}") from error
        self._selector = selectors.DefaultSelector()
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: PT018, S101
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)
        self._selector.register(self._output, selectors.EVENT_READ)

    def answer(self, _operation: Operation, request: bytes) -> bytes:
        """Return the answer; see ``Implementation``."""
        if self._rest or self._selector.select(0):
            self._check_silence()
        deadline = time.monotonic() + self._timeout_s
        line = self._exchange(request + b"\n", deadline)
        self._answers += 1
        return line

    def close(self) -> None:
        """Close its input and wait a moment for its end; then kill it."""
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._kill()

    def _exchange(self, unsent: bytes, deadline: float) -> bytes:
        """Send a request while reading its answer: either pipe may be full."""
        self._selector.register(self._input, selectors.EVENT_WRITE)
        complete = False
        try:
            while not complete:
                ready = self._selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise self._stop(
                        f"gave no answer within {self._timeout_s:g} s and was ended: an answer must be one "
                        "line, flushed before the next request is read"
                    )
                for key, _ in ready:
                    if key.fd == self._output:
                        complete = self._read()
                    elif unsent := self._send(unsent):
                        continue
                    else:
                        self._selector.unregister(self._input)
        finally:
            if self._input in self._selector.get_map():
                self._selector.unregister(self._input)
        line, _, self._rest = self._rest.partition(b"\n")
        if unsent:
            raise self._stop("wrote an answer before it had read the request")
        return bytes(line)

    def _send(self, unsent: bytes) -> bytes:
        try:
            return unsent[os.write(self._input, unsent[:_CHUNK]) :]
        except BrokenPipeError:
            raise self._ended() from None

    def _read(self) -> bool:
        """Read what there is; return whether a line is complete."""
        chunk = os.read(self._output, _CHUNK)
        if not chunk:
            raise self._ended()
        self._rest += chunk
        if len(self._rest) > MOST_ANSWER_BYTES:
            raise self._stop(f"wrote more than {MOST_ANSWER_BYTES >> 20} MiB for one answer")
        return b"\n" in chunk

    def _check_silence(self) -> None:
        """Make sure that nothing was written since the last answer.

        Raises:
            ImplementationError: Something was, or the command has ended.
        """
        if not self._rest:
            self._read()
        line = one_line(self._rest[:80].partition(b"\n")[0].decode(errors="replace"))
        raise self._stop(f"wrote more than one line for one request, or one without a request: {line}")

    def _ended(self) -> ImplementationError:
        try:
            code = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return self._stop("closed its output")
        how = (
            f"was ended by signal {signal.Signals(-code).name}"
            if code < 0
            else f"ended with exit code {code}"
        )
        return self._stop(how)

    def _stop(self, what: str) -> ImplementationError:
        self._kill()
        count = f"{plural(self._answers, 'answer')}"
        return ImplementationError(f"{self.title} {what}, after {count}")

    def _kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

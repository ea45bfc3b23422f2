"""The command in the tests' own process: to start Python and import a command takes half a second."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from types import MappingProxyType
from unittest.mock import patch

from webhook.cli import live, main, manifest


def evenkeel(
    *arguments: str, folder: Path, stdin: bytes = b"", environment: Mapping[str, str] = MappingProxyType({})
) -> CompletedProcess[bytes]:
    """Run ``evenkeel`` as a process of its own would, with pipes for its standard streams.

    Args:
        *arguments: Those of the command.
        folder: The working directory.
        stdin: What is on standard input.
        environment: What differs from the environment of the tests.
    """
    # A process of its own would remember none of these, nor where temporary files go.
    live.api_server.cache_clear()
    manifest._standard_input.cache_clear()
    stdout, stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with (
        chdir(folder),
        patch.dict(os.environ, environment),
        patch.object(tempfile, "tempdir", None),
        # Pipes have no width, whatever terminal the tests run in.
        patch.object(os, "get_terminal_size", side_effect=OSError),
        patch.object(sys, "argv", ["evenkeel", *arguments]),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        try:
            code = main._guarded("evenkeel")
        except SystemExit as end:
            # click's completion ends so.
            code = int(end.code or 0)
    return CompletedProcess(arguments, code, *map(_written, (stdout, stderr)))


def _written(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()

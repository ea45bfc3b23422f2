"""Commands run in the tests' own process, on a cluster: importing the client for each takes a second."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from webhook.cli import live_placement, main, placement
from webhook.cluster import live


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    stdout: bytes
    stderr: bytes


class Commands:
    """Runs commands in a folder that has a kubeconfig."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        self._monkeypatch = monkeypatch
        self._capture = capsysbinary
        # The client reads the variable when it is imported, which is once for all tests.
        connect = partial(live.connect, kubeconfig=str(folder / "kubeconfig"))
        monkeypatch.setattr(live, "connect", connect)
        monkeypatch.setattr(live_placement, "connect", connect)
        monkeypatch.setenv("COLUMNS", "90")
        monkeypatch.chdir(folder)

    def run(self, *arguments: str, stdin: bytes = b"") -> Done:
        # A process of its own would remember neither.
        live_placement.api_server.cache_clear()
        placement._standard_input.cache_clear()
        self._monkeypatch.setattr(sys, "argv", ["evenkeel", *arguments])
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main._guarded("evenkeel")
        return Done(code, *self._capture.readouterr())

"""Commands run in the tests' own process, on a cluster: importing the client for each takes a second."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from webhook.cli import live, main, manifest


@dataclass(frozen=True)
class Done:
    """The outcome of a command."""

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
        monkeypatch.setenv("KUBECONFIG", str(folder / "kubeconfig"))
        monkeypatch.setenv("COLUMNS", "90")
        monkeypatch.chdir(folder)

    def run(self, *arguments: str, stdin: bytes = b"") -> Done:
        # A process of its own would remember neither.
        live.api_server.cache_clear()
        manifest._standard_input.cache_clear()
        self._monkeypatch.setattr(sys, "argv", ["evenkeel", *arguments])
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main._guarded("evenkeel")
        return Done(code, *self._capture.readouterr())

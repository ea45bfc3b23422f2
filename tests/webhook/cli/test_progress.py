"""Progress on a terminal, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
from io import StringIO

import pytest

from webhook.cli.progress import interruptible, progress


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "long", "shown"),
    [
        pytest.param(_Terminal(), True, True, id="long, a terminal: a bar"),
        pytest.param(_Terminal(), False, False, id="short: none"),
        pytest.param(StringIO(), True, False, id="no terminal: none"),
    ],
)
def test_when_a_bar_is_shown(
    monkeypatch: pytest.MonkeyPatch, stream: StringIO, *, long: bool, shown: bool
) -> None:
    """Only long work on a terminal has a bar."""
    monkeypatch.setattr(sys, "stderr", stream)
    with progress("Working", long=long) as advance:
        advance(0.5)

    assert shown is ("Working" in stream.getvalue())


def test_ctrl_c_is_told_once() -> None:
    """The first one is only noted, a second one ends the program, and afterwards all is as before."""
    before, told = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with interruptible() as stop:
            for _ in range(3):
                told.append(stop())
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        work()

    assert [False, True] == told
    assert before == signal.getsignal(signal.SIGINT)

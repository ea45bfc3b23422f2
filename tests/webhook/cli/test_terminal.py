"""Progress on a terminal, and Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import sys
from io import StringIO

import pytest

from webhook.cli.terminal import interruptible, progress, reading_progress


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


@pytest.mark.parametrize(
    ("terminal", "shown"),
    [
        pytest.param(True, ["1", "501"], id="a terminal"),
        pytest.param(False, [], id="a file"),
    ],
)
def test_reading(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, terminal: bool, shown: list[str]
) -> None:
    """A person sees how far it is, every 500 objects; a log file does not."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "xterm")
    with reading_progress() as advance:
        for _ in range(501):
            advance("Pod")
    told = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().err)

    assert shown == list(dict.fromkeys(re.findall(r"Reading the cluster: (\d+) objects, now Pod", told)))


def test_reading_says_what_before_the_first_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person knows at once what takes long; a name cannot write to the terminal."""
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with reading_progress("[x] cluster.json") as advance:
        before = stream.getvalue()
        advance("Po\x1b[2Jd")

    assert "Reading [x] cluster.json" in before
    assert "1 objects, now Po" in stream.getvalue()
    assert "\x1b[2J" not in stream.getvalue()


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

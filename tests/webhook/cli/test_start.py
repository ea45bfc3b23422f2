"""Ctrl-C at moments when Python would print a traceback."""

from __future__ import annotations

import subprocess
import sys

from webhook.cli.terminal import ExitCode

_DURING_IMPORTS = """
import signal, sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "click":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from webhook.cli.start import run
run()
"""
_IN_A_CALLBACK = """
import signal, time, weakref
from webhook.cli import main, start

def work(_program):
    watched = type("Watched", (), {})()
    reference = weakref.ref(watched, lambda _: signal.raise_signal(signal.SIGINT))
    del watched
    time.sleep(30)

main._exit_code = work
start.run()
"""


def interrupted(code: str) -> tuple[int, str]:
    """Return the exit code and the errors of a program that interrupts itself."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stderr


def test_an_interrupt_while_the_command_is_imported_prints_nothing() -> None:
    """The signal ends the process, as it ends any program."""
    assert (-2, "") == interrupted(_DURING_IMPORTS)


def test_an_interrupt_in_a_callback_is_not_lost() -> None:
    """Python prints what is raised in a callback and goes on; the command ends."""
    assert (ExitCode.INTERRUPTED, "evenkeel: ended by Ctrl-C\n") == interrupted(_IN_A_CALLBACK)

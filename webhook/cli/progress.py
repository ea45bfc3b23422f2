"""How long work is shown on a terminal, and how Ctrl-C ends it with what there is until then.

Where stderr is no terminal nothing is shown, as with git and kubectl: a log has no use for it.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from policies.manifests.sanitize import one_line
from webhook.late_imports import late_imports

with late_imports():
    from webhook.cli import drawing

#: Exit code of a command that Ctrl-C ended: 128 and the number of SIGINT, as shells count.
INTERRUPTED: Final = 130
#: Nodes from which placing pods on them is shown: each trial copies what is known of them.
MANY_NODES: Final = 200
#: Objects that are read between two steps of the progress: two pages of a list.
READ_STEP: Final = 500


@contextmanager
def progress(title: str, *, long: bool) -> Iterator[Callable[[float], None]]:
    """Show a bar of long work if stderr is a terminal; gives what moves it, by the share that is done."""
    if not long or not sys.stderr.isatty():
        yield lambda _share: None
        return
    with drawing.bar(title) as show:
        yield show


@contextmanager
def status(text: str, *, long: bool) -> Iterator[Callable[[str], None]]:
    """Show a line about long work if stderr is a terminal; gives what replaces it."""
    if not long or not sys.stderr.isatty():
        yield lambda _text: None
        return
    with drawing.line(text) as show:
        yield show


@contextmanager
def reading_progress(what: str = "the cluster", *, long: bool = True) -> Iterator[Callable[[str], None]]:
    """Show on a terminal how many objects were read; gives the function to call with the kind of each."""
    with status(f"Reading {what}", long=long) as show:
        count = 0

        def advance(kind: str) -> None:
            nonlocal count
            count += 1
            if count % READ_STEP == 1:
                show(f"Reading {what}: {count:,} objects, now {one_line(kind)}")

        yield advance


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C end some work after its current step; gives a function that returns whether it did.

    A second one ends the command at once.
    """
    pressed = False

    def press(_number: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)

"""How long work is shown on a terminal, and how Ctrl-C ends it with what there is until then."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

#: Exit code of a command that Ctrl-C ended: 128 and the number of SIGINT, as shells count.
INTERRUPTED: Final = 130
#: The share of the work after which the progress is drawn anew; a hundred times a run.
STEP: Final = 0.01


@contextmanager
def progress(title: str, *, long: bool) -> Iterator[Callable[[float], None]]:
    """Show a bar of long work if stderr is a terminal; gives what moves it, by the share that is done."""
    if not long or not sys.stderr.isatty():
        yield lambda _share: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task(title, total=1.0)
        shown = 0.0

        def show(share: float) -> None:
            nonlocal shown
            # Drawing takes longer than a step of the work.
            if share - shown >= STEP:
                shown = share
                bar.update(task, completed=share, refresh=True)

        yield show


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C end some work after its current step; gives what tells whether it was pressed.

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

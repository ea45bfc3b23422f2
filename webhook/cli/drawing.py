"""A bar and a line on a terminal, as rich draws them on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.progress import Progress
from rich.text import Text

#: The share of the work after which the bar is drawn again; a hundred times a run.
STEP: Final = 0.01


@contextmanager
def bar(title: str) -> Iterator[Callable[[float], None]]:
    """Show a bar; gives what moves it, by the share of the work that is done."""
    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as progress:
        task = progress.add_task(title, total=1.0)
        shown = 0.0

        def show(share: float) -> None:
            nonlocal shown
            # Drawing takes longer than a step of the work.
            if share - shown >= STEP:
                shown = share
                progress.update(task, completed=share, refresh=True)

        yield show


@contextmanager
def line(text: str) -> Iterator[Callable[[str], None]]:
    """Show a line; gives what replaces it."""
    with Live(Text(text), console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        live.refresh()
        yield lambda replaced: live.update(Text(replaced), refresh=True)

"""How a long lint run is run and shown: without garbage collection, and with a bar on a terminal."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from webhook.lint.inputs import Texts

#: Bytes from which a run shows its progress; they take about a second.
LONG: Final = 2**22
#: The share of the work after which the progress is drawn anew; a hundred times a run.
STEP: Final = 0.01


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep Python from looking for garbage, of which there is hardly any."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def lint_progress(texts: Texts) -> Iterator[Callable[[float], None]]:
    """Show a bar on a terminal while there is much to do; gives what moves it, by the share that is done."""
    total = sum(len(text.content) for text in texts.texts)
    if total < LONG or not sys.stderr.isatty():
        yield lambda _share: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("Linting", total=1.0)
        shown = 0.0

        def show(share: float) -> None:
            nonlocal shown
            # Drawing takes longer than judging a workload.
            if share - shown >= STEP:
                shown = share
                bar.update(task, completed=share, refresh=True)

        yield show

"""How a long lint run is run and shown: without garbage collection, and with a bar."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from webhook.cli.terminal import progress
from webhook.lint.inputs import Texts

#: Bytes from which a run shows its progress; they take about a second.
LONG: Final = 2**22


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
    with progress("Linting", long=total >= LONG) as advance:
        yield advance

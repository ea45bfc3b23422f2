"""The terminal as every command uses it: exit codes, notes, reports, how long work is shown, and Ctrl-C.

Where stderr is no terminal no progress is shown, as with git and kubectl: a log has no use for it.
"""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType
from typing import Final, NoReturn

import click

from policies.manifests.sanitize import one_line

#: Columns of a text where there is no terminal: one of sentences, one of lines with numbers, one of tables.
SENTENCES, LINES, TABLES = 80, 100, 120
#: What bars and lines are made of where a terminal cannot show them.
STAND_INS: Final = str.maketrans("█─", "#-")
#: Nodes from which placing pods on them is shown: each trial copies what is known of them.
MANY_NODES: Final = 200
#: Objects that are read between two steps of the progress: two pages of a list.
READ_STEP: Final = 500


class ExitCode(IntEnum):
    """How a command ended; the documentation of each says what its findings are."""

    #: Nothing is wrong.
    CLEAN = 0
    #: There are findings: pods that fit nowhere, a goal that is missed, documents with errors.
    FINDINGS = 1
    #: An option or a file is not what it should be.
    BAD_INPUT = 2
    #: The work could not be done, through no fault of the input.
    CANNOT_RUN = 3
    #: Ctrl-C: 128 and the number of SIGINT, as shells count.
    INTERRUPTED = 130
    #: The reader of our output ended before us: 128 and the number of SIGPIPE.
    PIPE_CLOSED = 141

    @classmethod
    def of(cls, *, clean: bool) -> ExitCode:
        """Return the code of work that was done, by whether there is nothing to find fault with."""
        return cls.CLEAN if clean else cls.FINDINGS


def finish(code: ExitCode) -> NoReturn:
    """End the command that runs."""
    click.get_current_context().exit(code)


def note(text: str) -> None:
    """Print a line to stderr: what people should know besides the answer."""
    click.echo(f"evenkeel: {one_line(text)}", err=True)


def note_and_keep(notes: list[str], text: str) -> None:
    """Print a note that the answer has, too."""
    note(text)
    notes.append(text)


def show(render: Callable[[int, bool], str], *, piped: int) -> None:
    """Print a report for people, colored in a terminal alone.

    Args:
        render: Makes the report, of a width in columns and with color or not.
        piped: Columns where there is no terminal.
    """
    width = shutil.get_terminal_size(fallback=(piped, 0)).columns
    text = render(width, sys.stdout.isatty() and click.get_current_context().color is not False)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        # Another encoding than UTF-8: bars and lines have stand-ins, names are escaped.
        encoded = text.translate(STAND_INS).encode(sys.stdout.encoding, "backslashreplace")
        text = encoded.decode(sys.stdout.encoding)
    click.echo(text, nl=False)


@contextmanager
def progress(title: str, *, long: bool) -> Iterator[Callable[[float], None]]:
    """Show a bar of long work if stderr is a terminal; gives what moves it, by the share that is done."""
    if not long or not sys.stderr.isatty():
        yield lambda _share: None
        return
    from webhook.cli import drawing

    with drawing.bar(title) as show:
        yield show


@contextmanager
def status(text: str, *, long: bool) -> Iterator[Callable[[str], None]]:
    """Show a line about long work if stderr is a terminal; gives what replaces it."""
    if not long or not sys.stderr.isatty():
        yield lambda _text: None
        return
    from webhook.cli import drawing

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

"""Text that came from outside, made fit for a line of a report."""

from __future__ import annotations

#: Characters of one message, file name or field that a report repeats. Arbitrary; longer than any that
#: Evenkeel writes, and a bound on what a hostile document makes a terminal or a comment show.
MAX_LENGTH = 2000


def one_line(text: str, limit: int = MAX_LENGTH) -> str:
    r"""Return a text on one line, without what steers a terminal, cut if it is very long.

    >>> print(one_line("a\nb\x1b[31m"))
    a\nb\x1b[31m
    """
    cut = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return _escaped(cut)


def printable_lines(text: str) -> str:
    r"""Return a text of several lines without what steers a terminal or turns the order of reading.

    >>> print(printable_lines("a\nb\x1b[31m\u202e"))
    a
    b\x1b[31m\u202e
    """
    return "\n".join(map(_escaped, text.split("\n")))


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)

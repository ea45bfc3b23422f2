r"""Text from outside, made safe for a terminal, a log line, a warning or an annotation.

Control characters, line ends, bidirectional overrides and everything else that does not print become escapes
(``\x1b``, ``\u202e``): the reader sees that they are there, and they steer nothing.
"""

from __future__ import annotations

#: Characters of one message, file name or field that a report repeats: longer than any that Evenkeel writes,
#: and a bound on what a hostile document makes a terminal or a comment show.
MAX_LENGTH = 2000
ELLIPSIS = "…"


def one_line(text: str, limit: int = MAX_LENGTH) -> str:
    r"""Return a text as one printable line of at most ``limit`` characters.

    >>> print(one_line("a\nb\x1b[31m"))
    a\nb\x1b[31m
    """
    if len(text) <= limit and text.isprintable():
        return text
    # Cut before escaping too: a text may be megabytes long, and an escape only makes it longer.
    return cut(_escaped(cut(text, limit)), limit)


def printable_lines(text: str) -> str:
    r"""Return a text of several lines whose lines are printable.

    >>> print(printable_lines("a\nb\x1b[31m\u202e"))
    a
    b\x1b[31m\u202e
    """
    return text if text.isprintable() else "\n".join(map(_escaped, text.split("\n")))


def cut(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters; an ellipsis replaces the rest.

    >>> cut("selector", 5)
    'sele…'
    """
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)

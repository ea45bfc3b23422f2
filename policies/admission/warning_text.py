"""Text that must fit into lines: where it is broken, and what gives way. Knows nothing of its meaning.

What is written here are sentences with evidence: ``fact (evidence), so that effect: consequence; more``. So
brackets give way first, then clauses from the end; a word is only cut if it is too long for any line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

#: Stands for what was left out.
ELLIPSIS = "…"
#: Characters from which a word may lose its middle. Arbitrary; ``app.kubernetes.io/component=worker`` has 34.
LONG_WORD = 40
#: Where a line may end, the best place first: after a sentence, an announcement, a clause, an item, a word.
_END = re.compile(
    r"(?P<sentence>; )|(?P<colon>: )"
    r"|(?P<clause>, (?=(?:and|but|it|so|that|the|there|though|where|which|with)\b))"
    r"|(?P<item>, | (?=\())|(?P<word> )|(?P<opening>[(\[{])|(?P<closing>[)\]}])"
)
_RANKS = {"sentence": 0, "colon": 1, "clause": 2, "item": 3, "word": 4}
#: Kinds of ends after which what was said stands by itself.
_WHOLE = 3
#: Evidence: a group in brackets that stands behind a word, and may hold an ``node(s)``.
_EVIDENCE = re.compile(r" \((?:[^()]|\([^()]*\))*\)")
#: Hundredths of the width that are left at least where a text ends with a whole clause. Arbitrary; below it,
#: half a sentence says more.
_FULL_ENOUGH = 55
#: Characters that part of a clause must have to be worth more than nothing of it. Arbitrary; a few words.
_WORTH = 24
#: Characters that a line loses because no word ends at its end, about half a word. Arbitrary.
_LOSS = 8


class _End(NamedTuple):
    """A place where a line may end.

    Attributes:
        rank: How bad a place it is, 0 the best.
        kept: Characters before it, with a comma or colon.
        rest: Where the next line starts.
    """

    rank: int
    kept: int
    rest: int


def plain(text: str) -> str:
    r"""Return a text as one line: whatever cannot be printed becomes a space.

    >>> plain("a\nb\x1b[31m")
    'a b [31m'
    """
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else " " for character in text)


def shortened(name: str, width: int) -> str:
    """Return a name without its middle if it is too long: its ends tell names apart.

    >>> shortened("checkout-payments-europe-west1-b", 16)
    'checkout…west1-b'
    """
    if len(name) <= width:
        return name
    end = (width - 1) // 2
    return f"{name[: width - 1 - end]}{ELLIPSIS}{name[len(name) - end :]}"


def fit(text: str, width: int) -> str:
    """Return a text in one line: whole, or without its last evidence and clauses.

    Args:
        text: Sentences.
        width: Characters, at least 1.

    >>> fit("asks for 3 domains, there are 2 of zone (a, b), so that the minimum counts as 0", 50)
    'asks for 3 domains, there are 2 of zone'
    >>> fit("80 were unschedulable, 20 had untolerated taint(s), 9 Insufficient cpu", 55)
    '80 were unschedulable, 20 had untolerated taint(s), …'
    """
    text = plain(text)
    if len(text) <= width:
        return text
    text = _without_evidence(_with_shorter_words(text, width), width)
    return text if len(text) <= width else _cut(text, width)


def wrapped(text: str, width: int, most: int, *, indent: int = 0) -> list[str]:
    """Return a text in few lines, broken where a clause ends if that needs no more of them.

    Args:
        text: Sentences.
        width: Characters of a line; more than ``LONG_WORD`` if there may be several lines.
        most: Lines there may be; what is too long for them is left out as ``fit`` does it.
        indent: Characters that the lines after the first are shorter by.

    >>> wrapped("4 of 6 nodes are full, 2 were unschedulable; zone: 2+1 in a", 44, 2)
    ['4 of 6 nodes are full, 2 were unschedulable', 'zone: 2+1 in a']
    """
    text = plain(text)
    if len(text) <= width or most == 1:
        return [fit(text, width)]
    ends = [end for end in _ends(text) if end.kept <= width]
    for lines in range(2, most + 1):
        room = (width - indent) * (lines - 1) - _LOSS * (lines - 2)
        enough = [end for end in ends if len(text) - end.rest <= room]
        if enough:
            best = min(enough, key=lambda end: (end.rank, -end.kept))
            return [text[: best.kept], *wrapped(text[best.rest :], width - indent, lines - 1)]
    shorter = _without_evidence(_with_shorter_words(text, width), width + room - _LOSS)
    if shorter != text:
        return wrapped(shorter, width, most, indent=indent)
    last = ends[-1]
    return [text[: last.kept], *wrapped(text[last.rest :], width - indent, most - 1)]


def _ends(text: str) -> Iterator[_End]:
    """Yield the places where a line may end; those within brackets are worse than all others."""
    depth = 0
    for found in _END.finditer(text):
        kind = found.lastgroup or ""
        if kind not in _RANKS:
            depth = max(0, depth + (1 if kind == "opening" else -1))
            continue
        start, end = found.span()
        rank = _RANKS[kind] + (len(_RANKS) if depth > 0 else 0)
        yield _End(rank, start + (text[start] in ",:"), end)


def _with_shorter_words(text: str, width: int) -> str:
    limit = min(LONG_WORD, width)
    return re.sub(r"\S+", lambda word: shortened(word[0], limit), text)


def _without_evidence(text: str, width: int) -> str:
    """Return a text without the last of its evidence, as little as makes it fit."""
    for group in reversed(list(_EVIDENCE.finditer(text))):
        if len(text) <= width:
            break
        text = text[: group.start()] + text[group.end() :]
    return text


def _cut(text: str, width: int) -> str:
    """Return the beginning of a text that is too long."""
    words = items = clauses = sentences = ""
    for end in _ends(text):
        kept = text[: end.kept].rstrip(",:")
        if end.rank < _WHOLE and len(kept) <= width:
            clauses = kept
            sentences = sentences if end.rank else kept
        elif end.rank == _WHOLE and len(kept) + len(", …") <= width:
            items = f"{kept}, {ELLIPSIS}"
        if len(kept) + len(" …") <= width:
            words = f"{kept} {ELLIPSIS}"
    least = width * _FULL_ENOUGH // 100
    if len(sentences) >= least:
        return sentences
    if clauses and (len(clauses) > len(words) - _WORTH or len(clauses) >= max(least, len(items) - _WORTH)):
        return clauses
    return items if len(items) >= least else words or shortened(text, width)

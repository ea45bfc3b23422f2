"""Slips of the pen in names: one letter too much, too few, another, or two the wrong way round."""

from __future__ import annotations

import re
from typing import Final

#: What separates the words of a name.
_SEPARATORS: Final = re.compile("[-_./]")
#: Letters of the shortest word that is recognized with a slip: ``db`` and ``dba`` may both be meant.
_SHORTEST: Final = 4


def is_misspelled(name: str, *, of: str) -> bool:
    """Return whether a name is another one but for one letter, or one separator.

    Numbers and letters that stand alone are no slips: ``shop-a`` and ``shop-b`` are two.

    >>> is_misspelled("emailservicex", of="emailservice"), is_misspelled("email-service", of="emailservice")
    (True, True)
    >>> is_misspelled("shop-b", of="shop-a"), is_misspelled("web2", of="web1")
    (False, False)
    """
    if name == of or abs(len(name) - len(of)) > 1:
        return False
    words, meant = _SEPARATORS.split(name), _SEPARATORS.split(of)
    if len(words) != len(meant):
        joined = "".join(words)
        return len(joined) >= _SHORTEST and joined == "".join(meant)
    differing = [pair for pair in zip(words, meant, strict=True) if pair[0] != pair[1]]
    return len(differing) == 1 and max(map(len, differing[0])) >= _SHORTEST and _is_slip(*differing[0])


def _is_slip(word: str, meant: str) -> bool:
    """Return whether a word is another one but for a letter; for words that differ."""
    start = next(
        (n for n, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), min(len(word), len(meant))
    )
    rest, wanted = word[start:], meant[start:]
    if rest[2:] == wanted[2:] and rest[:2] == wanted[1::-1] and len(wanted) > 1:
        return rest[:2].isalpha()
    if len(word) == len(meant):
        return rest[1:] == wanted[1:] and rest[0].isalpha() and wanted[0].isalpha()
    longer, shorter = (rest, wanted) if len(word) > len(meant) else (wanted, rest)
    return longer[1:] == shorter and longer[0].isalpha()

"""How texts for people count and list things: the first names of many, and how many more there are.

Every message, warning and report takes these words from here, whatever package writes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policies.manifests.sanitize import one_line

#: Names in a phrase that stands among others, such as a warning of admission: it has room for about three.
IN_PHRASE: Final = 3
#: Names on a line of a report, which is for them alone.
ON_LINE: Final = 4
#: Names in a message that says more than that, such as a finding.
IN_MESSAGE: Final = 5
#: Names in a sentence of their own, such as an error that says what there is to choose from.
IN_SENTENCE: Final = 10
#: Rows of a table in a terminal, beside other tables.
IN_TABLE: Final = 12
#: Rows of a table that is the whole answer: what a terminal shows at once.
ON_SCREEN: Final = 20


def object_title(kind: str, namespace: str, name: str) -> str:
    """Return the name of an object.

    >>> object_title("Deployment", "shop", "web")
    'Deployment shop/web'
    """
    return one_line(f"{kind} {namespace}/{name}")


def plural(count: int, noun: str) -> str:
    """Return a number of things.

    >>> plural(1, "error"), plural(1200, "file")
    ('1 error', '1,200 files')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def ordinal(number: int) -> str:
    """Return the place of a thing among others.

    >>> [ordinal(number) for number in (1, 2, 3, 4, 11, 21, 112)]
    ['1st', '2nd', '3rd', '4th', '11th', '21st', '112th']
    """
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number:,}{'th' if number % 100 in {11, 12, 13} else endings.get(number % 10, 'th')}"


def more(count: int, noun: str = "") -> str:
    """Return the end of a list: how many things it leaves out.

    >>> more(2), more(1, "workload")
    ('and 2 more', 'and 1 more workload')
    """
    return f"and {plural(count, f'more {noun}')}" if noun else f"and {count:,} more"


def listed(names: Iterable[object], most: int = ON_LINE, *, between: str = ", ") -> str:
    """Return the first of some names, each printable, and how many more there are.

    Args:
        names: The names, in their order.
        most: How many are written: one of the lengths above.
        between: What separates them; whole clauses have a semicolon.

    >>> listed(["a", "b"]), listed("abcdef"), listed(["it is odd", "it is 5", "it is 6"], 1, between="; ")
    ('a, b', 'a, b, c, d and 2 more', 'it is odd; and 2 more')
    """
    texts = [str(name) for name in names]
    first = between.join(map(one_line, texts[:most]))
    if len(texts) <= most:
        return first
    return f"{first}{' ' if between == ', ' else between}{more(len(texts) - most)}"

"""How large a JSON value is, told at a cost that is bounded itself.

What is read of an object is measured before any rule looks at it: a rule may then take time in proportion to
that, and no review more than it is worth.
"""

from __future__ import annotations

from typing import Any, Final

#: Characters that count as much as an entry: reading an entry costs what reading so many characters does.
CHARACTERS: Final = 256
#: Keys of an object up to which it does not count how long they are: nearly every review has many such.
FEW_KEYS: Final = 8
#: The size up to which a list of constraints, or a selector, is read: it bounds what each rule costs that
#: looks at it. Arbitrary; people write 20 entries, and 200 constraints of the usual form fit.
MAX_SIZE: Final = 2000


def size_of(value: Any, most: int) -> int:
    """Return how many entries a value has on all levels, and ``CHARACTERS`` characters count as one more.

    Args:
        value: Of JSON.
        most: Beyond this nothing more is looked at, and a number above it is returned.

    >>> size_of([{"key": "app", "values": ["a", "b"]}], 100), size_of(["a"] * 1_000_000, 100) > 100
    (5, True)
    """
    size = 0
    nodes = [value]
    for node in nodes:
        kind = type(node)
        if kind is str:
            if (length := len(node)) < CHARACTERS:
                continue
            size += length // CHARACTERS
        elif kind is dict or kind is list:
            size += len(node)
            # What a level brings is only looked at if there is room for it.
            if size <= most:
                nodes += node.values() if kind is dict else node
                if kind is dict and len(node) > FEW_KEYS:
                    size += sum(map(len, node)) // CHARACTERS
        if size > most:
            break
    return size

"""Which line a field stands on. Holds positions only; the readers of YAML and JSON fill them in."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

#: Levels of lists and mappings in one document. Arbitrary; CustomResourceDefinitions reach about 40.
MAX_DEPTH = 200
#: What a broken document says at most. Arbitrary; nobody reads more at once.
MAX_PROBLEMS = 100

#: The lines of a container's entries, in their order. An array: smaller than a mapping, and nothing for
#: the garbage collector to look at.
EntryLines: TypeAlias = "array[int]"


def new_lines(lines: Iterable[int] = ()) -> EntryLines:
    """Return an array for the lines of a container's entries."""
    return array("L", lines)


class Repeat(NamedTuple):
    """A key that a mapping has already.

    Attributes:
        mapping: The mapping itself, by identity.
        key: The key.
        earlier: The line where the key stands before.
        line: The line where it stands again, and counts.
    """

    mapping: dict[str, Any]
    key: str
    earlier: int
    line: int


@dataclass(slots=True)
class LineMap:
    """A document's value and the lines of its fields.

    A mapping's entry has the line of its key, a list's item the line where it starts. Containers are
    known by identity, so an alias leads to the lines of its anchor.

    Attributes:
        root: The document's value, or anything that nests in the same way.
        first_line: The line where the value starts, from 1.
        entries: The lines of a container's entries, by the container's ``id``.
        repeats: The keys that stand twice in their mapping, in the order of the text.
    """

    root: object
    first_line: int
    entries: dict[int, EntryLines] = field(default_factory=dict)
    repeats: Sequence[Repeat] = ()

    def line_of(self, segments: Sequence[str | int]) -> int:
        """Return the line of a field, or of its nearest ancestor that exists.

        >>> value = {"spec": {}}
        >>> LineMap(value, 1, {id(value): new_lines([4])}).line_of(["spec", "rules"])
        4
        """
        line, value = self.first_line, self.root
        for segment in segments:
            if isinstance(value, dict) and segment in value:
                position = list(value).index(segment)
                line, value = self.entries[id(value)][position], value[segment]
            elif isinstance(value, list) and isinstance(segment, int) and 0 <= segment < len(value):
                line, value = self.entries[id(value)][segment], value[segment]
            else:
                break
        return line

    def located_repeats(self) -> Iterator[tuple[tuple[str | int, ...], Repeat]]:
        """Yield the keys that stand twice with the way to them; what an alias shares has its first way."""
        below: dict[int, list[Repeat]] = defaultdict(list)
        for repeat in self.repeats:
            below[id(repeat.mapping)].append(repeat)
        seen: set[int] = set()
        waiting: list[tuple[tuple[str | int, ...], object]] = [((), self.root)]
        while waiting and len(seen) <= len(self.entries):
            way, value = waiting.pop()
            if not isinstance(value, dict | list) or id(value) in seen:
                continue
            seen.add(id(value))
            for repeat in below.get(id(value), ()):
                yield (*way, repeat.key), repeat
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            below_it = [((*way, name), child) for name, child in inner if isinstance(child, dict | list)]
            waiting += reversed(below_it)

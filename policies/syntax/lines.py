"""Which line a field stands on. Holds positions only; the readers of YAML and JSON fill them in."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

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


@dataclass(slots=True)
class LineMap:
    """A document's value and the lines of its fields.

    A mapping's entry has the line of its key, a list's item the line where it starts. Containers are
    known by identity, so an alias leads to the lines of its anchor.

    Attributes:
        root: The document's value, or anything that nests in the same way.
        first_line: The line where the value starts, from 1.
        entries: The lines of a container's entries, by the container's ``id``.
    """

    root: object
    first_line: int
    entries: dict[int, EntryLines] = field(default_factory=dict)

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

"""Change places of a text and leave every other character as it is. Knows lines, not what they mean."""

from __future__ import annotations

import re

_NOTHING_BEHIND = re.compile(r"[ \t]*+(?:(?:,[ \t]*+)?#[^\r\n]*)?")


class CannotEditError(Exception):
    """A place of a text cannot be changed safely.

    Attributes:
        position: Where, in characters.
        problem: Why, as the rest of a sentence.
    """

    def __init__(self, position: int, problem: str) -> None:
        self.position = position
        self.problem = problem
        super().__init__(problem)


class Splicer:
    """Collects changes of a text, whose places all are those of the text as it was.

    Attributes:
        text: The text as it was.
        newline: How its lines end.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        end = text.find("\n")
        self.newline = "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"
        self._splices: list[tuple[int, int, str]] = []

    def put(self, start: int, end: int, new: str) -> None:
        """Put a text in the place of another."""
        self._splices.append((start, end, new.replace("\n", self.newline)))

    def put_lines(self, at: int, lines: list[str]) -> None:
        """Put lines behind the one that ends at a place."""
        self.put(at, at, "".join("\n" + line for line in lines))

    def drop_lines(self, start: int, end: int) -> None:
        """Take away the lines from the one of a place to the one of another."""
        first, last = self.line_start(start), self.line_end(end)
        if first == 0:
            self.put(0, min(len(self.text), last + len(self.newline)), "")
        else:
            # From the end of the line before, so that something may be put behind the last one.
            self.put(self.line_end(first - 1), last, "")

    def result(self) -> str:
        """Return the text with all changes.

        Raises:
            CannotEditError: Two of them overlap.
        """
        parts: list[str] = []
        position = 0
        for start, end, new in sorted(self._splices, key=lambda splice: splice[:2]):
            if start < position:
                raise CannotEditError(start, "two changes touch the same lines")
            parts += (self.text[position:start], new)
            position = end
        return "".join(parts) + self.text[position:]

    def line_start(self, position: int) -> int:
        """Return where the line of a place starts."""
        return self.text.rfind("\n", 0, position) + 1

    def line_end(self, position: int) -> int:
        """Return where the line of a place ends, before its line break."""
        end = self.text.find("\n", position)
        end = len(self.text) if end < 0 else end
        return end - 1 if self.text[end - 1 : end] == "\r" else end

    def column(self, position: int) -> int:
        """Return how many characters are before a place on its line."""
        return position - self.line_start(position)

    def prefix(self, position: int) -> str:
        """Return the white space that the line of a place starts with."""
        start = self.line_start(position)
        line = self.text[start : self.line_end(start)]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def is_first(self, position: int) -> bool:
        """Return whether only white space is before a place on its line."""
        return not self.text[self.line_start(position) : position].strip(" \t")

    def free_line_end(self, position: int) -> int:
        """Return where the line of a place ends, behind which nothing but a comment may be.

        Raises:
            CannotEditError: Something else is there.
        """
        end = self.line_end(position)
        if not _NOTHING_BEHIND.fullmatch(self.text, position, end):
            raise CannotEditError(position, "something else is on the same line")
        return end

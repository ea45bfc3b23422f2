"""The containers of a YAML document while they are being filled."""

from __future__ import annotations

from typing import Any

from policies.manifests import scalars
from policies.manifests.lines import EntryLines, Repeat, new_lines

_CONTAINER_AS_KEY = (
    "a list or a mapping stands where a key belongs; "
    "if this is a template, render it first (helm template, kustomize build)"
)


class Frame:
    """A container with what is known of its entries so far.

    Attributes:
        value: The container itself.
        size: How many values stand in it, itself included, aliases written out.
        height: How many levels it has, itself included, aliases written out.
        finished: Whether its end has been read.
        expects_key: Whether the next value is a mapping's key.
    """

    __slots__ = ("expects_key", "finished", "height", "size", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.size = 1
        self.height = 1
        self.finished = False
        self.expects_key = False

    def add(self, value: object, line: int) -> None:
        """Take the next value of the stream, which starts on ``line``."""
        raise NotImplementedError

    def expect_merge(self, line: int) -> None:
        """Take ``<<`` as the next key."""
        raise NotImplementedError

    def contain(self, inner: Frame) -> None:
        """Count what stands in a finished container that was added before."""
        self.size += inner.size
        self.height = max(self.height, inner.height + 1)


class RootFrame(Frame):
    """The document itself, which holds one value."""

    __slots__ = ("line",)

    def __init__(self, *, line: int) -> None:
        super().__init__(None)
        self.line = line

    def add(self, value: object, line: int) -> None:
        """Take the document's value."""
        self.value, self.line = value, line


class SequenceFrame(Frame):
    """A list."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        super().__init__([])
        self.lines = new_lines()

    def add(self, value: object, line: int) -> None:
        """Take the next item."""
        self.value.append(value)
        self.lines.append(line)
        self.size += 1


class MappingFrame(Frame):
    """A mapping, which takes a key and a value in turn. Of a key that repeats the last value counts."""

    __slots__ = ("_key", "_key_line", "_later", "_merging", "_problems", "_repeats", "lines")

    def __init__(self, problems: list[tuple[int, str]], repeats: list[Repeat]) -> None:
        super().__init__({})
        self.lines = new_lines()
        self.expects_key = True
        self._problems = problems
        self._repeats = repeats
        self._key = ""
        self._key_line = 0
        self._merging = False
        # What comes from the first "<<" or repeated key on: it is put in place at the mapping's end.
        self._later: list[tuple[str | None, object, int]] = []

    def add(self, value: object, line: int) -> None:
        """Take the next key or the value of the last one."""
        if self.expects_key:
            self.expects_key = False
            self._key_line = line
            self._key = value if type(value) is str else self._odd_key(value, line)
            return
        self.expects_key = True
        if self._merging:
            self._merging = False
            self._later.append((None, value, line))
        elif self._later or self._key in self.value:
            self._later.append((self._key, value, self._key_line))
        else:
            self.value[self._key] = value
            self.lines.append(self._key_line)
        self.size += 1

    def expect_merge(self, line: int) -> None:
        """Take ``<<`` as the next key."""
        self.expects_key, self._merging, self._key_line = False, True, line

    def close(self, entries: dict[int, EntryLines]) -> None:
        """Put in place what could not be before: keys that repeat, and what ``<<`` brings.

        As go-yaml v2 does it, all comes in the order of the text: "<<" overrides what stands above it.
        """
        if not self._later:
            return
        lines = dict(zip(self.value, self.lines, strict=True))
        own = dict(lines)
        for key, value, line in self._later:
            if key is None:
                for name, inner, inner_line in self._merged(value, line, entries):
                    self.value[name], lines[name] = inner, inner_line
                continue
            if key in own:
                self._repeats.append(Repeat(self.value, key, own[key], line))
            self.value[key], lines[key], own[key] = value, line, line
        self.lines[:] = new_lines(lines.values())

    def _merged(
        self, value: object, line: int, entries: dict[int, EntryLines]
    ) -> list[tuple[str, object, int]]:
        """Return what a ``<<`` brings; of a list the first mapping that has a key counts: it comes last."""
        found = []
        for source in reversed(value) if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                self._problems.append((line, '"<<" takes a mapping or a list of mappings'))
                break
            lines = entries[id(source)]
            found += [(key, source[key], key_line) for key, key_line in zip(source, lines, strict=True)]
        return found

    def _odd_key(self, value: Any, line: int) -> str:
        """Return the key that stands for one that is no text."""
        if isinstance(value, dict | list):
            self._problems.append((line, _CONTAINER_AS_KEY))
            return ""
        try:
            return scalars.as_key(value)
        except ValueError as error:
            self._problems.append((line, str(error)))
            return ""

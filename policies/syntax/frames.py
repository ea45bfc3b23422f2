"""The containers of a YAML document while they are being filled."""

from __future__ import annotations

from typing import Any

from policies.fields import shown
from policies.syntax import scalars
from policies.syntax.lines import EntryLines, new_lines

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
    """A mapping, which takes a key and a value in turn."""

    __slots__ = ("_key", "_key_line", "_merges", "_merging", "_problems", "lines")

    def __init__(self, problems: list[tuple[int, str]]) -> None:
        super().__init__({})
        self.lines = new_lines()
        self.expects_key = True
        self._problems = problems
        self._key = ""
        self._key_line = 0
        self._merging = False
        self._merges: list[tuple[object, int]] = []

    def add(self, value: object, line: int) -> None:
        """Take the next key or the value of the last one."""
        if self.expects_key:
            self.expects_key = False
            self._key_line = line
            self._key = (
                value if type(value) is str and value not in self.value else self._odd_key(value, line)
            )
            return
        self.expects_key = True
        if self._merging:
            self._merges.append((value, line))
            self._merging = False
        else:
            if self._key in self.value:
                return  # Told already; the first one stays, in step with the lines.
            self.value[self._key] = value
            self.lines.append(self._key_line)
            self.size += 1

    def expect_merge(self, line: int) -> None:
        """Take ``<<`` as the next key."""
        self.expects_key, self._merging, self._key_line = False, True, line

    def merge(self, entries: dict[int, EntryLines]) -> None:
        """Take over what the mapping lacks from the values of ``<<``; the first of several wins."""
        for merged, line in self._merges:
            for source in merged if isinstance(merged, list) else [merged]:
                if not isinstance(source, dict):
                    self._problems.append((line, '"<<" takes a mapping or a list of mappings'))
                    break
                lines = entries[id(source)]
                for (key, value), key_line in zip(source.items(), lines, strict=True):
                    if key not in self.value:
                        self.value[key] = value
                        self.lines.append(key_line)

    def _odd_key(self, value: Any, line: int) -> str:
        """Return the key that stands for one that is no text or that repeats."""
        if isinstance(value, dict | list):
            self._problems.append((line, _CONTAINER_AS_KEY))
            return ""
        try:
            key = scalars.as_key(value)
        except ValueError as error:
            self._problems.append((line, str(error)))
            return ""
        if key in self.value:
            first = self.lines[list(self.value).index(key)]
            problem = f"the key {shown(key)} stands twice, the first time on line {first}"
            self._problems.append((line, problem))
        return key

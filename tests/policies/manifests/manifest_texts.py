"""Strategies for the texts of manifests, written in as many ways as people write them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath

KEYS = st.sampled_from(["a", "spec", "app.kubernetes.io/name", "on", "8080", "x y"])
SCALARS = st.one_of(
    st.sampled_from(["web", "on", "12:30", "a: b", "it's", "#no", "é", "", "a-b", "null", "{x}"]),
    st.integers(-3, 70),
    st.booleans(),
    st.none(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=3)


@dataclass
class _Writer:
    """Writes values as YAML, each block with a layout of its own."""

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    comments: int = 0

    def block(self, value: Any, column: int, lead: str = "") -> None:
        """Write a list or mapping; ``lead`` is what stands before its first entry, on its line."""
        entries = value.items() if isinstance(value, dict) else ((None, item) for item in value)
        for name, inner in entries:
            if not lead:
                self._aside(column)
            before, lead = lead or " " * column, ""
            if name is None:
                self._item(before, inner, column)
            else:
                self._member(before, name, inner, column)

    def _item(self, before: str, inner: Any, column: int) -> None:
        width = self.draw(st.sampled_from([2, 2, 4]))
        dash = "-".ljust(width)
        if isinstance(inner, dict | list) and inner and self.draw(st.booleans()):
            self.block(inner, column + width, before + dash)
        else:
            self._end(before + dash + self.flow(inner))

    def _member(self, before: str, name: str, inner: Any, column: int) -> None:
        key = f"{before}{self.scalar(name)}:"
        if isinstance(inner, dict | list) and inner and self.draw(st.booleans()):
            self._end(key)
            least = 0 if isinstance(inner, list) else 1
            self.block(inner, column + self.draw(st.sampled_from([least, 2, 4])))
        elif inner is None and self.draw(st.booleans()):
            self._end(key)
        else:
            self._end(f"{key} {self.flow(inner)}")

    def flow(self, value: Any) -> str:
        """Return a value in brackets."""
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.scalar(k)}: {self.flow(v)}" for k, v in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(self.flow, value)) + "]"
        return self.scalar(value)

    def scalar(self, value: Any) -> str:
        """Return a scalar, with or without quotes."""
        if isinstance(value, str):
            if value in ("web", "a", "spec", "a-b") and self.draw(st.booleans()):
                return value
            return "'" + value.replace("'", "''") + "'" if self.draw(st.booleans()) else json.dumps(value)
        return json.dumps(value)

    def _end(self, line: str) -> None:
        self.lines.append(line + self.draw(st.sampled_from(["", "", "  ", " # why"])))

    def _aside(self, column: int) -> None:
        """Perhaps write a comment or a blank line."""
        kind = self.draw(st.sampled_from(["", "", "", "blank", "comment"]))
        if kind == "blank":
            self.lines.append("")
        elif kind:
            self.comments += 1
            self.lines.append(" " * column + f"# comment {self.comments}")


@st.composite
def yaml_texts(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """Return a value and one of the texts that mean it."""
    value = draw(DOCUMENTS)
    writer = _Writer(draw)
    writer.block(value, 0)
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    return value, newline.join(writer.lines) + draw(st.sampled_from(["", newline, newline * 2]))


@st.composite
def json_texts(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """Return a value and one of the JSON texts that mean it."""
    value = draw(DOCUMENTS)
    indent = draw(st.sampled_from([None, 1, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":")]))
    return value, json.dumps(value, indent=indent, separators=separators) + draw(st.sampled_from(["", "\n"]))


def paths_of(value: Any, path: FieldPath = FieldPath()) -> list[FieldPath]:  # noqa: B008  # frozen
    """Return the path of everything below a value."""
    if not isinstance(value, dict | list):
        return []
    below = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for name, inner in below:
        where = path.index(name) if isinstance(name, int) else path.child(name)
        found += [where, *paths_of(inner, where)]
    return found


@st.composite
def edits_of(draw: st.DrawFn, value: dict[str, Any], *, deleting: bool) -> list[Edit]:
    """Return edits of fields that do not hold each other: set, added, or taken away."""
    edits: list[Edit] = []
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(paths_of(value)))
        held: Any = _at(value, path)
        new: Any = draw(SCALARS.filter(lambda new: new is not None))
        if isinstance(held, dict):
            path, new = path.child("new/key"), draw(VALUES.filter(lambda new: new is not None))
        elif isinstance(held, list):
            path, new = path.index(len(held)), draw(VALUES.filter(lambda new: new is not None))
        elif held is None:
            new = draw(VALUES.filter(lambda new: new is not None))
        elif deleting and draw(st.booleans()):
            new = None
        if not any(_holds(edit.path, path) or _holds(path, edit.path) for edit in edits):
            edits.append(Edit(path, None, new))
    return edits


def _at(value: Any, path: FieldPath) -> Any:
    for segment in path.segments:
        value = value[segment]
    return value


def _holds(outer: FieldPath, inner: FieldPath) -> bool:
    return inner.segments[: len(outer.segments)] == outer.segments

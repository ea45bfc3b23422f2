"""Answers as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import orjson
import pytest

from policies.manifests.fields import FieldPath
from policies.manifests.wire import INLINE, INTERNAL, OPTIONAL, Count, SentAs, dumps, members, sent

PATH = FieldPath(("a", 0))


class Spot(NamedTuple):
    """A place."""

    left_edge: int
    hidden: Annotated[str, INTERNAL] = "hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """The wire form of another class."""

    long_name: str


@dataclass(frozen=True, slots=True)
class Formed:
    """A class that is sent as another."""

    text: str

    def wire_form(self) -> Plain:
        """Return the form."""
        return Plain(long_name=self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A class with everything."""

    path: Annotated[FieldPath, SentAs("field")] = PATH
    formed: Annotated[Formed | None, INLINE] = None
    spots: tuple[Spot, ...] = ()
    counts: Mapping[str, Count] | None = None
    score: Annotated[Count | None, OPTIONAL] = None
    nothing: str | None = None

    @property
    @sent
    def how_many(self) -> Annotated[int, SentAs("count")]:
        """How many spots there are."""
        return len(self.spots)

    @property
    def unsent(self) -> int:
        """Nobody hears of it."""
        return 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(
            Whole(),
            {"field": "a[0]", "spots": [], "counts": None, "nothing": None, "count": 0},
            id="an optional member and the members of no inline value are absent, others null",
        ),
        pytest.param(
            Whole(formed=Formed("x"), spots=(Spot(1),), score=0, counts=MappingProxyType({"b": 2})),
            {
                "field": "a[0]",
                "longName": "x",
                "spots": [{"leftEdge": 1}],
                "counts": {"b": 2},
                "score": 0,
                "nothing": None,
                "count": 1,
            },
            id="members in the order of the attributes, computed ones last",
        ),
        pytest.param({"plain": [Formed("x")]}, {"plain": [{"longName": "x"}]}, id="within a dict"),
        pytest.param([Spot(1)], [{"leftEdge": 1}], id="a tuple with names is an object"),
        pytest.param(
            Whole(formed=Formed("a\udcff"), counts=MappingProxyType({"\udcfe": 1})),
            {
                "field": "a[0]",
                "longName": "a\\udcff",
                "spots": [],
                "counts": {"\\udcfe": 1},
                "nothing": None,
                "count": 0,
            },
            id="what UTF-8 cannot hold is escaped",
        ),
    ],
)
def test_dumps(value: Any, expected: Any) -> None:
    """The attributes in camelCase, in their order."""
    assert [*expected] == [*orjson.loads(dumps(value))] if isinstance(expected, dict) else True
    assert expected == orjson.loads(dumps(value))


def test_indented() -> None:
    """Indented JSON ends its last line."""
    assert b'{\n  "leftEdge": 1\n}\n' == dumps(Spot(1), indent=True)


@pytest.mark.parametrize("value", [{"a": object()}, [2**64], {1: 2}, ["\udcff", object()]])
def test_no_json(value: Any) -> None:
    """A value without a form in JSON is a TypeError, not a guess."""
    with pytest.raises(TypeError):
        dumps(value)


def test_members() -> None:
    """A class is sent by what it declares, and marks rename members or leave them out."""
    assert ["leftEdge"] == [member.name for member in members(Spot)]
    assert ["field", "formed", "spots", "counts", "score", "nothing", "count"] == [
        member.name for member in members(Whole)
    ]
    with pytest.raises(TypeError):
        members(int)

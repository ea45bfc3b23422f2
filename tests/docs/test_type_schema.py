"""JSON Schemas of types."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from docs.generator.type_schema import attribute_docs, class_schema, standalone_schema, type_schema
from policies.manifests.wire import INLINE, INTERNAL, OPTIONAL, Count, Keywords, SentAs, sent


class Color(StrEnum):
    """A choice."""

    #: None of the others, and None
    #: where it is dark.
    RED = "red"
    BLUE = "blue"  #: Another one.


class Leaf(TypedDict):
    """A part."""

    size: Count  #: How large it is, in ``cm`` and over two lines.


class Tree(Leaf, TypedDict):
    """A whole.

    More of it.
    """

    leaves: list[Leaf]  #: Its parts.
    color: NotRequired[Color | None]  #: Its color.


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch."""

    side_length: int | None  #: How long it is; None if unknown.
    twig: Annotated[int, INTERNAL] = 0  #: Another branch.


@dataclass(frozen=True, slots=True)
class Grown:
    """A value that is sent as a branch."""

    years: int  #: For how long.

    def wire_form(self) -> Branch | None:
        """Return the branch."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bush:
    """A bush."""

    grown: Annotated[Grown, INLINE]  #: What it was.
    height: Annotated[Count | None, OPTIONAL]  #: How high it is.

    @property
    @sent
    def is_high(self) -> Annotated[bool, SentAs("high")]:
        """Whether nobody looks over it."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Egg:
    """An egg."""

    hatches: Nest  #: Where.


@dataclass(frozen=True, slots=True, kw_only=True)
class Nest:
    """A nest."""

    nests: tuple[Nest, ...]  #: Those in it.
    eggs: tuple[Egg, ...]  #: What is in it.


def _refer(kind: type) -> dict[str, Any]:
    return {"$ref": kind.__name__}


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (str, {"type": "string"}),
        (float | None, {"type": ["number", "null"]}),
        (Count | None, {"type": ["integer", "null"], "minimum": 0}),
        (list[str | int], {"type": "array", "items": {"type": ["string", "integer"]}}),
        (tuple[Leaf, ...], {"type": "array", "items": {"$ref": "Leaf"}}),
        (Leaf | None, {"anyOf": [{"$ref": "Leaf"}, {"type": "null"}]}),
        (dict[str, Any], {"type": "object"}),
        (dict[str, Leaf], {"type": "object", "additionalProperties": {"$ref": "Leaf"}}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (Color, {"enum": ["red", "blue"]}),
        (Color | None, {"anyOf": [{"enum": ["red", "blue"]}, {"type": "null"}]}),
        (Annotated[str, Keywords(const="x")], {"type": "string", "const": "x"}),
        (
            Annotated[str, Keywords(const="x")] | None,
            {"anyOf": [{"type": "string", "const": "x"}, {"type": "null"}]},
        ),
        (object, {}),
    ],
)
def test_types(hint: Any, expected: dict[str, Any]) -> None:
    """Each type has one schema."""
    assert expected == type_schema(hint, _refer)


def test_class() -> None:
    """A class is closed, has the fields of what it extends, and descriptions from the docstrings."""
    assert {
        "description": "A whole. More of it.",
        "type": "object",
        "additionalProperties": False,
        "required": ["size", "leaves"],
        "properties": {
            "size": {
                "type": "integer",
                "minimum": 0,
                "description": 'How large it is, in "cm" and over two lines.',
            },
            "leaves": {"type": "array", "items": {"$ref": "Leaf"}, "description": "Its parts."},
            "color": {"anyOf": [{"enum": ["red", "blue"]}, {"type": "null"}], "description": "Its color."},
        },
    } == class_schema(Tree, _refer)


def test_sent_class() -> None:
    """A dataclass has the members that are sent of it."""
    length = {"type": ["integer", "null"], "description": "How long it is; null if unknown."}
    schema = class_schema(Bush, _refer)

    assert ["high"] == schema["required"]
    assert {
        "sideLength": length,
        "height": {"type": "integer", "minimum": 0, "description": "How high it is."},
        "high": {"type": "boolean", "description": "Whether nobody looks over it."},
    } == schema["properties"]
    assert {"$ref": "Branch"} == type_schema(Grown, _refer)["anyOf"][0]


def test_document() -> None:
    """The classes that a document refers to are in it, each once."""
    schema = standalone_schema(Tree, "A tree", "tree.json")

    assert ["Leaf"] == list(schema["$defs"])
    assert "#/$defs/Leaf" == schema["properties"]["leaves"]["items"]["$ref"]


def test_recursive_document() -> None:
    """A class that holds values of its own refers to the document."""
    schema = standalone_schema(Nest, "A nest", "nest.json")

    assert {"$ref": "#"} == schema["properties"]["nests"]["items"]
    assert "#" == schema["$defs"]["Egg"]["properties"]["hatches"]["$ref"]
    assert ["Egg"] == list(schema["$defs"])


def test_members_of_an_enum() -> None:
    """Their comments describe them; None at the beginning of a sentence is no value."""
    assert {
        "RED": "None of the others, and null where it is dark.",
        "BLUE": "Another one.",
    } == attribute_docs(Color)


def test_a_field_without_a_description() -> None:
    """It is a mistake that nobody overlooks."""

    class Bare(TypedDict):
        """A class."""

        size: int

    with pytest.raises(KeyError):
        class_schema(Bare, _refer)

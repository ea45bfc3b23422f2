"""Values of types, checked by their schemas and built: what becomes of them, and everything that is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from docs.generator.type_schema import class_schema
from policies.config.form import MOST_ERRORS, worded_errors
from policies.config.form_validator import MOST_ENTRIES, FormValidator
from policies.manifests.fields import FieldError
from policies.manifests.wire import OPTIONAL, Count, Form, Keywords, Received, dumps, from_json


class Color(StrEnum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, kw_only=True)
class Leaf(Received):
    """A part."""

    leaf_name: Annotated[str, Keywords(minLength=1)]  #: Its name.
    size: Annotated[int, Keywords(minimum=1, maximum=9)] = 1  #: Its size.


@dataclass(frozen=True, kw_only=True)
class Stem(Received):
    """Another part."""

    stem_name: str  #: Its name.
    metadata: object = None  #: Anything.


@dataclass(frozen=True, kw_only=True)
class Tree(Received):
    """A whole."""

    pod: Annotated[dict[str, Any], Keywords(minProperties=1)]  #: An object.
    color: Color | None = None  #: A choice.
    leaves: Annotated[list[Leaf], Keywords(maxItems=3)] | None = None  #: Parts.
    top: Annotated[Leaf | None, OPTIONAL] = None  #: A part.
    #: One of two parts.
    either: Annotated[dict[str, Any], Form(Leaf | Stem)] | None = None
    counts: dict[str, Count] | None = None  #: Numbers.
    word: Annotated[str, Keywords(pattern="^a+$", title="a's")] | None = None  #: A text.
    nodes: Literal["adaptive"] | Annotated[int, Keywords(minimum=1)] | None = None  #: A number or a word.
    share: float | None = None  #: A fraction.
    flag: bool | None = None  #: Whether.
    pods: list[dict[str, Any]] | None = None  #: Objects.


POD: dict[str, Any] = {"kind": "Pod"}
VALIDATOR = Draft202012Validator(class_schema(Tree))
OWN_VALIDATOR = FormValidator(class_schema(Tree))


def _form_errors(value: object) -> list[FieldError]:
    return worded_errors(OWN_VALIDATOR, value)


def _read(**fields: Any) -> tuple[Tree | None, list[str]]:
    value = {"pod": POD, **fields}
    errors = [str(error) for error in _form_errors(value)]
    return None if errors else from_json(Tree, value), errors


def test_everything() -> None:
    """Attributes are read by their names in camelCase, and are sent by these again."""
    fields = {
        "color": "red",
        "leaves": [{"leafName": "a", "size": 9}, {"leafName": "b"}],
        "top": {"leafName": "c"},
        "either": {"stemName": "d", "metadata": [1]},
        "counts": {"x": 0},
        "word": "aa",
        "nodes": "adaptive",
        "share": 1,
        "flag": True,
        "pods": [{"a": 1}],
    }
    tree, errors = _read(**fields)

    assert [] == errors
    assert tree == Tree(
        pod=POD,
        color=Color.RED,
        leaves=[Leaf(leaf_name="a", size=9), Leaf(leaf_name="b")],
        top=Leaf(leaf_name="c"),
        either={"stemName": "d", "metadata": [1]},
        counts={"x": 0},
        word="aa",
        nodes="adaptive",
        share=1,
        flag=True,
        pods=[{"a": 1}],
    )
    assert (tree, []) == _read(**orjson.loads(dumps(tree)))


def test_what_is_left_out() -> None:
    """A field with a default may be left out, or null if it may be None; one of None is not sent."""
    tree, errors = _read(color=None, nodes=None, pods=[{}])

    assert ([], Tree(pod=POD, pods=[{}])) == (errors, tree)
    assert {"pod": POD, "pods": [{}]} == orjson.loads(dumps(tree))


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        pytest.param(
            {"pod": None}, ["pod: Invalid value: null: must be an object"], id="null for what must be there"
        ),
        pytest.param({"pod": {}}, ["pod: Required value: must not be empty"], id="an empty object"),
        pytest.param({"pod": 3}, ["pod: Invalid value: 3: must be an object"], id="no object"),
        pytest.param(
            {"colour": "red"}, ['colour: unknown field "colour", did you mean "color"?'], id="a slip"
        ),
        pytest.param(
            {"color": "green"},
            ['color: Unsupported value: "green": supported values: "red", "blue"'],
            id="no choice",
        ),
        pytest.param({"color": 3}, ['color: Invalid value: 3: must be "red" or "blue"'], id="a number"),
        pytest.param(
            {"leaves": [3, {}, {"leafName": "", "size": 10}]},
            [
                "leaves[0]: Invalid value: 3: must be an object",
                "leaves[1].leafName: Required value",
                "leaves[2].leafName: Required value: must not be empty",
                "leaves[2].size: Invalid value: 10: must be less than or equal to 9",
            ],
            id="in a list",
        ),
        pytest.param(
            {"leaves": [3] * 4},
            ["leaves: Too many: 4: must have at most 3 entries"],
            id="too many are not looked at",
        ),
        pytest.param({"top": None}, ["top: Invalid value: null: must be an object"], id="null for an object"),
        pytest.param(
            {"either": {"stemName": 1}}, ["either.stemName: Invalid value: 1: must be a string"], id="a class"
        ),
        pytest.param({"either": 1}, ["either: Invalid value: 1: must be an object"], id="neither class"),
        pytest.param(
            {"counts": {"a.b": -1, "c": True}},
            [
                "counts[a.b]: Invalid value: -1: must be greater than or equal to 0",
                "counts[c]: Invalid value: true: must be an integer",
            ],
            id="keys of a mapping",
        ),
        pytest.param({"word": "b"}, ['word: Invalid value: "b": must be a\'s'], id="another text"),
        pytest.param(
            {"nodes": 1.0}, ['nodes: Invalid value: 1.0: must be "adaptive" or an integer'], id="1.0"
        ),
        pytest.param(
            {"nodes": 0}, ["nodes: Invalid value: 0: must be greater than or equal to 1"], id="too small"
        ),
        pytest.param(
            {"nodes": 1.5}, ['nodes: Invalid value: 1.5: must be "adaptive" or an integer'], id="neither type"
        ),
        pytest.param({"share": "1"}, ['share: Invalid value: "1": must be a number'], id="no number"),
        pytest.param(
            {"counts": {"a": "b"}, "colr": "red"},
            [
                'colr: unknown field "colr", did you mean "color"?',
                'counts[a]: Invalid value: "b": must be an integer',
            ],
            id="a slip, and an entry of a mapping",
        ),
        pytest.param({"pods": [{}, None]}, ["pods[1]: Invalid value: null: must be an object"], id="null"),
        pytest.param({"pods": [3]}, ["pods[0]: Invalid value: 3: must be an object"], id="no objects"),
    ],
)
def test_errors(fields: dict[str, Any], errors: list[str]) -> None:
    """Each error is at its path; one that follows from another is not told."""
    assert errors == _read(**fields)[1]


def test_everything_wrong() -> None:
    """All errors are found at once."""
    wrong = dict.fromkeys(("pod", "color", "leaves", "counts", "word", "nodes", "share", "flag"), ())

    assert 8 == len(_read(**{name: [] if name != "leaves" else {} for name in wrong})[1])


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.sampled_from(["", "a", "red", "adaptive", 0.5]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["leafName", "stemName", "size", "metadata", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*class_schema(Tree)["properties"], "x"]), _JSON, max_size=5))
def test_published_schema_decides(document: dict[str, Any]) -> None:
    """A value has errors where the published schema has, and what is built of another is sent as it was."""
    errors = _form_errors(document)

    assert VALIDATOR.is_valid(document) == (not errors)
    if not errors:
        tree = from_json(Tree, document)
        sent = orjson.loads(dumps(tree))
        assert {name: value for name, value in document.items() if value is not None}.items() <= sent.items()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("leaves", [3] * 100_000, id="more than the schema allows"),
        pytest.param("pods", [3] * 100_000, id="no objects"),
        pytest.param("counts", dict.fromkeys(map(str, range(100_000)), 1), id="a mapping without a limit"),
        pytest.param("word", "a" * 10**6 + "b", id="a text"),
        pytest.param("nodes", 10**5000, id="more digits than Python writes"),
        pytest.param("color", [[]] * 100_000, id="another type"),
    ],
)
def test_what_is_hostile_is_cheap(name: str, value: object) -> None:
    """What is wrong with a large value is short, and of many mistakes as many are worded as anyone reads."""
    errors = _form_errors({"pod": POD, name: value})

    assert (name == "nodes") == (not errors)
    assert len(errors) <= MOST_ERRORS
    assert all(len(str(error)) < 300 for error in errors)


def test_unknown_fields_are_cut() -> None:
    """A hundred thousand of them are not compared with the known ones."""
    raw = dict.fromkeys(map(str, range(100_000)))

    assert len(_form_errors(raw)) <= MOST_ERRORS


def test_depth_costs_nothing() -> None:
    """Nothing looks into an object of Kubernetes."""
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}

    assert [] == _form_errors({"pod": deep, "pods": [deep]})


def test_a_limit_of_lists_without_one() -> None:
    """Where each entry is looked into there are no more than can be."""
    (error,) = _form_errors({"pod": POD, "counts": dict.fromkeys(map(str, range(MOST_ENTRIES + 1)), 1)})

    assert str(error).endswith("must have at most 10,000 entries")

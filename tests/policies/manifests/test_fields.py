"""Paths and errors of fields, as every message shows them."""

from __future__ import annotations

import pytest

from policies.manifests.fields import (
    MAX_ERRORS,
    SHOWN_VALUE_LENGTH,
    ErrorKind,
    ErrorList,
    FieldError,
    FieldPath,
    did_you_mean,
    field_names,
    is_cut,
    shown,
    type_name,
)

ROOT = FieldPath()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (ROOT, ""),
        (ROOT.child("spec", "replicas"), "spec.replicas"),
        (ROOT.child("items").index(3).child("kind"), "items[3].kind"),
        (ROOT.child("labels").key("example.com/a.b"), "labels[example.com/a.b]"),
        (ROOT.index(0), "[0]"),
        (ROOT.child("a") + ROOT.index(1).child("b"), "a[1].b"),
        (ROOT.child("{topologyKey, whenUnsatisfiable}"), "{topologyKey, whenUnsatisfiable}"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_paths_read_as_kubernetes_prints_them(path: FieldPath, text: str) -> None:
    """Fields are joined by dots, positions and free keys stand in brackets."""
    assert text == str(path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("zone", '"zone"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("é", '"é"'),
        ("a\nb\u0085\x7f\u202e", '"a\\nb\\x85\\x7f\\u202e"'),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ({"a": [1]}, '{"a": [1]}'),
        ([0] * 1000, "a list of 1000 entries"),
        (10**5000, None),
        ("x" * 10_000_000, None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_are_shown_on_one_short_line(value: object, text: str | None) -> None:
    """A user's value is repeated as JSON, printable and cut to one line's length."""
    found = shown(value)

    assert found.isprintable()
    assert len(found) <= SHOWN_VALUE_LENGTH + 4
    assert text is None or text == found


def test_types_have_json_names() -> None:
    """Messages name types as JSON does."""
    values: list[object] = [None, True, 1, 1.5, "x", [], {}, b""]

    assert ["null", "a boolean", "an integer", "a number", "a string", "a list", "an object", "a bytes"] == [
        type_name(value) for value in values
    ]


def test_null_reads_as_empty_and_wrong_types_are_collected() -> None:
    """Reading goes on past every mistake, so that all are told."""
    found = ErrorList()
    path = FieldPath(("x",))

    assert ({}, [], "", {}) == (
        found.mapping(None, path),
        found.items(None, path),
        found.text(None, path),
        found.labels(None, path),
    )
    assert ({}, [], "", {"a": "b"}) == (
        found.mapping([], path),
        found.items({}, path),
        found.text(1, path),
        found.labels({"a": "b", "c": 2}, path),
    )
    assert ["x", "x", "x", "x[c]"] == [str(error.path) for error in found.errors]
    assert {"wrong-type"} == {error.rule for error in found.errors}


def test_objects_of_a_list() -> None:
    """Null is an object without fields; what is no object is told and passed over."""
    found = ErrorList()
    objects = list(found.objects([{"a": 1}, None, 7], FieldPath(("l",))))

    assert [("l[0]", {"a": 1}), ("l[1]", {})] == [(str(path), entry) for path, entry in objects]
    assert ["l[2]: Invalid value: 7: must be an object"] == [str(error) for error in found.errors]


def test_unknown_fields_name_the_known() -> None:
    """An unknown field is an error that lists the known ones, in the API's order."""
    found = ErrorList()
    found.unknown({"b": 1, "c\n": 2}, ROOT, known=field_names("b", "a"))

    assert ['"c\\n": unknown field "c\\n"; the fields are b, a'] == [str(error) for error in found.errors]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("maxSkews", ', did you mean "maxSkew"?', id="a letter too many"),
        pytest.param("TOPOLOGYKEY", ', did you mean "topologyKey"?', id="another case"),
        pytest.param("foo", "", id="something else"),
        pytest.param("maxSkew" * 10, "", id="too long to be a typing mistake"),
    ],
)
def test_suggestions(name: str, expected: str) -> None:
    """A typing mistake gets the field that was probably meant."""
    assert expected == did_you_mean(name, ["maxSkew", "topologyKey"])


def test_errors_are_bounded_by_rule() -> None:
    """Of each rule a number of errors is collected and the rest counted; what is right is read on."""
    found = ErrorList()
    read = sum(1 for _ in found.objects([7] * 10_000 + [{"b": 1}], ROOT))
    found.unknown({"b": 1}, ROOT, known=field_names("a"))

    assert (1, MAX_ERRORS + 1, MAX_ERRORS + 1) == (read, len(found.errors), found.count)
    assert ["wrong-type", "unknown-field"] == list(found.counts)
    assert found.full
    assert (True, False) == (is_cut(found.errors), is_cut(found.errors[1:]))


def test_an_error_without_a_path_is_its_problem() -> None:
    """An error of the whole document has nothing before it."""
    assert "must be an object" == str(FieldError(ROOT, "must be an object", ErrorKind.INVALID, "wrong-type"))

"""The errors of what a schema does not allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from policies.config.schema import validator
from policies.config.schema_errors import schema_errors
from policies.config.spread_policy import SpreadPolicy
from tests.builders import a_policy


@pytest.mark.parametrize(
    ("spec", "path", "rule"),
    [
        ({"enforcement": "enforce"}, "spec.enforcement", "value-invalid"),
        ({"enforcement": 1}, "spec.enforcement", "wrong-type"),
        ({"scope": []}, "spec.scope", "wrong-type"),
        ({"scope": {"excludeNamespace": []}}, "spec.scope.excludeNamespace", "unknown-field"),
        ({"rules": {"a": {"x.y": 1}}}, "spec.rules.a.x.y", "unknown-field"),
    ],
)
def test_errors_point_at_the_field(spec: dict[str, Any], path: str, rule: str) -> None:
    """An error has the path of its field, and the rule that it breaks."""
    errors = schema_errors(validator(SpreadPolicy), a_policy(**spec))

    assert [(path, rule)] == [(str(error.path), error.rule) for error in errors]


def test_texts(golden: Callable[[str, str], str]) -> None:
    """Every keyword has a text, also one that the schema does not use yet."""
    values: list[tuple[dict[str, Any], object]] = [
        ({"minimum": 1}, 0),
        ({"maximum": 1}, 2),
        ({"minLength": 1}, ""),
        ({"maxLength": 3}, "abcd"),
        ({"const": "a"}, "b"),
        ({"enum": ["a", "b"]}, "c"),
        ({"enum": ["a", "b"]}, 1),
        ({"type": "object"}, []),
        ({"required": ["a"]}, {}),
        ({"properties": {"deny": {}}, "additionalProperties": False}, {"Deny": 1, "x y": 2}),
        ({"not": {}}, 1),
    ]
    texts = [
        str(error)
        for schema, value in values
        for error in schema_errors(jsonschema.Draft202012Validator(schema), value)
    ]
    actual = "".join(f"{text}\n" for text in texts)

    assert golden("schema_errors.txt", actual) == actual


def test_all_missing_fields() -> None:
    """Each missing field is an error of its own."""
    schema = {"required": ["a", "b"]}

    assert ["a", "b"] == [
        str(error.path) for error in schema_errors(jsonschema.Draft202012Validator(schema), {})
    ]

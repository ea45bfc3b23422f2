"""The sentences for what a schema does not allow."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from policies.config.schema import validator
from policies.config.schema_errors import schema_errors
from tests.builders import a_policy


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"enforcement": "enforce"},
            'spec.enforcement: must be one of "deny", "warn", "audit", got "enforce"',
        ),
        (
            {"enforcement": 1},
            'spec.enforcement: must be a string, one of "deny", "warn", "audit", got an integer 1',
        ),
        ({"scope": []}, "spec.scope: must be an object, got a list"),
        (
            {"scope": {"excludeNamespace": []}},
            "spec.scope.excludeNamespace: is no field here; did you mean excludeNamespaces?",
        ),
        ({"EnForcement": "deny"}, "spec.EnForcement: is no field here; did you mean enforcement?"),
        (
            {"xyz": 1},
            (
                "spec.xyz: is no field here; the fields are "
                "scope, enforcement, annotationExemptions, exceptions, defaults, rules, topology"
            ),
        ),
        (
            {"rules": {"a": {"x.y": 1}}},
            (
                "spec.rules.a[x.y]: is no field here; the fields are "
                "severity, enforcement, annotationExemptions, params"
            ),
        ),
    ],
)
def test_sentences(spec: dict[str, Any], expected: str) -> None:
    """A sentence says what was found and what is allowed."""
    assert [expected] == [str(error) for error in schema_errors(validator(), a_policy(**spec))]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"minimum": 1}, 0, "must be at least 1, got 0"),
        ({"maximum": 1}, 2, "must be at most 1, got 2"),
        ({"minLength": 1}, "", "must not be empty"),
        ({"maxLength": 3}, "abcd", "must be at most 3 characters long, got 4"),
        ({"const": "a"}, "b", 'must be "a", got "b"'),
        ({"not": {}}, 1, "is not allowed, got 1"),
    ],
)
def test_keywords(schema: dict[str, Any], value: object, expected: str) -> None:
    """Every keyword has a sentence, also one that the schema does not use yet."""
    errors = schema_errors(jsonschema.Draft202012Validator(schema), value)

    assert [expected] == [error.problem for error in errors]


def test_all_missing_fields() -> None:
    """Each missing field is an error of its own."""
    schema = {"required": ["a", "b"]}

    assert ["a", "b"] == [
        str(error.path) for error in schema_errors(jsonschema.Draft202012Validator(schema), {})
    ]

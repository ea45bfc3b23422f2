"""The JSON Schema that is generated from the types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from docs.generator.published import document_schemas
from policies.config.spread_policy import SpreadPolicyDocument

BUILT = document_schemas()[SpreadPolicyDocument]


def nodes(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every property's schema with its path."""
    if isinstance(value, dict):
        for name, inner in value.get("properties", {}).items():
            yield f"{path}.{name}", inner
            yield from nodes(inner, f"{path}.{name}")
        for keyword in ("items", "additionalProperties"):
            yield from nodes(value.get(keyword), f"{path}[]")


PROPERTIES = dict(nodes(BUILT))


def test_valid_against_the_metaschema() -> None:
    """The schema is one of draft 2020-12."""
    jsonschema.Draft202012Validator.check_schema(BUILT)

    assert BUILT["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]


@pytest.mark.parametrize("path", PROPERTIES)
def test_every_property_is_described(path: str) -> None:
    """An editor has something to say about every field."""
    assert PROPERTIES[path]["description"].endswith(".")


@pytest.mark.parametrize(
    ("path", "keyword", "expected"),
    [
        (".spec.enforcement", "enum", ["deny", "warn", "audit"]),
        (".spec.enforcement", "default", "deny"),
        (".spec.defaults.at", "enum", ["pods", "workloads", "both"]),
        (".spec.defaults.at", "default", "pods"),
        (".spec.defaults.source", "default", "policy"),
        (".spec.defaults.constraints[].maxSkew", "minimum", 1),
        (".spec.defaults.constraints[].minDomains", "default", 1),
        (".spec.defaults.constraints[].nodeTaintsPolicy", "enum", ["Honor", "Ignore"]),
        (".spec.rules[].severity", "enum", ["error", "warning", "note"]),
        (".apiVersion", "const", "evenkeel.dev/v1alpha1"),
    ],
)
def test_keywords(path: str, keyword: str, expected: object) -> None:
    """Enums, defaults and bounds come from the types."""
    assert expected == PROPERTIES[path][keyword]


def test_own_objects_are_closed() -> None:
    """An object of ours takes no other fields; a rule's params take anything."""
    closed = {path for path, node in PROPERTIES.items() if node.get("additionalProperties") is False}

    assert {".metadata", ".spec", ".spec.scope", ".spec.defaults", ".spec.topology"} <= closed
    assert "additionalProperties" not in PROPERTIES[".spec.rules[].params"]


def test_deduced_fields_are_no_properties() -> None:
    """A default constraint has neither labelSelector nor matchLabelKeys."""
    names = {path.rpartition(".")[2] for path in PROPERTIES if ".constraints[]" in path}

    assert {
        "maxSkew",
        "topologyKey",
        "whenUnsatisfiable",
        "minDomains",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
    } == names

"""The definition is a structural schema, and takes what the JSON Schema takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from docs.generator.crd import CEL, build_crd
from docs.generator.type_schema import class_schema
from policies.config.loader import builtin_names
from policies.config.spread_policy import SpreadPolicy, policy_document
from tests.builders import a_policy
from tests.policies.config.documents import HARD, SOFT, builtin_policy, policy_of

(VERSION,) = build_crd()["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
#: Every keyword of a JSONSchemaProps that is used here.
KNOWN = {
    "type", "description", "properties", "items", "additionalProperties", "required", "enum", "default",
    "format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys", "x-kubernetes-preserve-unknown-fields", CEL,
}  # fmt: skip


def schemas(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each schema of the definition with its path."""
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from schemas(field, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from schemas(schema[name], f"{path}.{name}")


@pytest.mark.parametrize(("path", "schema"), [*schemas(SCHEMA)])
def test_it_is_structural(path: str, schema: dict[str, Any]) -> None:
    """Each part has one type and only keywords that an API server takes."""
    assert schema.keys() <= KNOWN
    assert schema["type"] in {"object", "array", "string", "integer"}
    assert not {"properties", "additionalProperties"} <= schema.keys()
    assert "(?" not in schema.get("pattern", "")
    if "pattern" in schema:
        re.compile(schema["pattern"])


def test_it_has_every_field_of_the_document() -> None:
    """A field that the document has and the definition lacks would be dropped without a word."""

    def names(schema: Any) -> Any:
        return {name: names(field) for name, field in schema.get("properties", {}).items()} | {
            part: names(schema[part])
            for part in ("items", "additionalProperties")
            if isinstance(schema.get(part), dict)
        }

    assert names(class_schema(SpreadPolicy)) == names(SCHEMA["properties"]["spec"])


@pytest.mark.parametrize("name", builtin_names())
def test_built_in_policies_fit(name: str) -> None:
    """A built-in policy is valid as an object of a cluster."""
    jsonschema.validate(policy_document(builtin_policy(name)), SCHEMA)


@pytest.mark.parametrize(
    "spec",
    [
        {"enforcement": "x"},
        {"defaults": {"constraints": [SOFT | {"maxSkew": 0}]}},
        {"scope": {"namespaces": ["UPPER"]}},
        {"exceptions": [{"rules": [], "reason": "x"}]},
    ],
)
def test_it_rejects(spec: dict[str, Any]) -> None:
    """Mistakes that the shape shows are rejected without Evenkeel."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(a_policy(**spec), SCHEMA)


def test_no_default_contradicts_another_field() -> None:
    """Defaults that the API server fills in leave a policy without errors."""
    constraint = SCHEMA["properties"]["spec"]["properties"]["defaults"]["properties"]["constraints"]["items"]

    assert not [path for path, schema in schemas(constraint) if "default" in schema]
    assert {} == SCHEMA["properties"]["spec"]["default"]
    assert 2 == len(policy_of(defaults={"constraints": [SOFT, HARD]}).defaults.constraints)  # type: ignore[union-attr]


def test_columns_show_fields() -> None:
    """A column of a field that there is not would stay empty."""
    for column in VERSION["additionalPrinterColumns"]:
        way = [part for part in re.split(r"\.|\[\?.*?\]", column["jsonPath"]) if part]
        schema = SCHEMA if way[0] != "metadata" else {"properties": {"metadata": {}}}
        for name in way[:1] if way[0] == "metadata" else way:
            schema = schema.get("items", schema)["properties"][name]
        assert schema is not None

"""The JSON Schemas of the documents, generated from their types.

Property names are the attributes' in camelCase, descriptions are the ``Attributes`` section of the class,
defaults are the attributes' own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from datetime import date
from functools import lru_cache
from importlib import resources
from math import isfinite
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    NotRequired,
    TypedDict,
    get_args,
    get_origin,
    get_type_hints,
)

import orjson

from policies.config import instance_types, lint_config, node_groups
from policies.config.instance_types import (
    MOST_OFFERINGS,
    MOST_TYPES,
    InstanceTypeEntry,
    InstanceTypes,
    OfferingEntry,
)
from policies.config.lint_config import LintConfig
from policies.config.node_groups import (
    MOST_GROUPS,
    MOST_NODES_OF_GROUP,
    GroupEntry,
    GroupPriority,
    GroupTaint,
    NodeGroups,
    ScaleDownSettings,
)
from policies.config.spread_policy import API_VERSION, KIND, PolicyException, SpreadPolicy
from policies.config.type_schema import (
    DIALECT,
    Keywords,
    Schema,
    attribute_docs,
    class_schema,
    summary,
    type_schema,
)
from policies.manifests.wire import document_name
from policies.model.constraint import Constraint
from policies.model.labels import NAME_LENGTH, SUBDOMAIN_LENGTH, LabelSelector, Operator
from policies.model.validation import INT32_MAX

if TYPE_CHECKING:
    import jsonschema

#: The checked-in schema of a SpreadPolicy, in this package.
SCHEMA_FILE = "spreadpolicy.schema.json"
#: The kind of each document, and the file with its schema.
_DOCUMENTS: Final[Mapping[type, tuple[str, str]]] = {
    SpreadPolicy: (KIND, SCHEMA_FILE),
    LintConfig: (lint_config.KIND, "lintconfig.schema.json"),
    NodeGroups: (node_groups.KIND, "nodegroups.schema.json"),
    InstanceTypes: (instance_types.KIND, "instancetypes.schema.json"),
}

#: A DNS label.
_LABEL = "[a-z0-9]+(-+[a-z0-9]+)*"
#: Schemas of texts that mean something, by the name that a field's metadata uses.
#: Every pattern reads a text once, whatever it holds, and ends at the text's real end (``$`` alone would
#: let a line break pass).
_TEXTS: dict[str, dict[str, Any]] = {
    "namespace": {
        "title": "namespace",
        "type": "string",
        "pattern": r"^[a-z0-9*]+(-+[a-z0-9*]+)*$(?!\n)",
        "maxLength": 63,
    },
    "kind": {"title": "kind", "type": "string", "pattern": r"^[A-Z][A-Za-z0-9]*$(?!\n)", "maxLength": 63},
    "rule": {
        "title": "rule",
        "type": "string",
        "pattern": r"^[a-z0-9]+(-[a-z0-9]+)*$(?!\n)",
        "maxLength": 63,
    },
    "names": {
        "title": "names",
        "type": "string",
        "pattern": r"^[a-z0-9*]+([-.]+[a-z0-9*]+)*$(?!\n)",
        "maxLength": SUBDOMAIN_LENGTH,
    },
    "date": {
        "title": "date",
        "type": "string",
        "format": "date",
        "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$(?!\n)",
    },
    "name": {
        "title": "name",
        "type": "string",
        "pattern": rf"^{_LABEL}(\.{_LABEL})*$(?!\n)",
        "maxLength": SUBDOMAIN_LENGTH,
    },
}


class LabelExpression(TypedDict):
    """A condition on a label.

    Attributes:
        key: The label's key.
        operator: How the label is compared.
        values: Required with In and NotIn, left out with the others.
    """

    key: str
    operator: Operator
    values: NotRequired[list[str]]


class SelectorDocument(TypedDict):
    """Selects objects by their labels.

    Attributes:
        matchLabels: Labels that must be there with these values.
        matchExpressions: Conditions that must all hold.
    """

    matchLabels: NotRequired[dict[str, str]]
    matchExpressions: NotRequired[list[LabelExpression]]


class DocumentMetadata(TypedDict):
    """The policy's name, and what other tools and the API server write beside it.

    Attributes:
        name: The policy's name: a DNS subdomain.
        labels: Not used by Evenkeel.
        annotations: Not used by Evenkeel.
        uid: Written by the API server.
        generation: Written by the API server.
        resourceVersion: Written by the API server.
        creationTimestamp: Written by the API server.
        deletionTimestamp: Written by the API server.
        deletionGracePeriodSeconds: Written by the API server.
        managedFields: Written by the API server.
        selfLink: Written by the API server before Kubernetes 1.20.
        ownerReferences: Not used by Evenkeel.
        finalizers: Not used by Evenkeel.
    """

    name: Annotated[str, Keywords(**_TEXTS["name"])]
    labels: NotRequired[dict[str, str]]
    annotations: NotRequired[dict[str, str]]
    uid: NotRequired[str]
    generation: NotRequired[int]
    resourceVersion: NotRequired[str]
    creationTimestamp: NotRequired[str | None]
    deletionTimestamp: NotRequired[str | None]
    deletionGracePeriodSeconds: NotRequired[int | None]
    managedFields: NotRequired[list[Any] | None]
    selfLink: NotRequired[str]
    ownerReferences: NotRequired[list[Any] | None]
    finalizers: NotRequired[list[str] | None]


#: Attributes that the document does not have: selectors of default constraints are deduced.
_LEFT_OUT = {Constraint: {"selector", "match_label_keys"}, SpreadPolicy: {"name"}}
#: Keywords that the types of a default constraint do not have.
_KEYWORDS: dict[tuple[type, str], dict[str, Any]] = {
    (Constraint, "max_skew"): {"minimum": 1, "maximum": INT32_MAX, "examples": [1]},
    (Constraint, "min_domains"): {"minimum": 1, "maximum": INT32_MAX},
    (Constraint, "topology_key"): {
        "minLength": 1,
        "examples": ["topology.kubernetes.io/zone", "kubernetes.io/hostname"],
    },
    (PolicyException, "rules"): {"minItems": 1},
    (NodeGroups, "groups"): {"minItems": 1, "maxItems": MOST_GROUPS},
    (NodeGroups, "expanders"): {"minItems": 1, "maxItems": 5},
    (NodeGroups, "max_nodes_total"): {"minimum": 0, "maximum": INT32_MAX},
    (GroupEntry, "name"): {"minLength": 1, "maxLength": SUBDOMAIN_LENGTH},
    (ScaleDownSettings, "utilization_threshold"): {"minimum": 0, "maximum": 1},
    (ScaleDownSettings, "max_parallelism"): {"minimum": 1, "maximum": MOST_NODES_OF_GROUP},
    (ScaleDownSettings, "max_drain_parallelism"): {"minimum": 0, "maximum": MOST_NODES_OF_GROUP},
    (GroupEntry, "min_size"): {"minimum": 0, "maximum": MOST_NODES_OF_GROUP},
    (GroupEntry, "max_size"): {"minimum": 0, "maximum": MOST_NODES_OF_GROUP},
    (GroupEntry, "size"): {"minimum": 0, "maximum": MOST_NODES_OF_GROUP},
    (GroupTaint, "key"): {"minLength": 1},
    (GroupPriority, "names"): {"minItems": 1},
    (InstanceTypes, "instance_types"): {"minItems": 1, "maxItems": MOST_TYPES},
    (InstanceTypeEntry, "name"): {"minLength": 1, "maxLength": NAME_LENGTH},
    (InstanceTypeEntry, "offerings"): {"minItems": 1, "maxItems": MOST_OFFERINGS},
    (OfferingEntry, "zones"): {"maxItems": MOST_OFFERINGS},
    (OfferingEntry, "capacity_type"): {"enum": ["on-demand", "spot", "reserved"]},
    (OfferingEntry, "price"): {"minimum": 0},
    (PolicyException, "reason"): {"minLength": 1, "maxLength": 1000, "examples": ["moved by the end of May"]},
}


def document_schema(kind: type) -> Schema:
    """Return the schema of a document: a SpreadPolicy has a name and a spec, the others neither.

    Args:
        kind: The type of the document: SpreadPolicy, LintConfig, NodeGroups or InstanceTypes.
    """
    title, file = _DOCUMENTS[kind]
    fields_of = _object(kind)
    required, properties = fields_of.get("required", []), fields_of["properties"]
    if kind is SpreadPolicy:
        required = ["metadata"]
        status = {"description": "Written by Evenkeel in a cluster; ignored in files.", "type": "object"}
        properties = {"metadata": class_schema(DocumentMetadata), "spec": fields_of, "status": status}
    return {
        "$schema": DIALECT,
        "$id": f"https://evenkeel.dev/schemas/v1alpha1/{file}",
        "title": title,
        "description": fields_of["description"],
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind", *required],
        "properties": {
            "apiVersion": {"description": "The version of the document.", "const": API_VERSION},
            "kind": {"description": "The kind of the document.", "const": title},
            **properties,
        },
    }


def spec_schema() -> dict[str, Any]:
    """Return the schema of the spec of a SpreadPolicy."""
    return _object(SpreadPolicy)


def schema_texts() -> dict[str, str]:
    """Return each schema as the checked-in file of its name has it."""
    return {file: schema_text(document_schema(kind)) for kind, (_, file) in _DOCUMENTS.items()}


def schema_text(schema: Schema) -> str:
    """Return a schema as a checked-in file has it."""
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def checked_in_text(file: str = SCHEMA_FILE) -> str:
    """Return a checked-in schema."""
    return resources.files(__package__).joinpath(file).read_text(encoding="utf-8")


@lru_cache
def validator(kind: type) -> jsonschema.Draft202012Validator:
    """Return the validator of a kind of document, made once."""
    # A sixth of a short run, which only one that checks a document pays for.
    import jsonschema  # noqa: PLC0415

    checker = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("number", _is_number)
    extend: Any = jsonschema.validators.extend
    made: jsonschema.Draft202012Validator = extend(jsonschema.Draft202012Validator, type_checker=checker)(
        document_schema(kind)
    )
    return made


def _is_number(_checker: object, value: object) -> bool:
    """Return whether a value is a number as JSON has it: YAML has such as are none."""
    return type(value) is int or (isinstance(value, float) and isfinite(value))


def _object(kind: type) -> dict[str, Any]:
    hints, docs = get_type_hints(kind), attribute_docs(kind)
    shown = [
        entry
        for entry in fields(kind)
        if not entry.name.startswith("_") and entry.name not in _LEFT_OUT.get(kind, ())
    ]
    schema: dict[str, Any] = {"description": summary(kind), "type": "object", "additionalProperties": False}
    required = [document_name(entry.name) for entry in shown if _is_required(entry)]
    if required:
        schema["required"] = required
    schema["properties"] = {
        document_name(entry.name): _property(kind, entry, hints[entry.name], docs[entry.name])
        for entry in shown
    }
    return schema


def _is_required(entry: Field[Any]) -> bool:
    return entry.default is MISSING and entry.default_factory is MISSING


def _property(kind: type, entry: Field[Any], hint: Any, doc: str) -> dict[str, Any]:
    schema = _value(hint, entry.metadata)
    if entry.default not in (MISSING, None, ()):
        schema["default"] = entry.default
    if "examples" in entry.metadata:
        schema["examples"] = entry.metadata["examples"]
    return schema | _KEYWORDS.get((kind, entry.name), {}) | {"description": doc}


def _value(hint: Any, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a type that the document uses."""
    if get_origin(hint) is UnionType:
        hint = next(part for part in get_args(hint) if part is not NoneType)
    if hint is LabelSelector:
        return class_schema(SelectorDocument)
    if hint is date:
        return dict(_TEXTS["date"])
    if "items" in metadata:
        return {"type": "array", "items": _TEXTS[metadata["items"]]}
    names = {"propertyNames": _TEXTS[metadata["keys"]]} if "keys" in metadata else {}
    return names | type_schema(hint, _object)

"""The CustomResourceDefinition of SpreadPolicy, from the types that its JSON Schema comes from.

A structural schema has fewer keywords than a JSON Schema. What is left of the difference is in CEL rules, as
far as the API server can bound their cost; what those cannot say either, Evenkeel's webhook checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from docs.generator.type_schema import Schema, class_schema, summary
from policies.config.policy_resource import PolicyStatus
from policies.config.spread_policy import API_VERSION, CRD_NAME, GROUP, KIND, PLURAL, SpreadPolicy

#: How people abbreviate the resource.
SHORT_NAME: Final = "spol"

#: The keyword of CEL rules; API servers know it since 1.25.
CEL: Final = "x-kubernetes-validations"
#: Ends a pattern at the text's real end; in Go ``$`` does that itself, and knows no lookahead.
_TEXT_END: Final = r"$(?!\n)"
#: Keywords of a JSON Schema that a structural schema does not have, or that have no effect there.
_LEFT_OUT: Final = frozenset({"additionalProperties", "examples", "title", "const", "propertyNames"})

_IN: Final = "['In', 'NotIn']"
#: CEL rules by the path of what they are about, each with the message of Evenkeel's own error.
_RULES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "spec.defaults": (
        (
            "self.source != 'policy' || (has(self.constraints) && size(self.constraints) > 0)",
            "constraints must not be empty when source is policy",
        ),
        (
            "self.source != 'scheduler' || !has(self.constraints) || size(self.constraints) == 0",
            "constraints may only be set when source is policy: the scheduler's configuration has its own",
        ),
    ),
    "spec.defaults.constraints.items": (
        (
            "!has(self.minDomains) || self.whenUnsatisfiable == 'DoNotSchedule'",
            "minDomains may only be set when whenUnsatisfiable is DoNotSchedule",
        ),
    ),
    **{
        f"spec.scope.{name}.matchExpressions.items": (
            (
                f"!(self.operator in {_IN}) || (has(self.values) && size(self.values) > 0)",
                "values must be specified when operator is In or NotIn",
            ),
            (
                f"self.operator in {_IN} || !has(self.values) || size(self.values) == 0",
                "values may not be specified when operator is Exists or DoesNotExist",
            ),
        )
        for name in ("namespaceSelector", "objectSelector")
    },
}
#: Other keywords by the path of what they are about.
_KEYWORDS: Final[Mapping[str, Schema]] = {
    "spec": {"default": {}},
    # As in a PodSpec: a pair may appear once, and server-side apply merges by it.
    "spec.defaults.constraints": {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["topologyKey", "whenUnsatisfiable"],
    },
}
#: Where no default is filled in: the API server's would contradict whenUnsatisfiable.
_WITHOUT_DEFAULTS: Final = "spec.defaults.constraints.items"

_NAMES: Final = {
    "kind": KIND,
    "listKind": f"{KIND}List",
    "plural": PLURAL,
    "singular": KIND.lower(),
    "shortNames": [SHORT_NAME],
}
_COLUMNS: Final = (
    ("Enforcement", "string", ".spec.enforcement", 0),
    ("Accepted", "string", '.status.conditions[?(@.type=="Accepted")].status', 0),
    ("Workloads", "integer", ".status.workloads.selected", 0),
    ("Denied", "integer", ".status.workloads.denied", 0),
    ("Age", "date", ".metadata.creationTimestamp", 0),
    ("Defaults", "string", ".spec.defaults.at", 1),
    ("Message", "string", '.status.conditions[?(@.type=="Accepted")].message', 1),
)


def build_crd() -> dict[str, Any]:
    """Return the CustomResourceDefinition."""
    properties = {
        "apiVersion": {"description": "The version of the document.", "type": "string"},
        "kind": {"description": "The kind of the document.", "type": "string"},
        "metadata": {"type": "object"},
        "spec": _structural(class_schema(SpreadPolicy), "spec"),
        "status": _structural(class_schema(PolicyStatus), "status"),
    }
    version = {
        "name": API_VERSION.removeprefix(f"{GROUP}/"),
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "description": summary(SpreadPolicy),
                "type": "object",
                "properties": properties,
            }
        },
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": name, "type": kind, "jsonPath": path} | ({"priority": priority} if priority else {})
            for name, kind, path, priority in _COLUMNS
        ],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD_NAME},
        "spec": {"group": GROUP, "scope": "Cluster", "names": _NAMES, "versions": [version]},
    }


def _structural(schema: Schema, path: str) -> Schema:
    """Return a JSON Schema as a structural schema."""
    found = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
    if path.startswith(_WITHOUT_DEFAULTS):
        found.pop("default", None)
    if "enum" in found:
        found["type"] = "string"
    if "pattern" in found:
        found["pattern"] = found["pattern"].replace(_TEXT_END, "$")
    if not found.get("required", True):
        del found["required"]
    if "properties" in found:
        found["properties"] = {
            name: _structural(field, f"{path}.{name}") for name, field in found["properties"].items()
        }
    if "items" in found:
        found["items"] = _structural(found["items"], f"{path}.items")
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        found["additionalProperties"] = _structural(others, f"{path}.*")
    elif found.get("type") == "object" and "properties" not in found:
        # The settings of rules: each rule checks its own.
        found["x-kubernetes-preserve-unknown-fields"] = True
    if path in _RULES:
        found[CEL] = [{"rule": rule, "message": message} for rule, message in _RULES[path]]
    return found | _KEYWORDS.get(path, {})

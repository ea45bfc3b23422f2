"""All errors of an InstanceTypes document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policies.config.build_document import build_document
from policies.config.instance_types import InstanceTypes
from policies.config.node_groups_loader import amount_errors
from policies.config.schema import validator
from policies.config.schema_errors import schema_errors
from policies.manifests.fields import (
    NAME_TAKEN,
    ErrorList,
    FieldError,
    FieldPath,
    duplicate_value,
    object_items,
)

_TYPES: Final = FieldPath(("instanceTypes",))


def instance_types_errors(value: object) -> list[FieldError]:
    """Return everything wrong with an InstanceTypes document."""
    found = ErrorList()
    found.extend(schema_errors(validator(InstanceTypes), value))
    names = set[str]()
    for position, entry in enumerate(
        object_items(value.get("instanceTypes") if isinstance(value, dict) else None)
    ):
        path, name = _TYPES.index(position), entry.get("name")
        if isinstance(name, str):
            if name in names:
                found.add(duplicate_value(path.child("name"), name, NAME_TAKEN))
            names.add(name)
        found.extend(amount_errors(entry, path))
    return found.errors


def build_instance_types(value: Mapping[str, Any]) -> InstanceTypes:
    """Return a document without errors."""
    return build_document(InstanceTypes, value)

"""All errors of an InstanceTypes document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policies.config.build_document import build_document
from policies.config.instance_types import InstanceTypes
from policies.config.node_groups_loader import amount_errors, label_errors
from policies.config.schema import validator
from policies.config.schema_errors import schema_errors
from policies.manifests.fields import (
    NAME_TAKEN,
    VALUE_INVALID,
    ErrorList,
    FieldError,
    FieldPath,
    duplicate_value,
    list_member,
    member,
    objects_at,
)
from policies.model.labels import label_value_errors

_TYPES: Final = FieldPath(("instanceTypes",))


def instance_types_errors(value: object) -> list[FieldError]:
    """Return everything wrong with an InstanceTypes document."""
    found = ErrorList()
    found.extend(schema_errors(validator(InstanceTypes), value))
    names = set[str]()
    for path, entry in objects_at(value.get("instanceTypes") if isinstance(value, dict) else None, _TYPES):
        name = entry.get("name")
        if isinstance(name, str):
            if name in names:
                found.add(duplicate_value(path.child("name"), name, NAME_TAKEN))
            names.add(name)
            found.extend(label_value_errors(name, path.child("name"), VALUE_INVALID))
        found.extend(label_errors(member(entry, "labels"), path.child("labels")))
        found.extend(amount_errors(entry, path))
        for where, offering in objects_at(entry.get("offerings"), path.child("offerings")):
            for at, zone in enumerate(list_member(offering, "zones")):
                if isinstance(zone, str):
                    found.extend(label_value_errors(zone, where.child("zones").index(at), VALUE_INVALID))
    return found.errors


def build_instance_types(value: Mapping[str, Any]) -> InstanceTypes:
    """Return a document without errors."""
    return build_document(InstanceTypes, value)

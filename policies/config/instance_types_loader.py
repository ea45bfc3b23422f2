"""All errors of an InstanceTypes document."""

from __future__ import annotations

from typing import Final

from policies.config.instance_types import KIND, InstanceTypes
from policies.config.node_groups_loader import amount_errors, label_errors
from policies.config.read_document import read_document
from policies.manifests.fields import (
    NAME_TAKEN,
    VALUE_INVALID,
    ErrorList,
    FieldPath,
    duplicate_value,
    list_member,
    member,
    objects_at,
)
from policies.model.labels import label_value_errors

_TYPES: Final = FieldPath(("instanceTypes",))


def read_instance_types(value: object, found: ErrorList) -> InstanceTypes:
    """Return an InstanceTypes document, and record everything that is wrong with it."""
    document = read_document(InstanceTypes, KIND, value, found)
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
    return document

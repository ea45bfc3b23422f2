"""The InstanceTypes document: the instance types that Karpenter may choose among, and all of its errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from policies.config.node_groups import amount_errors, label_errors
from policies.config.own_kinds import OwnKind
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
from policies.manifests.wire import DocumentFields, Keywords
from policies.model.labels import NAME_LENGTH, label_value_errors

#: The most instance types of a document: more than any provider has.
MOST_TYPES: Final = 2_000
#: The most zones and ways to buy one.
MOST_OFFERINGS: Final = 100
_TYPES: Final = FieldPath(("instanceTypes",))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferingEntry(DocumentFields):
    """Zones in which an instance type can be had at one price.

    Attributes:
        zones: The zones, as the label topology.kubernetes.io/zone; without any, its nodes have no zone.
        capacity_type: How it is bought: on-demand, spot or reserved.
        price: What a node costs an hour, in any currency. If any is missing, the smallest instance type is
            taken, not the cheapest.
    """

    zones: Annotated[
        tuple[str, ...], Keywords(maxItems=MOST_OFFERINGS, examples=[["eu-west-1a", "eu-west-1b"]])
    ] = ()
    capacity_type: Literal["on-demand", "spot", "reserved"] = "on-demand"
    price: Annotated[float | None, Keywords(minimum=0)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceTypeEntry(DocumentFields):
    """One instance type.

    Attributes:
        name: Its name, as the label node.kubernetes.io/instance-type.
        labels: The other labels of its nodes. Without those of kubernetes.io/arch and kubernetes.io/os it is
            amd64 and linux.
        allocatable: What pods may request of a node: cpu, memory and others. Without pods it takes 110.
        capacity: What a node has in all, which limits of NodePools count; without it, what is allocatable.
        offerings: Where it can be had.
    """

    name: Annotated[str, Keywords(minLength=1, maxLength=NAME_LENGTH, examples=["m6i.xlarge"])]
    labels: Mapping[str, str] = field(default_factory=dict)
    allocatable: Annotated[Mapping[str, Any], Keywords(examples=[{"cpu": "3920m", "memory": "14Gi"}])]
    capacity: Mapping[str, Any] | None = None
    offerings: Annotated[tuple[OfferingEntry, ...], Keywords(minItems=1, maxItems=MOST_OFFERINGS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceTypes(DocumentFields):
    """The instance types that Karpenter may choose among.

    Attributes:
        instance_types: The instance types.
    """

    instance_types: Annotated[tuple[InstanceTypeEntry, ...], Keywords(minItems=1, maxItems=MOST_TYPES)]


def read_instance_types(value: object, found: ErrorList) -> InstanceTypes:
    """Return an InstanceTypes document, and record everything that is wrong with it."""
    document = read_document(InstanceTypes, OwnKind.INSTANCE_TYPES, value, found)
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

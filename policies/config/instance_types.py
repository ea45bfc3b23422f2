"""The InstanceTypes document: the instance types that Karpenter may choose among, and all of its errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from policies.config.node_groups import amount_errors, label_errors, repeated_name_errors
from policies.manifests.fields import VALUE_INVALID, ErrorList, FieldPath
from policies.manifests.wire import DocumentFields, Keywords
from policies.model.labels import NAME_LENGTH, label_value_errors

#: The most instance types of a document: more than any provider has.
MOST_TYPES: Final = 2_000
#: The most zones and ways to buy one.
MOST_OFFERINGS: Final = 100
_TYPES: Final = FieldPath(("instanceTypes",))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferingEntry(DocumentFields):
    """Zones in which an instance type can be had at one price."""

    #: The zones, as the label topology.kubernetes.io/zone; without any, its nodes have no zone.
    zones: Annotated[
        tuple[str, ...], Keywords(maxItems=MOST_OFFERINGS, examples=[["eu-west-1a", "eu-west-1b"]])
    ] = ()
    #: How it is bought: on-demand, spot or reserved.
    capacity_type: Literal["on-demand", "spot", "reserved"] = "on-demand"
    #: What a node costs an hour, in any currency. If any is missing, the smallest instance type is taken, not
    #: the cheapest.
    price: Annotated[float | None, Keywords(minimum=0)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceTypeEntry(DocumentFields):
    """One instance type."""

    #: Its name, as the label node.kubernetes.io/instance-type.
    name: Annotated[str, Keywords(minLength=1, maxLength=NAME_LENGTH, examples=["m6i.xlarge"])]
    #: The other labels of its nodes. Without those of kubernetes.io/arch and kubernetes.io/os it is amd64 and
    #: linux.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: What pods may request of a node: cpu, memory and others. Without pods it takes 110.
    allocatable: Annotated[Mapping[str, Any], Keywords(examples=[{"cpu": "3920m", "memory": "14Gi"}])]
    #: What a node has in all, which limits of NodePools count; without it, what is allocatable.
    capacity: Mapping[str, Any] | None = None
    #: Where it can be had.
    offerings: Annotated[tuple[OfferingEntry, ...], Keywords(minItems=1, maxItems=MOST_OFFERINGS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceTypes(DocumentFields):
    """The instance types that Karpenter may choose among."""

    #: The instance types.
    instance_types: Annotated[tuple[InstanceTypeEntry, ...], Keywords(minItems=1, maxItems=MOST_TYPES)]

    def check(self, found: ErrorList) -> None:
        """Record what the form of the fields does not tell."""
        found.extend(repeated_name_errors((entry.name for entry in self.instance_types), _TYPES))
        for number, entry in enumerate(self.instance_types):
            path = _TYPES.index(number)
            found.extend(label_value_errors(entry.name, path.child("name"), VALUE_INVALID))
            found.extend(label_errors(entry.labels, path.child("labels")))
            found.extend(amount_errors(entry.allocatable, entry.capacity, path))
            for position, offering in enumerate(entry.offerings):
                zones = path.child("offerings").index(position).child("zones")
                for at, zone in enumerate(offering.zones):
                    found.extend(label_value_errors(zone, zones.index(at), VALUE_INVALID))

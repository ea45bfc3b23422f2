"""A node group: nodes that are alike, of which Cluster Autoscaler may add some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from policies.model.node import Node
from policies.model.topology_keys import HOSTNAME


class GroupOrigin(StrEnum):
    """Where a node group comes from."""

    DOCUMENT = "document"
    MANAGED = "managed"
    DEDUCED = "deduced"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScaledGroup:
    """A node group.

    Attributes:
        name: Its name.
        template: What each new node is like; its name has no meaning.
        capacity: What a node has before the system's share is taken off, in the units of its allocatable
            amounts; options are compared by it.
        size: How many nodes it has or waits for.
        max_size: The most that it may have.
        origin: Where it comes from.
    """

    name: str
    template: Node
    capacity: Mapping[str, int]
    size: int
    max_size: int
    origin: GroupOrigin = GroupOrigin.DOCUMENT

    @property
    def room(self) -> int:
        """How many nodes it may get."""
        return max(self.max_size - self.size, 0)

    def node(self, name: str) -> Node:
        """Return a new node of the group."""
        return self.template._replace(name=name, labels={**self.template.labels, HOSTNAME: name}, images=())

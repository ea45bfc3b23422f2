"""NodePools and instance types: which nodes Karpenter may add."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from planning.autoscaler.karpenter.requirements import (
    ANY,
    NONE,
    Requirements,
    combine,
    of_labels,
    one_of,
)
from policies.model.scaling import CAPACITY_TYPE, KARPENTER_NODE_LABEL, scaled
from policies.model.taints import Taint
from policies.model.topology_keys import HOSTNAME, INSTANCE_TYPE, REGION, ZONE

#: The consolidation policies.
WHEN_EMPTY: Final = "WhenEmpty"
WHEN_UNDERUTILIZED: Final = "WhenEmptyOrUnderutilized"
#: The resource of a limit that counts nodes.
NODES: Final = "nodes"
#: Labels of which instance types or offerings say what they may be: ``WellKnownLabels``.
_WELL_KNOWN: Final = frozenset(
    {
        KARPENTER_NODE_LABEL,
        ZONE,
        REGION,
        INSTANCE_TYPE,
        "kubernetes.io/arch",
        "kubernetes.io/os",
        CAPACITY_TYPE,
        "node.kubernetes.io/windows-build",
    }
)
#: What is taken among offerings of one price: the first that is offered.
CAPACITY_TYPES: Final = ("reserved", "spot", "on-demand")


@dataclass(frozen=True, slots=True)
class Offering:
    """A zone in which an instance type can be had, and how."""

    zone: str  #: The zone; empty where there are none.
    capacity_type: str  #: on-demand, spot or reserved.
    price: float | None = None  #: What an hour costs; None if nobody said.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InstanceType:
    """An instance type."""

    name: str  #: Its name.
    labels: Mapping[str, str]  #: The labels of its nodes besides that of its name.
    allocatable: Mapping[str, int]  #: What pods may request of a node.
    capacity: Mapping[str, int]  #: What a node has in all.
    offerings: tuple[Offering, ...]  #: Where it can be had.
    requirements: Requirements = field(init=False)  #: What the labels of its nodes may be.

    def __post_init__(self) -> None:
        zones = {each.zone for each in self.offerings if each.zone}
        types = {each.capacity_type for each in self.offerings}
        found = combine(
            of_labels({**self.labels, INSTANCE_TYPE: self.name}).items(),
            [(ZONE, one_of(*zones))] if zones else [],
            [(CAPACITY_TYPE, one_of(*types))],
        )
        object.__setattr__(self, "requirements", found)

    def offered(self, wanted: Requirements) -> list[Offering]:
        """Return the offerings that requirements allow."""
        zones, capacity_types = wanted.get(ZONE, ANY), wanted.get(CAPACITY_TYPE, ANY)
        return [
            each
            for each in self.offerings
            if (not each.zone or zones.allows(each.zone)) and capacity_types.allows(each.capacity_type)
        ]

    def holds(self, amounts: Mapping[str, int]) -> bool:
        """Return whether a node has room for amounts."""
        return all(self.allocatable.get(name, 0) >= amount for name, amount in amounts.items())


@dataclass(frozen=True, slots=True)
class KnownLabels:
    """The labels of which Karpenter knows what they may be, though a NodePool does not say."""

    keys: frozenset[str]

    @classmethod
    def of(cls, types: Iterable[InstanceType]) -> KnownLabels:
        """Return those of Karpenter itself, and those of the nodes of instance types."""
        return cls(_WELL_KNOWN.union(*(each.requirements for each in types)))

    def __call__(self, key: str) -> bool:
        """Return whether a label is one."""
        return key in self.keys


class PoolBudget(NamedTuple):
    """How many nodes of a NodePool may go at once."""

    nodes: str  #: A number, or a percentage.
    reasons: tuple[str, ...] | None = None  #: The reasons for which it holds; None for all.
    at_times: bool = False  #: Whether it holds at some times only, which are not known here.


class PoolDisruption(NamedTuple):
    """Which nodes of a NodePool Karpenter removes: ``spec.disruption``."""

    policy: str = WHEN_UNDERUTILIZED  #: The consolidation policy, as it is written.
    never: bool = False  #: Whether ``consolidateAfter`` says so.
    budgets: tuple[PoolBudget, ...] = (PoolBudget("10%"),)  #: How many may go at once.

    def allowed(self, nodes: int, reason: str) -> int:
        """Return how many of its nodes may go at once, by the budgets that always hold."""
        return min(
            (
                max(scaled(int(each.nodes) if each.nodes.isdecimal() else each.nodes, nodes) or 0, 0)
                for each in self.budgets
                if not each.at_times and (each.reasons is None or reason in each.reasons)
            ),
            default=nodes,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodePool:
    """A NodePool."""

    name: str  #: Its name.
    requirements: Requirements  #: What the labels of its nodes may be, those of its template included.
    labels: Mapping[str, str]  #: The labels of its template.
    taints: tuple[Taint, ...]  #: The taints of its nodes; those of startup are gone when pods come.
    limits: Mapping[str, int]  #: The most that its nodes may have in all, by resource.
    weight: int  #: The heavier comes first.
    types: tuple[InstanceType, ...]  #: The instance types that its requirements allow.
    disruption: PoolDisruption  #: Which of its nodes are removed.

    def domains(self, types: Iterable[InstanceType]) -> Iterator[tuple[str, str]]:
        """Yield the domains that Karpenter takes it to have, as label and value, some repeatedly.

        Instance types that its requirements exclude add the zones in which they can be had, and so do values
        that a requirement excludes of a label that no instance type has.
        Source: ``buildDomainGroups``, ``scheduling/topology.go``, Karpenter 1.9.

        Args:
            types: All instance types there are.
        """
        own = {key: each for key, each in self.requirements.items() if key != KARPENTER_NODE_LABEL}
        for kind in types:
            for key, requirement in combine(own.items(), kind.requirements.items()).items():
                yield from ((key, value) for value in requirement.values)
        for key, requirement in own.items():
            yield from ((key, value) for value in requirement.values if requirement.is_listed)


def pools_in_order(pools: Iterable[NodePool]) -> list[NodePool]:
    """Return NodePools as Karpenter tries them: by weight, then from the last name to the first."""
    return sorted(sorted(pools, key=lambda pool: pool.name, reverse=True), key=lambda pool: -pool.weight)


def allowed_types(types: Iterable[InstanceType], wanted: Requirements) -> list[InstanceType]:
    """Return the instance types for a node: none if they are fewer than ``minValues`` requires.

    Args:
        types: The instance types there are.
        wanted: What the labels of the node may be.
    """
    found = [
        each
        for each in types
        if all(each.requirements[key].meets(wanted[key]) for key in each.requirements if key in wanted)
        and each.offered(wanted)
    ]
    for key, requirement in wanted.items():
        if requirement.min_values is not None:
            values = set[str]().union(*(each.requirements.get(key, NONE).values for each in found))
            if len(values) < requirement.min_values:
                return []
    return found


def cheapest(types: Sequence[InstanceType], wanted: Requirements) -> tuple[InstanceType, list[Offering]]:
    """Return the instance type that a node gets, and the offerings of it that are as good as each other.

    The cheapest offering wins. Where an offering has no price, that of the smallest instance type does:
    by CPU, then by memory, then by name. Providers may decide otherwise.

    Args:
        types: The instance types that are left for the node; one at least.
        wanted: What its labels may be.
    """
    offers = [(each, offering) for each in types for offering in each.offered(wanted)]
    priced = all(offering.price is not None for _, offering in offers)

    def rank(offer: tuple[InstanceType, Offering]) -> tuple[float, int, int, str, int]:
        kind, offering = offer
        position = (
            CAPACITY_TYPES.index(offering.capacity_type)
            if offering.capacity_type in CAPACITY_TYPES
            else len(CAPACITY_TYPES)
        )
        price = offering.price if priced and offering.price is not None else 0.0
        return (
            price, kind.capacity.get("cpu", 0), kind.capacity.get("memory", 0), kind.name, position,
        )  # fmt: skip

    best = min(map(rank, offers))
    tied = [offer for offer in offers if rank(offer) == best]
    return tied[0][0], [offering for _, offering in tied]


def node_labels(
    pool: NodePool, kind: InstanceType, offering: Offering, wanted: Requirements, name: str
) -> dict[str, str]:
    """Return the labels of a new node.

    A label that may have several values gets the first of those that are listed.
    """
    chosen = {
        key: min(requirement.values)
        for key, requirement in wanted.items()
        if requirement.is_listed and key not in _WELL_KNOWN
    }
    zone = {ZONE: offering.zone} if offering.zone else {}
    return {
        **chosen,
        **kind.labels,
        INSTANCE_TYPE: kind.name,
        CAPACITY_TYPE: offering.capacity_type,
        **zone,
        **pool.labels,
        KARPENTER_NODE_LABEL: pool.name,
        HOSTNAME: name,
    }

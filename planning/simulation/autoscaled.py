"""Answers about autoscalers: the nodes that they add and remove, and why they do not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Final

from planning.simulation.actions import ChangedNodes, alike_nodes
from planning.simulation.domain_changes import DomainChange
from planning.simulation.recovery import DisplacedPod, PodOutcome
from policies.manifests.wire import INLINE, INTERNAL, Count, sent
from policies.model.node import Node
from policies.model.scaling import CAPACITY_TYPE
from policies.model.topology_keys import INSTANCE_TYPE, ZONE
from policies.scheduler.binding import SchedulingAttempt

#: What is said of new nodes, of which it is not known what the pods of DaemonSets take.
DAEMONS: Final = "what pods of DaemonSets take of new nodes"


class AutoscalerName(StrEnum):
    """Software that adds nodes."""

    CLUSTER_AUTOSCALER = "Cluster Autoscaler"
    KARPENTER = "Karpenter"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNode:
    """A node that is added."""

    node: Annotated[Node, INTERNAL]  #: The node; its name is made up.
    group: str  #: Its node group, or its NodePool.
    price: float | None = None  #: What an hour of it costs; null where that is not known.

    @property
    @sent
    def name(self) -> str:
        """Its name, which is made up."""
        return self.node.name

    @property
    @sent
    def zone(self) -> str:
        """Its zone; empty without one."""
        return self.node.labels.get(ZONE, "")

    @property
    @sent
    def instance_type(self) -> str:
        """Its instance type; empty where no label says it."""
        return self.node.labels.get(INSTANCE_TYPE, "")

    @property
    @sent
    def capacity_type(self) -> str:
        """How it is bought: spot, on-demand or reserved; empty where Karpenter does not say it."""
        return self.node.labels.get(CAPACITY_TYPE, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSize:
    """A node group or a NodePool, before and after."""

    name: str  #: Its name.
    #: Whether a document describes it, or it is deduced from nodes, by the label of a managed group or since
    #: they are alike.
    origin: str
    zone: str  #: Its zone; empty without one, or with several.
    size: Count  #: How many nodes it had.
    added: Count = 0  #: How many it gets.
    max_size: Count | None  #: How many it may have; null where nothing limits their number.


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """One loop that adds nodes."""

    group: str  #: The node group whose option was taken.
    tied: tuple[str, ...]  #: The node groups of which one is taken at random, in the order of the groups.
    #: How many nodes each node group gets: with balancing, similar ones get some too.
    nodes: Mapping[str, Count]
    pods: Count  #: How many pods the option is for.


@dataclass(frozen=True, slots=True, kw_only=True)
class Unhelped:
    """Pods that are alike and for which no node was added."""

    pods: tuple[str, ...]  #: The pods, as namespace/name.
    why: Mapping[str, str]  #: What keeps them off the nodes of each node group.


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaxedPreference:
    """A preference that Karpenter gave up for some pods."""

    preference: str  #: The preference.
    pods: Count  #: How many pods.


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoscaled:
    """Steps of an autoscaler for the pods of a queue."""

    autoscaler: AutoscalerName  #: Which it is.
    #: The loops of Cluster Autoscaler that add nodes, in order. Karpenter adds all at once.
    loops: tuple[Loop, ...]
    waves: Count  #: How often the scheduler went on when new nodes were ready.
    groups: tuple[GroupSize, ...]  #: The node groups, or the NodePools.
    nodes: tuple[NewNode, ...]  #: The new nodes, in the order in which they are added.
    unhelped: tuple[Unhelped, ...]  #: The pods for which no node was added, with the reasons.
    complete: bool  #: Whether another loop would add nothing.
    #: The preferences that Karpenter gave up; those of the last pods of a wave.
    given_up: tuple[RelaxedPreference, ...] = ()
    not_modeled: tuple[str, ...] = ()  #: What the autoscaler looks at besides, and is not part of this.
    #: How many nodes of the cluster are Karpenter's, which adds nodes by itself and is not modeled; known
    #: only where node groups are deduced.
    karpenter_nodes: Count = 0
    #: Whether it was to stop before that was known, so that what is pending may yet get a node.
    stopped: Annotated[bool, INTERNAL] = False

    @property
    @sent
    def changed_nodes(self) -> list[ChangedNodes]:
        """The new nodes as they are, those that are alike together."""
        return alike_nodes(each.node for each in self.nodes)

    @property
    @sent
    def cost_per_hour(self) -> float | None:
        """What an hour of the new nodes costs; null where the price of one is not known."""
        prices = [each.price for each in self.nodes if each.price is not None]
        return math.fsum(prices) if len(prices) == len(self.nodes) else None

    def then(self, other: Autoscaled) -> Autoscaled:
        """Return these steps and those of the same autoscaler after them, for other pods.

        It may have fewer groups by then: those of a domain that was lost in between keep what they got.
        """
        later = {group.name: group for group in other.groups}
        known = {group.name for group in self.groups}
        return replace(
            other,
            loops=(*self.loops, *other.loops),
            waves=self.waves + other.waves,
            groups=(
                *(
                    replace(later[first.name], size=first.size, added=first.added + later[first.name].added)
                    if first.name in later
                    else first
                    for first in self.groups
                ),
                *(group for group in other.groups if group.name not in known),
            ),
            nodes=(*self.nodes, *other.nodes),
            unhelped=(*self.unhelped, *other.unhelped),
            complete=self.complete and other.complete,
            given_up=(*self.given_up, *other.given_up),
            not_modeled=tuple(dict.fromkeys((*self.not_modeled, *other.not_modeled))),
            stopped=self.stopped or other.stopped,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WithNewNodes:
    """Outcome for a pod that fits nowhere if an autoscaler adds nodes for it."""

    step: SchedulingAttempt  #: Where the scheduler then puts it, or why it stays pending.
    scaled: Annotated[Autoscaled, INLINE]  #: The nodes that are added for it, or why none is.


class WhyKept(StrEnum):
    """Why a node stays. Those that a pod is the reason of name it."""

    NOT_IN_GROUP = "notInGroup"
    BEING_DELETED = "beingDeleted"
    ANNOTATED = "annotated"
    MIN_SIZE = "minSize"
    NOT_UNDERUTILIZED = "notUnderutilized"
    UTILIZATION_UNKNOWN = "utilizationUnknown"
    NO_PLACE = "noPlaceForPods"
    NOT_TRIED = "notTried"
    UNNEEDED = "unneeded"
    POD_UNKNOWN = "podUnknown"
    POD_NOT_REPLICATED = "podNotReplicated"
    POD_OF_SYSTEM = "podOfSystem"
    POD_ANNOTATED = "podAnnotated"
    POD_LOCAL_STORAGE = "podLocalStorage"
    POD_BUDGET = "podBudget"
    POD_COMPLETES = "podCompletes"
    CONSOLIDATION_OFF = "consolidationOff"
    NOT_EMPTY = "notEmpty"
    BUDGET = "budget"
    TYPE_UNKNOWN = "typeUnknown"
    PRICE_UNKNOWN = "priceUnknown"
    POLICY_NOT_MODELED = "policyNotModeled"
    NOT_CHEAPER = "notCheaper"
    SPOT = "spot"
    TOO_MANY_NEW = "tooManyNew"


class WhyRemoved(StrEnum):
    """Reason for which an autoscaler removes nodes.

    ``underutilized`` is Cluster Autoscaler's threshold. The others but ``empty`` are Karpenter's ways to
    consolidate: one node or several, without a replacement or with one that is cheaper.
    """

    EMPTY = "empty"
    UNDERUTILIZED = "underutilized"
    SINGLE_NODE = "singleNode"
    MULTI_NODE = "multiNode"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptNode:
    """A node that stays."""

    name: str  #: Its name.
    group: str = ""  #: Its node group or NodePool; empty without one.
    why: WhyKept  #: Why it stays.
    pod: str = ""  #: The pod that keeps it, as namespace/name; empty if no single one does.
    #: The share of its CPU or memory, whichever is greater, that its pods request; null where nothing depends
    #: on it.
    utilization: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedNode:
    """A node that is removed."""

    name: str  #: Its name.
    group: str  #: Its node group or NodePool.
    round: Count = 0  #: The round in which it goes, from 1 on; those of one round go together.
    why: WhyRemoved  #: What makes the autoscaler remove it.
    #: The share of its CPU or memory, whichever is greater, that its pods request; null where nothing depends
    #: on it.
    utilization: float | None = None
    pods: tuple[str, ...]  #: The pods that go elsewhere, as namespace/name.
    #: The node that comes in the place of those of its round; null without one.
    replaced_by: NewNode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledDown:
    """Nodes that an autoscaler removes."""

    autoscaler: AutoscalerName  #: Which it is.
    rounds: Count  #: How many rounds remove nodes.
    removed: tuple[RemovedNode, ...]  #: The nodes that go, in order.
    kept: tuple[KeptNode, ...]  #: The nodes that stay, and why.
    #: The pods that lose their node, and where the scheduler puts what replaces them.
    evicted: tuple[DisplacedPod, ...]
    #: Of each constraint of these pods, and of the pods of the request, before and after.
    domains: tuple[DomainChange, ...]
    all_domains: bool  #: Whether ``domains`` are those of all pods; of many different only some are.
    complete: bool  #: Whether another round would remove nothing.
    not_modeled: tuple[str, ...] = ()  #: What the autoscaler looks at besides, and is not part of this.
    stopped: Annotated[bool, INTERNAL] = False

    @property
    @sent
    def undone(self) -> Count:
        """How many constraints are less balanced than before.

        Those above maxSkew whose skew has grown, and those whose pods are in fewer domains.
        """
        return sum(map(is_undone, self.domains))

    @property
    def pending(self) -> int:
        """How many pods get no node again."""
        return sum(entry.outcome is PodOutcome.PENDING for entry in self.evicted)


def is_undone(change: DomainChange) -> bool:
    """Return whether a skew has grown above maxSkew, or pods are in fewer domains."""
    most = change.applied.constraint.max_skew
    return change.skew > max(most, change.skew_before) or change.held < change.held_before

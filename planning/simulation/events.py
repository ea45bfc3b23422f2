"""Events of a scenario: a request's JSON, an option's value and the engine's input are the same object."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final, TypeAlias

from policies.manifests.wire import OPTIONAL, Keywords, Member, Received, members
from policies.model.taints import Taint, TaintEffect
from policies.model.topology_keys import MISNAMED

#: Nodes that events may add: as many as Kubernetes supports in a cluster.
MOST_ADDED: Final = 5_000
#: Events of one scenario: more than anyone tries, and each may look at every pod.
MOST_EVENTS: Final = 100
#: Taints that new nodes may do without, and labels that they may have besides: nodes have a few.
MOST_TAINTS: Final = 100
MOST_LABELS: Final = 100

#: An object of the Kubernetes API, which is looked into where it is placed.
ApiObject: TypeAlias = Annotated[dict[str, Any], Keywords(minProperties=1)]
#: A name of something, which cannot be empty.
Name: TypeAlias = Annotated[str, Keywords(minLength=1)]


@dataclass(frozen=True, kw_only=True)
class TargetWorkload(Received):
    """A workload of the cluster, or one that was applied before."""

    kind: Name  #: Its kind; of one outside of the built-in groups ``Kind.group``.
    namespace: Name  #: Its namespace.
    name: Name  #: Its name.


@dataclass(frozen=True, kw_only=True)
class ScaledWorkload(TargetWorkload):
    """A workload whose replicas change: one of the two numbers."""

    to: Annotated[int, Keywords(minimum=0)] | None = None  #: How many replicas there are to be.
    by: int | None = None  #: How many more, or fewer.


@dataclass(frozen=True, kw_only=True)
class NamedPod(Received):
    """A pod of the cluster."""

    namespace: Name  #: Its namespace.
    name: Name  #: Its name.


@dataclass(frozen=True, kw_only=True)
class LostDomain(Received):
    """A domain whose nodes are gone, with their pods."""

    topology_key: Name  #: A label of nodes, or ``zone``, ``region`` or ``hostname``.
    value: str  #: The domain.
    unreachable: bool | None = None  #: Whether the nodes stay, tainted as unreachable.

    @property
    def key(self) -> str:
        """The topology key, as nodes have it."""
        return topology_key(self.topology_key)


@dataclass(frozen=True, kw_only=True)
class TaintedNode(Received):
    """A node that gets a taint; NoExecute evicts the pods that do not tolerate it."""

    node: Name  #: The node.
    key: Name  #: The key of the taint.
    value: str | None = None  #: Its value.
    effect: TaintEffect  #: Its effect.

    @property
    def taint(self) -> Taint:
        """The taint."""
        return Taint(self.key, self.value or "", self.effect.value)


@dataclass(frozen=True, kw_only=True)
class UntaintedNode(Received):
    """A node that loses its taints of a key."""

    node: Name  #: The node.
    key: Name  #: The key of the taints.
    effect: TaintEffect | None = None  #: Their effect; absent for every one.

    @property
    def taints(self) -> str:
        """The key and effect, as kubectl writes them."""
        return self.key if self.effect is None else f"{self.key}:{self.effect}"


@dataclass(frozen=True, kw_only=True)
class NodeLabel(Received):
    """A label of a node."""

    key: Name  #: Its key.
    value: str  #: Its value.


@dataclass(frozen=True, kw_only=True)
class LabeledNode(Received):
    """A node that gets a label, in place of one of the same key, or loses it."""

    node: Name  #: The node.
    key: Name  #: The key of the label.
    value: str | None = None  #: Its value; absent to remove it.


@dataclass(frozen=True, kw_only=True)
class AddedNodes(Received):
    """More nodes like one: its labels, lasting taints and capacity, without pods and images."""

    like: Name  #: The node.
    count: Annotated[int, Keywords(minimum=1, maximum=MOST_ADDED)] = 1  #: How many.
    #: Keys of taints that the new nodes do not have.
    without_taints: Annotated[list[Name], Keywords(maxItems=MOST_TAINTS)] | None = None
    #: Labels that they have besides, or in place of others, such as another zone.
    labels: Annotated[list[NodeLabel], Keywords(maxItems=MOST_LABELS)] | None = None


@dataclass(frozen=True, kw_only=True)
class NodeEvent(Received):
    """Exactly one of these."""

    lose: Annotated[LostDomain | None, OPTIONAL] = None  #: The nodes of a domain are lost.
    drain: Annotated[Name | None, OPTIONAL] = None  #: A node that is cordoned and whose pods are evicted.
    cordon: Annotated[Name | None, OPTIONAL] = None  #: A node that takes no more pods.
    uncordon: Annotated[Name | None, OPTIONAL] = None  #: A node that takes pods again.
    taint: Annotated[TaintedNode | None, OPTIONAL] = None  #: A node is tainted.
    untaint: Annotated[UntaintedNode | None, OPTIONAL] = None  #: A node loses taints.
    label: Annotated[LabeledNode | None, OPTIONAL] = None  #: A node gets a label.
    add: Annotated[AddedNodes | None, OPTIONAL] = None  #: Nodes are added.

    @property
    def what(self) -> str:
        """The name of the one that it is."""
        return next(entry.name for entry in fields(self) if getattr(self, entry.name) is not None)


@dataclass(frozen=True, kw_only=True)
class Event(NodeEvent):
    """Exactly one of these, which happens to workloads, pods or nodes."""

    #: An object that is applied: a workload, or a Pod, in place of the one of its name.
    apply: Annotated[ApiObject | None, OPTIONAL] = None
    remove: Annotated[TargetWorkload | None, OPTIONAL] = None  #: A workload is deleted, with its pods.
    scale: Annotated[ScaledWorkload | None, OPTIONAL] = None  #: A workload gets another number of replicas.
    restart: Annotated[TargetWorkload | None, OPTIONAL] = None  #: A workload is rolled out again as it is.
    delete: Annotated[NamedPod | None, OPTIONAL] = None  #: A pod is deleted; its controller replaces it.
    evict: Annotated[NamedPod | None, OPTIONAL] = None  #: A pod is evicted if its budgets allow that.
    release: Annotated[Name | None, OPTIONAL] = None  #: The release of Kubernetes that holds from then on.


def _only_one_of(kinds: Iterable[Member]) -> Keywords:
    only = f"exactly one of {', '.join(entry.name for entry in kinds)}"
    return Keywords(minProperties=1, maxProperties=1, title=only)


#: The events of a scenario, in order.
Events: TypeAlias = Annotated[
    list[Annotated[Event, _only_one_of(members(Event))]],
    Keywords(maxItems=MOST_EVENTS),
]
#: Events on nodes, in order.
NodeEvents: TypeAlias = Annotated[
    list[Annotated[NodeEvent, _only_one_of(members(NodeEvent))]],
    Keywords(maxItems=MOST_EVENTS),
]


def topology_key(text: str) -> str:
    """Return a topology key, which may be written short.

    >>> topology_key("zone"), topology_key("example.com/rack")
    ('topology.kubernetes.io/zone', 'example.com/rack')
    """
    return text if "/" in text else MISNAMED.get(text, text)

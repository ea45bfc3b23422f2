"""Actions on nodes: a domain is lost, a node drained, cordoned, tainted, freed of these, labeled or added."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, NamedTuple, TypeAlias

from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.events import MOST_ADDED
from planning.simulation.pod_facts import PodFacts
from policies.manifests.fields import (
    ErrorKind,
    ErrorList,
    FieldError,
    FieldPath,
    invalid_value,
    shown,
    shown_name,
)
from policies.manifests.wire import INTERNAL, SentAs
from policies.manifests.words import IN_SENTENCE, listed
from policies.model.node import Node, uncordoned, without_taints
from policies.model.taints import Taint, TaintEffect
from policies.model.topology_keys import HOSTNAME, MISNAMED
from policies.scheduler.index import ClusterIndex, PodOnNode

#: The rule that an action breaks which names something that the cluster does not have.
NOT_IN_CLUSTER: Final = "not-in-cluster"
#: The rule that actions break which add more nodes than that.
TOO_MANY_NODES: Final = "too-many-nodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseDomain:
    """The nodes of a domain are gone, with everything on them."""

    at: FieldPath  #: Where it is written.
    key: str  #: The topology key.
    value: str  #: The domain.
    unreachable: bool = False  #: Whether the nodes stay in the API, tainted: their domain then counts on.


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainNode:
    """A node is cordoned and its pods are evicted, except for those of DaemonSets and static ones."""

    at: FieldPath
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CordonNode:
    """A node takes no more pods."""

    at: FieldPath
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UncordonNode:
    """A node takes pods again."""

    at: FieldPath
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaintNode:
    """A node gets a taint, in place of one of the same key and effect; NoExecute evicts."""

    at: FieldPath
    node: str
    taint: Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class UntaintNode:
    """A node loses the taints of a key."""

    at: FieldPath  #: Where it is written.
    node: str  #: The node.
    key: str  #: The key of the taints.
    effect: TaintEffect | None = None  #: Their effect; None for every one.

    @property
    def taint(self) -> str:
        """The key and effect, as kubectl writes them."""
        return self.key if self.effect is None else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelNode:
    """A node gets a label, in place of one of the same key."""

    at: FieldPath
    node: str
    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNodes:
    """There are more nodes like one: its labels, lasting taints and capacity, without pods and images."""

    at: FieldPath  #: Where it is written.
    like: str  #: The node.
    count: int  #: How many.
    without_taints: tuple[str, ...] = ()  #: Keys of taints that the new nodes do not have.
    labels: tuple[tuple[str, str], ...] = ()  #: Labels that they have besides, or in place of others.


#: What changes one node, whose pods stay unless it says otherwise.
NodeAction: TypeAlias = DrainNode | CordonNode | UncordonNode | TaintNode | UntaintNode | LabelNode
Action: TypeAlias = LoseDomain | NodeAction | AddNodes


class ChangedNodes(NamedTuple):
    """Nodes that actions changed or added, all alike but for their names."""

    names: list[str]  #: Their names.
    cordoned: bool  #: Whether they are unschedulable.
    taints: tuple[Taint, ...]  #: Their taints.
    #: Their labels, but for ``kubernetes.io/hostname``: that is the name of a new node, and stays of another.
    labels: Mapping[str, str]


def alike_nodes(nodes: Iterable[Node]) -> list[ChangedNodes]:
    """Return nodes as they are, those that are alike together."""
    alike: dict[Hashable, ChangedNodes] = {}
    for node in nodes:
        labels = {key: value for key, value in node.labels.items() if key != HOSTNAME}
        kind = node.unschedulable, node.taints, tuple(labels.items())
        found = alike.setdefault(kind, ChangedNodes([], node.unschedulable, node.taints, labels))
        found.names.append(node.name)
    return list(alike.values())


@dataclass(slots=True)
class Disruption:
    """The effect of some actions on a cluster."""

    #: The pods that lost their node.
    evicted: Annotated[list[PodOnNode], INTERNAL] = field(default_factory=list)
    #: The names of nodes that are gone or unreachable.
    lost: Annotated[list[str], SentAs("lostNodes")] = field(default_factory=list)
    #: The names of new nodes.
    added: Annotated[list[str], SentAs("addedNodes")] = field(default_factory=list)
    #: New nodes, and those whose cordon or taints are others, as they are in the end; not those that are
    #: lost.
    changed: Annotated[list[ChangedNodes], SentAs("changedNodes")] = field(default_factory=list)


def apply_actions(
    actions: Iterable[Action], simulation: ClusterSimulation, facts: PodFacts, found: ErrorList
) -> Disruption:
    """Let actions happen one after another.

    Args:
        actions: The actions.
        simulation: The cluster, with the pods of all namespaces, which is changed.
        facts: What is known of its pods.
        found: Takes what is wrong; an action with errors changes nothing.
    """
    run = _Run(simulation, facts, found)
    for action in actions:
        match action:
            case LoseDomain():
                run.lose(action)
            case AddNodes():
                run.add(action)
            case _:
                run.change(action)
    run.done.changed = run.changed_nodes()
    return run.done


def topology_key(text: str) -> str:
    """Return a topology key, which may be written short.

    >>> topology_key("zone"), topology_key("example.com/rack")
    ('topology.kubernetes.io/zone', 'example.com/rack')
    """
    return text if "/" in text else MISNAMED.get(text, text)


def domains_of(cluster: ClusterIndex, key: str) -> dict[str, list[str]]:
    """Return the names of the nodes of each domain, both sorted; nothing for a key that no node has."""
    domains: dict[str, list[str]] = {}
    for node in cluster.nodes.listed():
        if key in node.labels:
            domains.setdefault(node.labels[key], []).append(node.name)
    return dict(sorted(domains.items()))


def unknown_domain(key: str, value: str, domains: Sequence[str]) -> str:
    """Return the error of a domain that no node has."""
    return _unknown(value, f"no node has this {shown_name(key)}", "domains", domains)


def _unknown(value: str, problem: str, what: str, names: Sequence[object]) -> str:
    there = f"the {what} are {listed(names, IN_SENTENCE)}" if names else f"there are no {what}"
    return f"Invalid value: {shown(value)}: {problem}; {there}"


class _Run:
    """Applies actions to one cluster."""

    def __init__(self, simulation: ClusterSimulation, facts: PodFacts, found: ErrorList) -> None:
        self._simulation, self._cluster = simulation, simulation.cluster
        self._facts = facts
        self._found = found
        self.done = Disruption()
        self._changed: dict[str, None] = {}

    def lose(self, action: LoseDomain) -> None:
        domains = domains_of(self._cluster, action.key)
        names = domains.get(action.value)
        if names is None:
            self._missing(action.at, unknown_domain(action.key, action.value, list(domains)))
            return
        # A pod of a DaemonSet stays bound to a node that cannot be reached, as a static pod does.
        self._evict(names, lambda pod: not (action.unreachable and self._facts.is_tied(pod)))
        self.done.lost += names
        for name in names:
            self._simulation.lose(name, unreachable=action.unreachable)

    def change(self, action: NodeAction) -> None:
        node = self._node(action.node, action.at)
        if node is None:
            return
        self._apply(action, node)
        if self._cluster.nodes.find(node.name) != node:
            self._changed[node.name] = None

    def _apply(self, action: NodeAction, node: Node) -> None:
        match action:
            case TaintNode(taint=taint):
                if taint.effect == TaintEffect.NO_EXECUTE:
                    self._evict([node.name], lambda pod: not self._facts.tolerates(pod, taint))
                self._simulation.taint(node, taint)
            case UntaintNode(key=key, effect=effect):
                freed = without_taints(node, key, effect=effect)
                if freed is node:
                    self._missing(action.at, _unknown(action.taint, "no such taint", "taints", node.taints))
                self._simulation.put(freed)
            case UncordonNode():
                self._simulation.put(uncordoned(node))
            case DrainNode():
                self._evict([node.name], lambda pod: not self._facts.is_tied(pod))
                self._simulation.cordon(node)
            case CordonNode():
                self._simulation.cordon(node)
            case LabelNode(key=key, value=value):
                self._simulation.put(node._replace(labels={**node.labels, key: value}))

    def add(self, action: AddNodes) -> None:
        like, added = self._node(action.like, action.at), len(self.done.added) + action.count
        if added > MOST_ADDED:
            text = f"all actions together may add at most {MOST_ADDED:,} nodes"
            self._found.add(invalid_value(action.at, added, text, TOO_MANY_NODES))
            return
        if like is None:
            return
        model = without_taints(like, *action.without_taints)
        model = model._replace(labels={**model.labels, **dict(action.labels)})
        self.done.added += self._simulation.add(model, action.count)

    def changed_nodes(self) -> list[ChangedNodes]:
        """Return the nodes that were changed or added and are there, those that are alike together."""
        gone = set(self.done.lost)
        names = [name for name in [*self._changed, *self.done.added] if name not in gone]
        return alike_nodes(filter(None, map(self._cluster.nodes.find, names)))

    def _evict(self, nodes: Iterable[str], goes: Callable[[PodOnNode], bool]) -> None:
        pods = self._cluster.pods_on(nodes)
        self.done.evicted += self._simulation.evict(pod for pod in pods if goes(pod))

    def _node(self, name: str, at: FieldPath) -> Node | None:
        node = self._cluster.nodes.find(name)
        if node is None:
            self._missing(at, _unknown(name, "no such node", "nodes", self._cluster.nodes.names()))
        return node

    def _missing(self, at: FieldPath, text: str) -> None:
        self._found.add(FieldError(at, text, ErrorKind.INVALID, NOT_IN_CLUSTER))

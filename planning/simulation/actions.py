"""Events on nodes happen: a domain is lost, a node drained, cordoned, tainted, freed of these, or added."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, NamedTuple, TypeAlias

from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.events import (
    MOST_ADDED,
    AddedNodes,
    LabeledNode,
    LostDomain,
    NodeEvent,
    TaintedNode,
    UntaintedNode,
)
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
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.index import ClusterIndex, PodOnNode

#: The rule that an event breaks which names something that the cluster does not have.
NOT_IN_CLUSTER: Final = "not-in-cluster"
#: The rule that events break which add more nodes than that.
TOO_MANY_NODES: Final = "too-many-nodes"


#: Returns where something is that is wrong: by the position of its event, its name, and the way there.
Where: TypeAlias = Callable[[int, str, tuple[str, ...]], FieldPath]


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


def in_list(path: FieldPath) -> Where:
    """Return where something is in a list of events."""
    return lambda position, name, way: path.index(position).child(name, *way)


def by_option(_position: int, name: str, _way: tuple[str, ...]) -> FieldPath:
    """Return where something is in the options of a command."""
    return FieldPath((f"--{name}",))


def apply_events(
    events: Iterable[NodeEvent],
    simulation: ClusterSimulation,
    facts: PodFacts,
    found: ErrorList,
    where: Where = by_option,
) -> Disruption:
    """Let events on nodes happen one after another.

    Args:
        events: The events.
        simulation: The cluster, with the pods of all namespaces, which is changed.
        facts: What is known of its pods.
        found: Takes what is wrong; an event with errors changes nothing.
        where: Returns where that is.
    """
    changes = NodeChanges(simulation, facts, found, where)
    for position, event in enumerate(events):
        changes.apply(position, event)
    changes.done.changed = changes.changed_nodes()
    return changes.done


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


def _labeled(node: Node, label: LabeledNode) -> Node:
    """Return a node with a label, or without it."""
    labels = {key: value for key, value in node.labels.items() if key != label.key}
    return node._replace(labels=labels if label.value is None else {**labels, label.key: label.value})


class NodeChanges:
    """Lets events happen to the nodes of one cluster.

    Attributes:
        done: What has happened.
        drained: The nodes that are to be drained, where that is left to whoever plays the cluster: they are
            cordoned here.
    """

    def __init__(
        self,
        simulation: ClusterSimulation,
        facts: PodFacts,
        found: ErrorList,
        where: Where,
        *,
        evicts: bool = True,
    ) -> None:
        """Start with the cluster as it is.

        Args:
            simulation: The cluster, which is changed.
            facts: What is known of its pods.
            found: Takes what is wrong; an event with errors changes nothing.
            where: Returns where that is.
            evicts: Whether the pods of a drained node go at once, whatever their budgets allow.
        """
        self._simulation, self._cluster = simulation, simulation.cluster
        self._facts = facts
        self._found = found
        self._where = where
        self._position, self._event = 0, NodeEvent()
        self._evicts = evicts
        self.done, self.drained = Disruption(), list[str]()
        self._changed: dict[str, None] = {}

    def apply(self, position: int, event: NodeEvent) -> None:
        """Let an event happen.

        Args:
            position: Its position.
            event: The event.
        """
        self._position, self._event = position, event
        match event:
            case NodeEvent(lose=LostDomain() as lost):
                self._lose(lost)
            case NodeEvent(add=AddedNodes() as added):
                self._add(added)
            case NodeEvent(drain=str(name)):
                self._change(name, self._drain)
            case NodeEvent(cordon=str(name)):
                self._change(name, self._simulation.cordon)
            case NodeEvent(uncordon=str(name)):
                self._change(name, lambda node: self._simulation.put(uncordoned(node)))
            case NodeEvent(taint=TaintedNode() as tainted):
                self._change(tainted.node, lambda node: self._taint(node, tainted.taint), "node")
            case NodeEvent(untaint=UntaintedNode() as freed):
                self._change(freed.node, lambda node: self._untaint(node, freed), "node")
            case NodeEvent(label=LabeledNode() as label):
                self._change(label.node, lambda node: self._simulation.put(_labeled(node, label)), "node")

    def changed_nodes(self) -> list[ChangedNodes]:
        """Return the nodes that were changed or added and are there, those that are alike together."""
        gone = set(self.done.lost)
        names = [name for name in [*self._changed, *self.done.added] if name not in gone]
        return alike_nodes(filter(None, map(self._cluster.nodes.find, names)))

    def _lose(self, lost: LostDomain) -> None:
        domains = domains_of(self._cluster, lost.key)
        names = domains.get(lost.value)
        if names is None:
            self._missing(unknown_domain(lost.key, lost.value, list(domains)), "value")
            return
        # A pod of a DaemonSet stays bound to a node that cannot be reached, as a static pod does.
        self._evict(names, lambda pod: not (lost.unreachable and self._facts.is_tied(pod)))
        self.done.lost += names
        for name in names:
            self._simulation.lose(name, unreachable=bool(lost.unreachable))

    def _change(self, name: str, change: Callable[[Node], None], *way: str) -> None:
        node = self._node(name, *way)
        if node is None:
            return
        change(node)
        if self._cluster.nodes.find(node.name) != node:
            self._changed[node.name] = None

    def _drain(self, node: Node) -> None:
        if self._evicts:
            self._evict([node.name], lambda pod: not self._facts.is_tied(pod))
        else:
            self.drained.append(node.name)
        self._simulation.cordon(node)

    def _taint(self, node: Node, taint: Taint) -> None:
        if taint.effect == TaintEffect.NO_EXECUTE:
            self._evict([node.name], lambda pod: not self._facts.tolerates(pod, taint))
        self._simulation.taint(node, taint)

    def _untaint(self, node: Node, freed: UntaintedNode) -> None:
        left = without_taints(node, freed.key, effect=freed.effect)
        if left is node:
            self._missing(_unknown(freed.taints, "no such taint", "taints", node.taints), "node")
        self._simulation.put(left)

    def _add(self, more: AddedNodes) -> None:
        like, added = self._node(more.like, "like"), len(self.done.added) + more.count
        if added > MOST_ADDED:
            text = f"all actions together may add at most {MOST_ADDED:,} nodes"
            self._found.add(invalid_value(self._at("like"), added, text, TOO_MANY_NODES))
            return
        if like is None:
            return
        model = without_taints(like, *(more.without_taints or ()))
        model = model._replace(labels=model.labels | {each.key: each.value for each in more.labels or ()})
        self.done.added += self._simulation.add(model, more.count)

    def _evict(self, nodes: Iterable[str], goes: Callable[[PodOnNode], bool]) -> None:
        pods = self._cluster.pods_on(nodes)
        self.done.evicted += self._simulation.evict(pod for pod in pods if goes(pod))

    def _node(self, name: str, *way: str) -> Node | None:
        node = self._cluster.nodes.find(name)
        if node is None:
            self._missing(_unknown(name, "no such node", "nodes", self._cluster.nodes.names()), *way)
        return node

    def _at(self, *way: str) -> FieldPath:
        return self._where(self._position, self._event.what, way)

    def _missing(self, text: str, *way: str) -> None:
        self._found.add(FieldError(self._at(*way), text, ErrorKind.INVALID, NOT_IN_CLUSTER))

"""The cluster as integer columns and posting lists, kept up to date event by event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, ItemsView, Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from policies.manifests.fields import ErrorList, FieldError
from policies.model.cluster_kinds import NODE, POD, Kind
from policies.model.interpod_terms import NO_TERMS, InterPodTerms
from policies.model.labels import LabelSelector
from policies.model.node import read_node
from policies.model.pod import BoundPod, Pod, read_bound_pod
from policies.model.pod_volumes import NO_VOLUMES, PodVolumes
from policies.model.snapshot import SNAPSHOT_KINDS, kind_of
from policies.model.workload import DEFAULT_NAMESPACE, OWNER_KEY
from policies.scheduler.holdings import Holding, HoldingNumbers, PortTable, VolumeTable
from policies.scheduler.indexed_objects import READERS, IndexedObjects
from policies.scheduler.node_table import NodeTable
from policies.scheduler.pod_table import PodFields, PodTable
from policies.scheduler.term_table import TermTable, signed_preferences

#: Every kind, by apiVersion and kind.
INDEXED_KINDS: Final = SNAPSHOT_KINDS | READERS.keys() | {NODE, POD}


class SelectedPod(NamedTuple):
    """A pod that a selector selects: its name, its node, and its labels."""

    name: str
    node: str
    labels: frozenset[tuple[str, str]]


class ClusterIndex(IndexedObjects):
    """The nodes, pods, services and owners of a cluster, as the scheduler's plugins need them.

    Any order of events that ends in the same objects ends in the same results.

    Attributes:
        nodes: The nodes, and what is taken of them.
        volumes: The claims and disks of the pods.
        priorities: How many pods have each priority.
    """

    def __init__(self) -> None:
        super().__init__()
        self.nodes = NodeTable()
        self.volumes = VolumeTable()
        self.priorities: Counter[int] = Counter()
        self._pods: dict[str, PodTable] = {}
        #: Required terms of running pods, and preferred ones, of anti-affinity with a weight below zero.
        self.anti_affinity = TermTable()
        self.affinity = TermTable()
        self.preferred_terms = TermTable()
        self.ports = PortTable()
        self._holdings = HoldingNumbers()
        self._arrived = 0
        self._nominated: dict[tuple[str, str], BoundPod] = {}
        # Of a fork: what pods that are being deleted hold, wherever they are.
        self._terminating: list[tuple[int, Holding, PodVolumes]] = []
        self._is_fork = False

    def apply(self, obj: Mapping[str, Any], found: ErrorList | None = None) -> list[FieldError]:
        """Add an object, or replace the one of its kind, namespace and name.

        Args:
            obj: The object.
            found: Is given the parts of a large object that have not changed, and keeps others with them.

        Returns:
            What is wrong with it. An object with errors is left out, and so is what it should have replaced.
            Other kinds are passed over silently.
        """
        kind = kind_of(obj)
        if kind not in INDEXED_KINDS:
            return []
        found = ErrorList() if found is None else found
        found.kept = self._parts.of(kind, obj)
        # What is of any size is read before events and reviews have to wait.
        if kind == POD:
            pod = read_bound_pod(obj, found)
            with self._lock:
                self._apply_pod(pod, broken=bool(found.errors), kept=found.kept)
        elif kind == NODE:
            node = read_node(obj, found)
            with self._lock:
                if found.errors:
                    self.nodes.remove(node.name)
                else:
                    self.nodes.put(node)
        else:
            self._apply_object(kind, obj, found)
        if found.errors and found.kept:
            # With what is kept they would not be found again.
            found.kept.clear()
        return found.errors

    def fork(self, namespace: str, terms: InterPodTerms | None = None) -> ClusterIndex:
        """Return a copy to see what would be: its nodes, and its pods of one namespace, may change.

        Without terms it has the pods of all namespaces, which may all change.

        Given the terms of the only pod that it is for, it has pods of other namespaces only where those
        select some; of the rest it has what they hold of their nodes. It needs no ``reading`` of this index,
        which follows its events meanwhile.
        """
        fork = ClusterIndex()
        with self._lock:
            fork.nodes, fork._holdings = self.nodes.copy(), self._holdings.copy()
            fork.anti_affinity, fork.affinity = self.anti_affinity.copy(), self.affinity.copy()
            fork.preferred_terms = self.preferred_terms.copy()
            fork.ports = self.ports.copy()
            fork._take_objects(self, snapshot=self.snapshot if self._is_fork else self.snapshot.copy())
            fork.volumes = self.volumes.copy()
            fork.priorities = self.priorities.copy()
            fork._nominated, fork._arrived = dict(self._nominated), self._arrived
            fork._terminating = self._terminating or [
                (slot, self._holdings.find(number), volumes)
                for table in self._pods.values()
                for slot, number, volumes in table.terminating()
            ]
            listed = self.snapshot.namespaces
            covering = [term for group in terms or () for term in group]
            for name, table in self._pods.items():
                labels = listed[name].labels if name in listed else {}
                if (
                    terms is None
                    or name == namespace
                    or any(term.covers(name, labels) or term.covers(name, {}) for term in covering)
                ):
                    fork._pods[name] = table.copy()
        fork._is_fork = True
        return fork

    def bind(self, pod: Pod, name: str, node_name: str) -> None:
        """Add a pod, as if it had been scheduled to a node."""
        with self._lock:
            self._apply_pod(pod.bound_as(name, node_name=node_name), broken=False)

    def nominate(self, pod: Pod, name: str, node_name: str) -> None:
        """Let a pod wait for room on a node; pods of lower priority wait there no more.

        Source: ``prepareCandidate``, ``pkg/scheduler/framework/preemption/executor.go``, Kubernetes 1.36.
        """
        with self._lock:
            for key, other in list(self._nominated.items()):
                if other.nominated_node == node_name and other.priority < pod.priority:
                    del self._nominated[key]
            self._apply_pod(pod.bound_as(name, nominated_node=node_name), broken=False)

    def nominated_node(self, namespace: str, name: str) -> str:
        """Return the node on which a pod waits for room; empty if it does not."""
        found = self._nominated.get((namespace, name))
        return "" if found is None else found.nominated_node

    def count_pods(self, namespace: str, selector: LabelSelector) -> int:
        """Count the selected pods of a namespace that are bound and not being deleted."""
        return len(self.selected_names(namespace, selector))

    def count_by_node(self, namespace: str, selector: LabelSelector) -> dict[str, int]:
        """Count the same on each node that is there and has any."""
        pods = self._pods_in(namespace).count_by_node(selector, slots=self.nodes.slots)
        counts = zip(np.flatnonzero(pods).tolist(), pods[pods > 0].tolist(), strict=True)
        return {name: count for slot, count in counts if (name := self.nodes.name_if_there(slot)) is not None}

    def selected_names(self, namespace: str, selector: LabelSelector) -> list[str]:
        """Return the names of the pods that ``count_pods`` counts."""
        return self._pods_in(namespace).names_of(selector)

    def pod_names(self, namespace: str) -> Collection[str]:
        """Return the names of the bound pods of a namespace."""
        return self._pods_in(namespace).names()

    def all_spread(self, namespace: str, selector: LabelSelector) -> bool:
        """Return whether each pod that ``count_pods`` counts has spread constraints of its own."""
        numbers = self._pods_in(namespace).holdings_of(selector)
        return all(self._holdings.find(number).spread for number in numbers)

    def count_nodes(self, namespace: str, selector: LabelSelector) -> int:
        """Count the nodes with selected pods of a namespace that are not being deleted."""
        pods = self._pods_in(namespace).count_by_node(selector, slots=self.nodes.slots)
        return int(np.count_nonzero(pods[self.nodes.order()]))

    def selected_pods(self, namespace: str, selector: LabelSelector) -> list[SelectedPod]:
        """Return the selected pods of a namespace that are bound and not being deleted, by name."""
        with self._lock:
            found = self._pods_in(namespace).selected(selector)
            return sorted(SelectedPod(name, self.nodes.name_of(slot), labels) for name, slot, labels in found)

    def node_of(self, namespace: str, name: str) -> str | None:
        """Return the node of a pod; None for one that is gone, is being deleted, or whose node is gone."""
        table = self._pods.get(namespace)
        slot = None if table is None else table.node_of(name)
        return None if slot is None else self.nodes.name_if_there(slot)

    def nodes_of(self, namespace: str, names: Iterable[str]) -> list[str]:
        """Return the node of each of some pods that ``node_of`` has one for."""
        table = self._pods.get(namespace)
        slots = () if table is None else map(table.node_of, names)
        nodes = (None if slot is None else self.nodes.name_if_there(slot) for slot in slots)
        return [node for node in nodes if node is not None]

    def unbind(self, namespace: str, selector: LabelSelector) -> None:
        """Remove the selected pods of a namespace; of a fork, the namespace that it was made for."""
        with self._lock:
            for name in self.selected_names(namespace, selector):
                self._take_pod(namespace, name)

    def free_terminating(self) -> set[str]:
        """Give back what pods that are being deleted hold, in a fork; return the names of their nodes."""
        for slot, holding, volumes in self._terminating:
            self.nodes.unbind(slot, holding.requests)
            self._hold(slot, holding, volumes, -1)
        return {self.nodes.name_of(slot) for slot, _, _ in self._terminating}

    def remove(self, api_version: str, kind: str, namespace: str, name: str) -> None:
        """Remove an object; one that is not there, or of another kind, is passed over."""
        with self._lock:
            if (api_version, kind) == POD:
                self._take_pod(namespace or DEFAULT_NAMESPACE, name)
            elif (api_version, kind) == NODE:
                self.nodes.remove(name)
            else:
                self._remove_object((api_version, kind), namespace, name)
            self._parts.forget((api_version, kind), namespace, name)

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(self.nodes.names())

    @property
    def pod_count(self) -> int:
        """How many pods are bound to a node and have not finished."""
        return sum(map(len, self._pods.values()))

    def names(self, kind: Kind) -> set[tuple[str, str]]:
        """Return the namespace and name of each object of a kind, by its apiVersion and kind.

        Nodes and namespaces have no namespace themselves; pods and services are those that the index holds.
        """
        with self._lock:
            if kind == POD:
                return {
                    (namespace, name) for namespace, table in self._pods.items() for name in table.names()
                }
            if kind == NODE:
                return {("", name) for name in self.nodes.names()}
            return set(self._tables[kind].names() if kind in READERS else self.snapshot.names(kind))

    def count(self, kind: Kind) -> int:
        """Return how many objects of a kind there are, by its apiVersion and kind; see ``names``."""
        with self._lock:
            if kind == POD:
                return self.pod_count
            if kind == NODE:
                return self.node_count
            return len(self._tables[kind] if kind in READERS else self.snapshot.names(kind))

    def pod_tables(self) -> ItemsView[str, PodTable]:
        """Return the bound pods of every namespace."""
        return self._pods.items()

    def pods_on(self, nodes: Iterable[str]) -> list[PodOnNode]:
        """Return the pods that are bound to some nodes, known or not, in no particular order."""
        slots = self.nodes.slots_of(nodes)
        return [
            PodOnNode(namespace, name, self.nodes.name_of(slot), terminating)
            for namespace, table in self._pods.items()
            for name, slot, terminating in table.names_on(slots)
        ]

    def has_pods_below(self, priority: int) -> bool:
        """Return whether any bound pod has a lower priority, so that one of this priority might evict it."""
        return priority > min(self.priorities, default=priority)

    def nominated_pods(self) -> Collection[BoundPod]:
        """Return the pods that wait for the room that the scheduler makes for them on some node."""
        return self._nominated.values()

    def holding(self, number: int) -> Holding:
        """Return the holding with this number."""
        return self._holdings.find(number)

    def pods_of(self, namespace: str) -> PodTable | None:
        """Return the bound pods of a namespace, or None if there are none."""
        return self._pods.get(namespace)

    def _pods_in(self, namespace: str) -> PodTable:
        """Return the bound pods of a namespace, an empty table if there are none."""
        return self._pods.get(namespace) or PodTable()

    def _update_pod(self, pod: BoundPod, kept: dict[str, Any]) -> bool:
        """Take over the state of a pod that holds what it held; return whether it does."""
        table = self._pods.get(pod.namespace)
        row = None if table is None else table.find(pod.name)
        if (
            table is None
            or row is None
            or pod.priority != row.priority
            or pod.preempted != (pod.name in table.preempted)
            or pod.node_name != self.nodes.name_of(row.node)
            or _labels_in_table(pod).items() != table.label_sets.labels(row.label_set)
            or pod.volumes != table.volumes.get(pod.name, NO_VOLUMES)
        ):
            return False
        held = self._holdings.find(row.holding)
        # Comparing thousands of terms takes long, too.
        if held is not kept.get("holding") and held != Holding.of(pod):
            return False
        kept["holding"] = held
        # As if it had gone and come, which is what the scheduler makes of it.
        self._arrived += 1
        state = row._replace(terminating=pod.terminating, started=pod.started, number=self._arrived)
        table.update(pod.name, row, state)
        return True

    def _apply_pod(self, pod: BoundPod, *, broken: bool, kept: dict[str, Any] | None = None) -> None:
        if not (broken or pod.finished) and self._update_pod(pod, {} if kept is None else kept):
            return
        self._take_pod(pod.namespace, pod.name)
        # The scheduler's view holds bound pods alone, and drops those that have finished:
        # addAllEventHandlers and NewInformerFactory, pkg/scheduler, Kubernetes 1.36.
        if broken or pod.finished:
            return
        if not pod.node_name:
            if pod.nominated_node:
                self._nominated[pod.namespace, pod.name] = pod
            return
        table = self._pods.get(pod.namespace)
        if table is None:
            table = self._pods[pod.namespace] = PodTable()
        holding = Holding.of(pod)
        slot = self.nodes.bind(pod.node_name, holding.requests)
        self._hold(slot, holding, pod.volumes, 1, pod.namespace)
        self._arrived += 1
        self.priorities[pod.priority] += 1
        number = self._holdings.take(holding)
        row = PodFields(slot, 0, number, pod.terminating, pod.priority, pod.started, self._arrived)
        table.put(pod.name, _labels_in_table(pod), row)
        if pod.volumes is not NO_VOLUMES:
            table.volumes[pod.name] = pod.volumes
        if pod.preempted:
            table.preempted.add(pod.name)

    def _take_pod(self, namespace: str, name: str) -> None:
        self._nominated.pop((namespace, name), None)
        table = self._pods.get(namespace)
        if table is None:
            return
        taken = table.take(name)
        if taken is not None:
            holding = self._holdings.release(taken.holding)
            self.nodes.unbind(taken.node, holding.requests)
            self._hold(taken.node, holding, taken.volumes, -1)
            self.priorities[taken.priority] -= 1
            if not self.priorities[taken.priority]:
                del self.priorities[taken.priority]
            if not len(table):
                del self._pods[namespace]

    def _hold(
        self, slot: int, holding: Holding, volumes: PodVolumes, amount: int, namespace: str = ""
    ) -> None:
        """Add what a pod of a namespace holds of a node besides resources, or take it away."""
        if holding.terms is not NO_TERMS:
            self.anti_affinity.add(holding.terms.anti_affinity, slot, amount, namespace)
            self.affinity.add(holding.terms.affinity, slot, amount, namespace)
            self.preferred_terms.add(signed_preferences(holding.terms), slot, amount, namespace)
        if holding.ports:
            self.ports.add(holding.ports, slot, amount)
        if volumes is not NO_VOLUMES:
            self.volumes.add(volumes, slot, amount)


def _labels_in_table(pod: BoundPod) -> dict[str, str]:
    return {**pod.labels, OWNER_KEY: pod.owner}


class PodOnNode(NamedTuple):
    """Where a pod is."""

    namespace: str  #: Its namespace.
    name: str  #: Its name.
    node: str  #: The node that it is bound to.
    terminating: bool  #: Whether it is being deleted.

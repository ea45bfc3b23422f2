"""The cluster as integer columns and posting lists, kept up to date event by event."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, ItemsView, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple

import numpy as np

from policies.manifests.fields import ErrorList, FieldError, member, text_member
from policies.model.container_needs import HostPort
from policies.model.eviction_budget import EvictionBudget, read_eviction_budget
from policies.model.interpod_terms import NO_TERMS, InterPodTerms
from policies.model.labels import LabelSelector
from policies.model.node import read_node
from policies.model.pod import BoundPod, Pod, read_bound_pod
from policies.model.pod_volumes import NO_VOLUMES, PodVolumes
from policies.model.priority import PRIORITY_CLASS, PriorityClass, read_priority_class
from policies.model.resources import Requests
from policies.model.snapshot import SNAPSHOT_KINDS, Snapshot, kind_of
from policies.model.storage import Storage
from policies.model.storage_objects import READERS as STORAGE_KINDS
from policies.model.workload import DEFAULT_NAMESPACE
from policies.scheduler.holdings import PortTable, TermTable, signed_preferences
from policies.scheduler.node_table import NodeTable
from policies.scheduler.pod_table import PodRow, PodTable
from policies.scheduler.volume_table import VolumeTable

#: The kinds that the index holds besides those of the snapshot.
NODE: Final = ("v1", "Node")
POD: Final = ("v1", "Pod")
BUDGET: Final = ("policy/v1", "PodDisruptionBudget")
#: Every kind, by apiVersion and kind.
INDEXED_KINDS: Final = SNAPSHOT_KINDS | STORAGE_KINDS.keys() | {NODE, POD, BUDGET, PRIORITY_CLASS}


class SelectedPod(NamedTuple):
    """A pod that a selector selects: its name, its node, and its labels."""

    name: str
    node: str
    labels: frozenset[tuple[str, str]]


class ClusterIndex:
    """The nodes, pods, services and owners of a cluster, as the scheduler's plugins need them.

    One writer applies events, any number of readers use it under ``reading``; a lock keeps a reader from
    seeing half an event. Any order of events that ends in the same objects ends in the same results.

    Attributes:
        nodes: The nodes, and what is taken of them.
        snapshot: Services, namespaces and the owners that have selectors.
        storage: Claims, volumes and classes.
        volumes: The claims and disks of the pods.
        priorities: How many pods have each priority.
        budgets: The PodDisruptionBudgets.
        priority_classes: The PriorityClasses, by name.
    """

    def __init__(self) -> None:
        self.nodes = NodeTable()
        self.snapshot = Snapshot()
        self.storage = Storage()
        self.volumes = VolumeTable()
        self.priorities: Counter[int] = Counter()
        self.budgets: dict[tuple[str, str], EvictionBudget] = {}
        self.priority_classes: dict[str, PriorityClass] = {}
        self._listed: frozenset[tuple[str, str]] = frozenset()
        self._pods: dict[str, PodTable] = {}
        #: Required terms of running pods, and preferred ones, of anti-affinity with a weight below zero.
        self.anti_affinity = TermTable()
        self.affinity = TermTable()
        self.preferred_terms = TermTable()
        self.ports = PortTable()
        self._holdings = _HoldingNumbers()
        self._arrived = 0
        self._nominated: dict[tuple[str, str], BoundPod] = {}
        # Of a fork: what pods that are being deleted hold, wherever they are.
        self._terminating: list[tuple[int, Holding, PodVolumes]] = []
        self._is_fork = False
        # Reentrant, so that several evaluations can be made of one state of the cluster.
        self._lock = threading.RLock()

    def reading(self) -> AbstractContextManager[object]:
        """Hold events back while the index is read; what was computed may be used afterwards."""
        return self._lock

    def apply(self, obj: Mapping[str, Any]) -> list[FieldError]:
        """Add an object, or replace the one of its kind, namespace and name.

        Returns:
            What is wrong with it. An object with errors is left out, and so is what it should have replaced.
            Other kinds are passed over silently.
        """
        found = ErrorList()
        kind = kind_of(obj)
        if kind == POD:
            pod = read_bound_pod(obj, found)
            with self._lock:
                self._apply_pod(pod, broken=bool(found.errors))
        elif kind == NODE:
            node = read_node(obj, found)
            with self._lock:
                if found.errors:
                    self.nodes.remove(node.name)
                else:
                    self.nodes.put(node)
        elif kind == BUDGET:
            self._apply_budget(obj)
        elif kind == PRIORITY_CLASS:
            entry = read_priority_class(obj, found)
            with self._lock:
                self.priority_classes.pop(entry.name, None)
                if not found.errors:
                    self.priority_classes[entry.name] = entry
        elif kind in SNAPSHOT_KINDS:
            with self._lock:
                self.snapshot.apply(obj, found)
        elif kind in STORAGE_KINDS:
            with self._lock:
                self.storage.apply(kind, obj, found)
        return found.errors

    def _apply_budget(self, obj: Mapping[str, Any]) -> None:
        budget, metadata = read_eviction_budget(obj), member(obj, "metadata")
        key = text_member(metadata, "namespace") or DEFAULT_NAMESPACE, text_member(metadata, "name")
        with self._lock:
            self.budgets.pop(key, None)
            if budget is not None:
                self.budgets[key] = budget

    def fork(self, namespace: str, terms: InterPodTerms | None = None) -> ClusterIndex:
        """Return a copy to see what would be: its nodes, and its pods of one namespace, may change.

        Without terms it has the pods of all namespaces, which may all change.

        Given the terms of the only pod that it is for, it has pods of other namespaces only where those
        select some; of the rest it has what they hold of their nodes. It needs no ``reading`` of this index,
        which follows its events meanwhile.
        """
        twin = ClusterIndex()
        with self._lock:
            twin.nodes, twin._holdings = self.nodes.copy(), self._holdings.copy()
            twin.anti_affinity, twin.affinity = self.anti_affinity.copy(), self.affinity.copy()
            twin.preferred_terms = self.preferred_terms.copy()
            twin.ports = self.ports.copy()
            twin.storage, twin.volumes = self.storage.copy(), self.volumes.copy()
            twin.priorities, twin.budgets = self.priorities.copy(), dict(self.budgets)
            twin.priority_classes, twin._listed = self.priority_classes.copy(), self._listed
            twin._nominated, twin._arrived = dict(self._nominated), self._arrived
            twin.snapshot = self.snapshot if self._is_fork else self.snapshot.copy()
            twin._terminating = self._terminating or [
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
                    twin._pods[name] = table.copy()
        twin._is_fork = True
        return twin

    def bind(self, pod: Pod, name: str, node_name: str) -> None:
        """Add a pod, as if it had been scheduled to a node."""
        bound = BoundPod(
            namespace=pod.namespace,
            name=name,
            labels=dict(pod.labels),
            node_name=node_name,
            finished=False,
            terminating=False,
            requests=pod.requests,
            assumed=pod.held,
            terms=pod.terms,
            ports=pod.ports,
            volumes=pod.volumes,
            priority=pod.priority,
        )
        with self._lock:
            self._apply_pod(bound, broken=False)

    def count_pods(self, namespace: str, selector: LabelSelector) -> int:
        """Count the selected pods of a namespace that are bound and not being deleted."""
        table = self._pods.get(namespace)
        return 0 if table is None else len(table.names_of(selector))

    def all_spread(self, namespace: str, selector: LabelSelector) -> bool:
        """Return whether each pod that ``count_pods`` counts has spread constraints of its own."""
        table = self._pods.get(namespace)
        numbers = () if table is None else table.holdings_of(selector)
        return all(self._holdings.find(number).spread for number in numbers)

    def count_nodes(self, namespace: str, selector: LabelSelector) -> int:
        """Count the nodes with selected pods of a namespace that are not being deleted."""
        table = self._pods.get(namespace)
        if table is None:
            return 0
        pods = table.count_by_node(selector, slots=self.nodes.slots)
        return int(np.count_nonzero(pods[self.nodes.order()]))

    def selected_pods(self, namespace: str, selector: LabelSelector) -> list[SelectedPod]:
        """Return the selected pods of a namespace that are bound and not being deleted, by name."""
        table = self._pods.get(namespace)
        with self._lock:
            found = [] if table is None else table.selected(selector)
            return sorted(SelectedPod(name, self.nodes.name_of(slot), labels) for name, slot, labels in found)

    def unbind(self, namespace: str, selector: LabelSelector) -> None:
        """Remove the selected pods of a namespace; of a fork, the namespace that it was made for."""
        table = self._pods.get(namespace)
        with self._lock:
            for name in () if table is None else table.names_of(selector):
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
            elif (api_version, kind) == PRIORITY_CLASS:
                self.priority_classes.pop(name, None)
            elif (api_version, kind) == BUDGET:
                self.budgets.pop((namespace or DEFAULT_NAMESPACE, name), None)
            elif (api_version, kind) in STORAGE_KINDS:
                self.storage.remove((api_version, kind), namespace, name)
            else:
                self.snapshot.remove(api_version, kind, namespace, name)

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(self.nodes.names())

    @property
    def pod_count(self) -> int:
        """How many pods are bound to a node and have not finished."""
        return sum(map(len, self._pods.values()))

    def names(self, kind: tuple[str, str]) -> set[tuple[str, str]]:
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
            if kind == BUDGET:
                return set(self.budgets)
            if kind == PRIORITY_CLASS:
                return {("", name) for name in self.priority_classes}
            if kind in STORAGE_KINDS:
                return set(self.storage.names(kind))
            return set(self.snapshot.names(kind))

    def count(self, kind: tuple[str, str]) -> int:
        """Return how many objects of a kind there are, by its apiVersion and kind; see ``names``."""
        with self._lock:
            if kind == POD:
                return self.pod_count
            if kind == NODE:
                return self.node_count
            if kind in (BUDGET, PRIORITY_CLASS):
                return len(self.budgets if kind == BUDGET else self.priority_classes)
            held = self.storage if kind in STORAGE_KINDS else self.snapshot
            return len(held.names(kind))

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

    def list_kinds(self, kinds: Iterable[tuple[str, str]]) -> None:
        """Take note that all objects of some kinds are known, also where there is none."""
        kinds = frozenset(kinds)
        with self._lock:
            self._listed |= kinds
            self.storage.list_kinds(kinds & STORAGE_KINDS.keys())

    @property
    def knows_budgets(self) -> bool:
        """Whether the PodDisruptionBudgets are known: they were listed, or there is one."""
        return BUDGET in self._listed or bool(self.budgets)

    def nominated_pods(self) -> Collection[BoundPod]:
        """Return the pods that wait for the room that the scheduler makes for them on some node."""
        return self._nominated.values()

    def holding_of(self, pod: BoundPod) -> Holding:
        """Return the resources, terms and ports that a pod holds of its node, or would."""
        return Holding(pod.requests + pod.assumed + pod.older, pod.terms, pod.ports, pod.spread)

    def holding(self, number: int) -> Holding:
        """Return the holding with this number."""
        return self._holdings.find(number)

    def pods_of(self, namespace: str) -> PodTable | None:
        """Return the bound pods of a namespace, or None if there are none."""
        return self._pods.get(namespace)

    def _apply_pod(self, pod: BoundPod, *, broken: bool) -> None:
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
        holding = self.holding_of(pod)
        slot = self.nodes.bind(pod.node_name, holding.requests)
        self._hold(slot, holding, pod.volumes, 1)
        self._arrived += 1
        self.priorities[pod.priority] += 1
        number = self._holdings.take(holding)
        row = PodRow(slot, 0, number, pod.terminating, pod.priority, pod.started, self._arrived)
        table.put(pod.name, pod.labels, row)
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

    def _hold(self, slot: int, holding: Holding, volumes: PodVolumes, amount: int) -> None:
        """Add what a pod holds of a node besides resources, or take it away."""
        if holding.terms is not NO_TERMS:
            self.anti_affinity.add(holding.terms.anti_affinity, slot, amount)
            self.affinity.add(holding.terms.affinity, slot, amount)
            self.preferred_terms.add(signed_preferences(holding.terms), slot, amount)
        if holding.ports:
            self.ports.add(holding.ports, slot, amount)
        if volumes is not NO_VOLUMES:
            self.volumes.add(volumes, slot, amount)


class PodOnNode(NamedTuple):
    """Where a pod is.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        node: The node that it is bound to.
        terminating: Whether it is being deleted.
    """

    namespace: str
    name: str
    node: str
    terminating: bool


class Holding(NamedTuple):
    """The share of its node that a pod holds, and whether it was placed by spread constraints of its own."""

    requests: Requests
    terms: InterPodTerms
    ports: tuple[HostPort, ...]
    spread: bool


class _HoldingNumbers:
    """Numbers the distinct holdings, of which a cluster has few; one that no pod has is forgotten."""

    def __init__(self) -> None:
        self._numbers: dict[Holding, int] = {}
        self._holdings: list[Holding] = []
        self._counts: list[int] = []
        self._free: list[int] = []

    def take(self, holding: Holding) -> int:
        """Return the number of what one more pod holds."""
        number = self._numbers.get(holding)
        if number is None:
            if self._free:
                number = self._free.pop()
                self._holdings[number] = holding
            else:
                number = len(self._holdings)
                self._holdings.append(holding)
                self._counts.append(0)
            self._numbers[holding] = number
        self._counts[number] += 1
        return number

    def copy(self) -> _HoldingNumbers:
        """Return numbers of their own for the same holdings."""
        twin = _HoldingNumbers()
        twin._numbers, twin._holdings = dict(self._numbers), list(self._holdings)
        twin._counts, twin._free = list(self._counts), list(self._free)
        return twin

    def find(self, number: int) -> Holding:
        """Return the holding of a number."""
        return self._holdings[number]

    def release(self, number: int) -> Holding:
        """Release a number; return its holding."""
        holding = self._holdings[number]
        self._counts[number] -= 1
        if not self._counts[number]:
            del self._numbers[holding]
            self._free.append(number)
        return holding

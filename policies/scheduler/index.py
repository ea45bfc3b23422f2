"""The cluster as integer columns and posting lists, kept up to date event by event."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

import numpy as np

from policies.manifests.fields import ErrorList, FieldError
from policies.model.labels import LabelSelector
from policies.model.node import read_node
from policies.model.pod import DEFAULT_NAMESPACE, BoundPod, PendingPod, read_bound_pod
from policies.model.resources import Requests
from policies.model.snapshot import SNAPSHOT_KINDS, Snapshot, kind_of
from policies.scheduler.node_table import NodeTable
from policies.scheduler.pod_table import PodTable

#: The kinds that the index holds besides those of the snapshot.
NODE: Final = ("v1", "Node")
POD: Final = ("v1", "Pod")
#: Every kind, by apiVersion and kind.
INDEXED_KINDS: Final = SNAPSHOT_KINDS | {NODE, POD}


class ClusterIndex:
    """The nodes, pods, services and owners of a cluster, for the engine to ask.

    One writer applies events, any number of readers ask under ``reading``; a lock keeps an event and a
    reader apart, so that nobody sees half an event. Any order of events that ends in the same objects ends
    in the same answers.

    Attributes:
        nodes: The nodes, and what is taken of them.
        snapshot: Services, namespaces and the owners that have selectors.
    """

    def __init__(self) -> None:
        self.nodes = NodeTable()
        self.snapshot = Snapshot()
        self._pods: dict[str, PodTable] = {}
        self._requests = _RequestNumbers()
        # Of a fork: what pods that are being deleted hold, wherever they are.
        self._terminating: list[tuple[int, Requests]] = []
        self._is_fork = False
        # Reentrant, so that who asks several questions can ask them of one picture.
        self._lock = threading.RLock()

    def reading(self) -> AbstractContextManager[object]:
        """Keep events away while the index is asked; what was computed may be used afterwards."""
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
        elif kind in SNAPSHOT_KINDS:
            with self._lock:
                self.snapshot.apply(obj, found)
        return found.errors

    def fork(self, namespace: str) -> ClusterIndex:
        """Return a copy to see what would be: its nodes, and its pods of one namespace, may change.

        It has no pods of other namespaces, only what they take of their nodes. Whoever asks it needs no
        ``reading`` of this index, which goes on meanwhile.
        """
        twin = ClusterIndex()
        with self._lock:
            twin.nodes, twin._requests = self.nodes.copy(), self._requests.copy()
            twin.snapshot = self.snapshot if self._is_fork else self.snapshot.copy()
            twin._terminating = self._terminating or [
                (slot, self._requests.find(number))
                for table in self._pods.values()
                for slot, number in table.terminating()
            ]
            if (table := self._pods.get(namespace)) is not None:
                twin._pods[namespace] = table.copy()
        twin._is_fork = True
        return twin

    def bind(self, pod: PendingPod, name: str, node_name: str) -> None:
        """Add a pod, as if it had been scheduled to a node."""
        bound = BoundPod(
            namespace=pod.namespace,
            name=name,
            labels=dict(pod.labels),
            node_name=node_name,
            finished=False,
            terminating=False,
            requests=pod.requests,
        )
        with self._lock:
            self._apply_pod(bound, broken=False)

    def count_pods(self, namespace: str, selector: LabelSelector) -> int:
        """Count the selected pods of a namespace that are bound and not being deleted."""
        table = self._pods.get(namespace)
        return 0 if table is None else len(table.names_of(selector))

    def count_nodes(self, namespace: str, selector: LabelSelector) -> int:
        """Count the nodes with selected pods of a namespace that are not being deleted."""
        table = self._pods.get(namespace)
        if table is None:
            return 0
        pods = table.count_by_node(selector, slots=self.nodes.slots)
        return int(np.count_nonzero(pods[self.nodes.order()]))

    def unbind(self, namespace: str, selector: LabelSelector) -> None:
        """Remove the selected pods of a namespace; of a fork, the namespace that it was made for."""
        table = self._pods.get(namespace)
        with self._lock:
            for name in () if table is None else table.names_of(selector):
                self._take_pod(namespace, name)

    def free_terminating(self) -> set[str]:
        """Give back what pods that are being deleted hold, in a fork; return the names of their nodes."""
        for slot, requests in self._terminating:
            self.nodes.unbind(slot, requests)
        return {self.nodes.name_of(slot) for slot, _ in self._terminating}

    def remove(self, api_version: str, kind: str, namespace: str, name: str) -> None:
        """Remove an object; one that is not there, or of another kind, is passed over."""
        with self._lock:
            if (api_version, kind) == POD:
                self._take_pod(namespace or DEFAULT_NAMESPACE, name)
            elif (api_version, kind) == NODE:
                self.nodes.remove(name)
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
            return set(self.snapshot.names(kind))

    def count(self, kind: tuple[str, str]) -> int:
        """Return how many objects of a kind there are, by its apiVersion and kind; see ``names``."""
        with self._lock:
            if kind == POD:
                return self.pod_count
            return self.node_count if kind == NODE else len(self.snapshot.names(kind))

    def pods_of(self, namespace: str) -> PodTable | None:
        """Return the bound pods of a namespace, or None if there are none."""
        return self._pods.get(namespace)

    def _apply_pod(self, pod: BoundPod, *, broken: bool) -> None:
        self._take_pod(pod.namespace, pod.name)
        # The scheduler's view holds bound pods alone, and drops those that have finished:
        # addAllEventHandlers and NewInformerFactory, pkg/scheduler, Kubernetes 1.36.
        if broken or not pod.node_name or pod.finished:
            return
        table = self._pods.get(pod.namespace)
        if table is None:
            table = self._pods[pod.namespace] = PodTable()
        table.put(
            pod.name,
            node=self.nodes.bind(pod.node_name, pod.requests),
            requests=self._requests.take(pod.requests),
            labels=None if pod.terminating else pod.labels,
        )

    def _take_pod(self, namespace: str, name: str) -> None:
        table = self._pods.get(namespace)
        if table is None:
            return
        node, requests = table.take(name)
        if node:
            self.nodes.unbind(node, self._requests.release(requests))
            if not len(table):
                del self._pods[namespace]


class _RequestNumbers:
    """Numbers the distinct requests, of which a cluster has few; what nobody has any more is forgotten."""

    def __init__(self) -> None:
        self._numbers: dict[Requests, int] = {}
        self._requests: list[Requests] = []
        self._counts: list[int] = []
        self._free: list[int] = []

    def take(self, requests: Requests) -> int:
        """Return the number of some requests, for one more pod."""
        number = self._numbers.get(requests)
        if number is None:
            if self._free:
                number = self._free.pop()
                self._requests[number] = requests
            else:
                number = len(self._requests)
                self._requests.append(requests)
                self._counts.append(0)
            self._numbers[requests] = number
        self._counts[number] += 1
        return number

    def copy(self) -> _RequestNumbers:
        """Return numbers of their own for the same requests."""
        twin = _RequestNumbers()
        twin._numbers, twin._requests = dict(self._numbers), list(self._requests)
        twin._counts, twin._free = list(self._counts), list(self._free)
        return twin

    def find(self, number: int) -> Requests:
        """Return what a number stands for."""
        return self._requests[number]

    def release(self, number: int) -> Requests:
        """Take back a number; return what it stood for."""
        requests = self._requests[number]
        self._counts[number] -= 1
        if not self._counts[number]:
            del self._numbers[requests]
            self._free.append(number)
        return requests

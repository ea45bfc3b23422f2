"""The data of the page about one cluster: its index, and facts from its objects as they pass by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planning.simulation.scenario import ClusterState
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkloads, PendingPods
from policies.model.workload import DEFAULT_NAMESPACE, Owner
from policies.model.workload_kinds import WorkloadKinds
from policies.model.workload_ref import WorkloadRef
from policies.pods.known_pods import KnownPods
from policies.scheduler.index import ClusterIndex
from policies.scheduler.pod_table import NOWHERE
from webhook.requests.placement import AutoscaleField, unread_kinds

#: The position of a workload where a pod has none.
NO_WORKLOAD: Final = -1


class ClusterObjects:
    """The objects of a cluster that are kept besides its index.

    Attributes:
        workloads: Workloads of every kind.
        running: What the replacements of pods would look like.
        known: States and ages of pods.
        pending: The pods without a node.
    """

    def __init__(self, kinds: WorkloadKinds, now: float = 0.0) -> None:
        """Start with no object; the time in seconds since 1970 is given where the objects do not say it."""
        self.workloads = ClusterWorkloads(kinds, every_kind=True)
        self.known = KnownPods(None, now=now)
        self.running = self.known.running
        self.pending = PendingPods()

    def __call__(self, obj: dict[str, Any]) -> None:
        """Look at an object of the cluster."""
        for look in (self.workloads, self.known, self.pending):
            look(obj)


class BoundPods(NamedTuple):
    """The pods that are bound to a node, in no particular order."""

    slots: NDArray[np.intp]  #: The slot of each one's node in the index.
    numbers: NDArray[np.intp]  #: The position of each one's workload in ``refs``.
    refs: list[WorkloadRef | None]  #: The workloads; None for pods without a controller.


class PageAutoscaler(NamedTuple):
    """The autoscaler that may add nodes for pending pods."""

    name: str  #: The value of the option that gives it: a file, or ``deduced``.
    documents: AutoscaleField  #: The ``autoscale`` of a request for it.


def _elsewhere(route: str, _request: bytes) -> bytes:
    raise ValueError(f"{route} is requested by the process that has the connection")


@dataclass(frozen=True, kw_only=True)
class PageCluster:
    """A cluster at one moment, and what its pods are evaluated by."""

    context: AdmissionContext  #: What pods are placed by.
    index: ClusterIndex  #: The cluster.
    objects: ClusterObjects  #: What else is known of its objects.
    live: bool  #: Whether it was read from a live cluster.
    name: str  #: The file, or the context of the kubeconfig.
    read_at: datetime  #: When it was read.
    namespace: str = DEFAULT_NAMESPACE  #: Where objects go that name no namespace.
    notes: tuple[str, ...] = ()  #: What was left out, or is not known.
    opened: str = ""  #: The manifest that is shown at first; empty for none.
    autoscale: PageAutoscaler | None = None  #: The autoscaler that may add nodes; None for none.
    reading: int = 1  #: Which reading of the cluster it is, from 1.
    #: Answers a route of ``/v1``, given its JSON, in place of the index, which then has no nodes; None where
    #: the index has the cluster.
    remote: Callable[[str, bytes], bytes] | None = field(default=None, repr=False)
    #: Reads a workload of a live cluster, if it has one; None for a cluster of a file.
    fetch: Callable[[WorkloadRef], Mapping[str, Any] | None] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process is handed over: it has no connections."""
        return {**self.__dict__, "fetch": None, "remote": self.remote and _elsewhere}

    @property
    def state(self) -> ClusterState:
        """The cluster as what is played starts with it."""
        return ClusterState(
            context=self.context,
            known=self.objects.known,
            workloads=self.objects.workloads,
            unread=unread_kinds(self.index),
        )

    @cached_property
    def bound(self) -> BoundPods:
        """The pods that are bound to a node, and the workload of each."""
        slots: list[int] = []
        numbers: list[int] = []
        distinct: dict[WorkloadRef | None, int] = {}
        # The pods of one controller share their manifest, which names it.
        known: dict[bytes, int] = {}
        everywhere = self._everywhere()
        find = self.objects.running.find
        for namespace, table in self.index.pod_tables():
            for name, slot, _ in table.names_on(everywhere):
                pod = find(namespace, name)
                number = None if pod is None else known.get(pod.manifest)
                if number is None:
                    ref = None if pod is None else self._controller(namespace, pod.owner)
                    number = distinct.setdefault(ref, len(distinct))
                    if pod is not None:
                        known[pod.manifest] = number
                slots.append(slot)
                numbers.append(number)
        return BoundPods(np.array(slots, np.intp), np.array(numbers, np.intp), list(distinct))

    @cached_property
    def workloads(self) -> list[WorkloadRef]:
        """The workloads, and the controllers of pods of which the cluster shows no more, by name."""
        found = self.objects.workloads.known_by()
        found.update(ref for ref in self.bound.refs if ref is not None)
        for pod in self.objects.pending.each():
            if (key := self._controller(pod.namespace, pod.owner)) is not None:
                found.add(key)
        return sorted(found)

    @cached_property
    def positions(self) -> Mapping[WorkloadRef, int]:
        """The position of each of them."""
        return {key: position for position, key in enumerate(self.workloads)}

    def workload_of(self, namespace: str, owner: Owner | None) -> int:
        """Return the position of the workload that a pod's controller belongs to; -1 without one."""
        key = self._controller(namespace, owner)
        return NO_WORKLOAD if key is None else self.positions.get(key, NO_WORKLOAD)

    def workload_of_pod(self, namespace: str, name: str) -> int:
        """Return the position of the workload of a pod that is bound; -1 without one."""
        return self.workload_of(namespace, self._owner(namespace, name))

    def bound_names(self) -> list[tuple[str, str, str]]:
        """Return namespace, name and node of every pod that is bound."""
        everywhere, node_of = self._everywhere(), self.index.nodes.name_of
        return [
            (namespace, name, node_of(slot))
            for namespace, table in self.index.pod_tables()
            for name, slot, _ in table.names_on(everywhere)
        ]

    def pods_of(self, ref: WorkloadRef) -> list[tuple[str, str]]:
        """Return name and node of the bound pods of a workload, by name."""
        table = self.index.pods_of(ref.namespace)
        placed = () if table is None else table.names_on(self._everywhere())
        return sorted(
            (name, self.index.nodes.name_of(slot))
            for name, slot, _ in placed
            if self._controller(ref.namespace, self._owner(ref.namespace, name)) == ref
        )

    def pending_of(self, ref: WorkloadRef) -> list[str]:
        """Return the names of the pods of a workload that wait for a node."""
        return [
            pod.name
            for pod in self.objects.pending.each()
            if self._controller(pod.namespace, pod.owner) == ref
        ]

    def _everywhere(self) -> NDArray[np.bool_]:
        everywhere: NDArray[np.bool_] = np.arange(self.index.nodes.slots) != NOWHERE
        return everywhere

    def _owner(self, namespace: str, name: str) -> Owner | None:
        pod = self.objects.running.find(namespace, name)
        return None if pod is None else pod.owner

    def _controller(self, namespace: str, owner: Owner | None) -> WorkloadRef | None:
        if owner is None:
            return None
        return self.objects.workloads.controller(WorkloadRef(namespace, owner.kind, owner.name))

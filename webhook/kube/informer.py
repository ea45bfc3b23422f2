"""The cache of a live cluster: a reflector for every kind, all into one index, and workloads beside it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from policies.manifests.fields import ErrorList, FieldError, member
from policies.model.cluster_kinds import POD
from policies.model.snapshot import SELECTING_OWNERS, identity, kind_of
from policies.model.without_secrets import without_secrets
from policies.model.workload_kinds import WorkloadKinds
from policies.placement.core.cluster_workloads import ClusterWorkloads
from policies.scheduler.index import ClusterIndex
from webhook.kube.api_server import ApiServer
from webhook.kube.backoff import Backoff
from webhook.kube.kind_record import KindRecord, LeftOutObject
from webhook.kube.reflector import WATCH_S, Reflector
from webhook.kube.watched_resources import WATCHED_RESOURCES, WITH_PENDING_PODS

#: Seconds for all threads to end. One that waits for the answer to a list stays until it comes, and changes
#: nothing any more.
_STOP_S = 5.0
#: Of the age that counts as old, the share after which a watch is ended at the earliest: at half as much
#: more, the latest, there is time to begin the next one.
_WATCHED_SHARE = 1 / 3
#: What is missing among the workloads of a live cluster, of which ReplicaSets, ReplicationControllers and
#: StatefulSets are read, in the words of the answers.
UNWATCHED_KINDS: Final = (
    "Not looked at: Deployments scaled to zero, and custom resources that make pods without ReplicaSets, "
    "such as CloneSets"
)
_PENDING_PODS: Final = (
    "Pending pods are not watched: their number is what controllers report, less the pods that have a node"
)


def followed_workloads(kinds: WorkloadKinds, *, pending_pods: bool) -> ClusterWorkloads:
    """Return the store for the workloads of a watched cluster.

    Args:
        kinds: The kinds that make pods.
        pending_pods: Whether pods without a node are followed, too.
    """
    unread = (UNWATCHED_KINDS,) if pending_pods else (UNWATCHED_KINDS, _PENDING_PODS)
    return ClusterWorkloads(kinds, bound_only=not pending_pods, unread=unread)


class WorkloadStore:
    """An index, and the workloads of its cluster: of each what its pods are made of, and nothing secret.

    A child process reads the workloads without a lock, for no thread changes its copy.
    """

    def __init__(self, index: ClusterIndex, workloads: ClusterWorkloads) -> None:
        self._index = index
        self._workloads = workloads
        self._lock = threading.Lock()

    def apply(self, obj: Mapping[str, Any]) -> list[FieldError]:
        """Add an object or replace it; return why it is left out."""
        found = ErrorList()
        errors, kind = self._index.apply(obj, found), kind_of(obj)
        if kind == POD and not self._workloads.bound_only:
            with self._lock:
                self._workloads(obj)
        elif kind in SELECTING_OWNERS and errors:
            self._forget(kind[1], *identity(obj))
        elif kind in SELECTING_OWNERS:
            status = {"replicas": member(obj, "status").get("replicas")}
            kept = {**without_secrets(obj, found), "status": status}
            with self._lock:
                self._workloads(kept, found)
        return errors

    def remove(self, api_version: str, kind: str, namespace: str, name: str) -> None:
        """Remove an object; one that is not there is passed over."""
        self._index.remove(api_version, kind, namespace, name)
        if (api_version, kind) == POD or (api_version, kind) in SELECTING_OWNERS:
            self._forget(kind, namespace, name)

    def names(self, kind: tuple[str, str]) -> set[tuple[str, str]]:
        """Return the namespace and name of each object of a kind; of pods, also of those that are pending."""
        names = self._index.names(kind)
        if kind == POD:
            with self._lock:
                names |= self._workloads.pending_pods()
        return names

    def count(self, kind: tuple[str, str]) -> int:
        """Return how many objects of a kind there are."""
        return self._index.count(kind)

    def workloads(self) -> ClusterWorkloads:
        """Return the workloads as they are now; events go on meanwhile."""
        with self._lock:
            return self._workloads.copy()

    def _forget(self, kind: str, namespace: str, name: str) -> None:
        with self._lock:
            if kind == POD[1]:
                self._workloads.remove_pod(namespace, name)
            else:
                self._workloads.remove(kind, namespace, name)


class ClusterCache:
    """The cache of a cluster, kept in sync from ``start`` to ``stop``, once.

    Attributes:
        index: The cluster as far as it is known.
        store: The index with the workloads; None where they are not followed.
    """

    def __init__(
        self,
        api: ApiServer,
        *,
        workloads: ClusterWorkloads | None = None,
        clock: Callable[[], float] = time.monotonic,
        backoff: Callable[[], Backoff] = Backoff,
        max_age_s: float = math.inf,
    ) -> None:
        """Prepare the reflectors; no thread is started and no request is sent yet.

        Args:
            api: The API server; any number of caches may share one.
            workloads: What is to hold the workloads, with their pending pods unless it says so; None to
                follow none.
            clock: Seconds that never go back.
            backoff: Makes the pauses between the attempts of one kind.
            max_age_s: The age that counts as old; a cluster where nothing happens does not come near it.
        """
        self.index = ClusterIndex()
        self.store = None if workloads is None else WorkloadStore(self.index, workloads)
        bound_only = workloads is None or workloads.bound_only
        resources = WATCHED_RESOURCES if bound_only else WITH_PENDING_PODS
        self._clock = clock
        watch_s = min(WATCH_S, max_age_s * _WATCHED_SHARE)
        self._reflectors = [
            Reflector(
                api,
                resource,
                self.store or self.index,
                clock=clock,
                backoff=backoff(),
                watch_s=watch_s,
                availability=partial(self.index.set_unread, resource.key),
            )
            for resource in resources
        ]

    def start(self) -> None:
        """Begin to list and watch, after a fork."""
        for reflector in self._reflectors:
            reflector.start()

    def stop(self) -> None:
        """End the threads and their connections; the index stays as it is."""
        for reflector in self._reflectors:
            reflector.stop()
        deadline = time.monotonic() + _STOP_S
        for reflector in self._reflectors:
            reflector.join(max(0.0, deadline - time.monotonic()))

    @property
    def synced(self) -> bool:
        """Whether all objects were seen once of every kind that the cluster is not read without."""
        return not self.unsynced()

    def age_s(self) -> float:
        """Return for how many seconds the cache may have been out of date: of the kind where it is most.

        A kind is up to date whenever its list or its watch begins, and when its watch brings anything.
        Infinite before all kinds were seen once.
        """
        if not self.synced:
            return math.inf
        alive_at = min(reflector.alive_at for reflector in self._reflectors if reflector.record.synced)
        return max(0.0, self._clock() - alive_at)

    def unsynced(self) -> list[str]:
        """Return the kinds of which not all objects were seen once, each with the reason."""
        return [record.title for record in self.kinds() if not (record.synced or record.unread)]

    def refused(self, *, longer_s: float) -> list[str]:
        """Return the kinds that the API server has refused for longer than so, each with the reason.

        One that the cluster is read without is no such kind.
        """
        return [
            reflector.record.title
            for reflector in self._reflectors
            if reflector.refused_s() > longer_s and not reflector.tolerated
        ]

    def unread(self) -> dict[str, str]:
        """Return why the cluster is read without some kinds, by their lists in answers."""
        return self.index.unread

    def left_out(self) -> list[LeftOutObject]:
        """Return the objects that cannot be read."""
        return [obj for record in self.kinds() for obj in record.left_out]

    def kinds(self) -> list[KindRecord]:
        """Return how the cache of each kind is."""
        return [reflector.record for reflector in self._reflectors]

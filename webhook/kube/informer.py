"""The cache of a live cluster: a reflector for every kind, all into one index, and workloads beside it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

from policies.model.cluster_kinds import LIST_NAMES
from policies.model.cluster_workloads import ClusterWorkloads
from policies.scheduler.index import ClusterIndex
from webhook.fork_server import ToldStore
from webhook.kube.api_server import ApiServer
from webhook.kube.kind_record import KindRecord, LeftOutObject
from webhook.kube.reflector import WATCH_S, Backoff, Reflector
from webhook.kube.watched_resources import WATCHED_RESOURCES, WITH_PENDING_PODS
from webhook.workload_store import WorkloadStore

#: Seconds for all threads to end. One that waits for the answer to a list stays until it comes, and changes
#: nothing any more.
_STOP_S = 5.0


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
        told: ToldStore | None = None,
        clock: Callable[[], float] = time.monotonic,
        backoff: Callable[[], Backoff] = Backoff,
        max_age_s: float = math.inf,
    ) -> None:
        """Prepare the reflectors; no thread is started and no request is sent yet.

        Args:
            api: The API server; any number of caches may share one.
            workloads: What is to hold the workloads, with their pending pods unless it says so; None to
                follow none.
            told: What has the objects in another process; None to keep them here.
            clock: Seconds that never go back.
            backoff: Makes the pauses between the attempts of one kind.
            max_age_s: The age that counts as old; a cluster where nothing happens does not come near it.
        """
        self.index = ClusterIndex()
        self.store = None if workloads is None else WorkloadStore(self.index, workloads)
        bound_only = workloads is None or workloads.bound_only
        self._resources = WATCHED_RESOURCES if bound_only else WITH_PENDING_PODS
        store = told or self.store or self.index
        self._clock = clock
        # It may last half as much more, and then there must be time to begin the next one.
        watch_s = min(WATCH_S, max_age_s / 3)
        self._reflectors = [
            Reflector(
                api,
                resource,
                store,
                clock=clock,
                backoff=backoff(),
                watch_s=watch_s,
                availability=partial(store.set_unread, resource.key),
            )
            for resource in self._resources
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
        return {
            LIST_NAMES[resource.key]: reflector.record.unread
            for resource, reflector in zip(self._resources, self._reflectors, strict=True)
            if reflector.record.unread
        }

    def left_out(self) -> list[LeftOutObject]:
        """Return the objects that cannot be read."""
        return [obj for record in self.kinds() for obj in record.left_out]

    def kinds(self) -> list[KindRecord]:
        """Return how the cache of each kind is."""
        return [reflector.record for reflector in self._reflectors]

"""The steps of the controllers of Deployments and their ReplicaSets: a rollout, or a scale.

Sources, Kubernetes 1.36: ``rolling.go`` and ``recreate.go`` (``pkg/controller/deployment``),
``NewRSNewReplicas`` (``deployment_util.go``) and ``manageReplicas`` (``pkg/controller/replicaset``).
"""

from __future__ import annotations

from collections.abc import Sequence

from planning.simulation.rollout.replica_pods import ReplicaPods
from policies.model.scaling import RollingUpdate


class DeploymentController:
    """Rolls a Deployment out: its ReplicaSets have as many pods as their sizes after every step."""

    def __init__(
        self,
        pods: ReplicaPods,
        *,
        replicas: int,
        update: RollingUpdate | None,
        new: str,
        old: Sequence[str],
    ) -> None:
        """Start with the pods that run.

        Args:
            pods: The pods.
            replicas: How many the Deployment wants.
            update: The limits of a rolling update; None for the strategy Recreate.
            new: The new revision.
            old: The other ones, oldest first.
        """
        self._pods, self._replicas, self._update = pods, replicas, update
        self._new, self._old = new, old
        self._sizes = {revision: len(pods.of(revision)) for revision in (*old, new)}

    def run(self) -> None:
        """Reconcile until nothing changes any more; then let one pod become ready, and go on."""
        while self._reconcile() or self._pods.start_next():
            pass

    @property
    def is_complete(self) -> bool:
        """Whether all pods are of the new revision, and ready."""
        ready = self._ready(self._new)
        return not self._old_size and ready == self._sizes[self._new] == self._replicas

    @property
    def is_deadlocked(self) -> bool:
        """Whether old pods are left over; meaningful after ``run``."""
        return bool(self._old_size)

    @property
    def _old_size(self) -> int:
        return sum(self._sizes[revision] for revision in self._old)

    def _ready(self, revision: str) -> int:
        return sum(pod.ready for pod in self._pods.of(revision))

    def _reconcile(self) -> bool:
        if self._replace_evicted():
            return True
        if self._update is None:
            return self._recreate()
        return self._scale_up(self._update) or self._scale_down(self._update)

    def _replace_evicted(self) -> bool:
        """Let the controllers of ReplicaSets create pods in place of those that were evicted."""
        missing = {
            revision: size - len(self._pods.of(revision)) for revision, size in self._sizes.items() if size
        }
        for revision, count in missing.items():
            self._pods.create(revision, max(count, 0))
        return any(count > 0 for count in missing.values())

    def _recreate(self) -> bool:
        old = dict.fromkeys(self._old, 0)
        return self._resize(old) or self._resize({self._new: self._replicas})

    def _scale_up(self, update: RollingUpdate) -> bool:
        """Give the new ReplicaSet as many pods as the surge allows: ``reconcileNewReplicaSet``."""
        size, wanted = self._sizes[self._new], self._replicas
        if size < wanted:
            room = wanted + update.surge - sum(self._sizes.values())
            wanted = size + min(max(room, 0), wanted - size)
        return self._resize({self._new: wanted})

    def _scale_down(self, update: RollingUpdate) -> bool:
        """Take pods from the old ReplicaSets, the unavailable ones first: ``reconcileOldReplicaSets``."""
        sizes = {revision: self._sizes[revision] for revision in self._old}
        available = {revision: self._ready(revision) for revision in (*self._old, self._new)}
        least = self._replicas - min(update.unavailable, self._replicas)
        unavailable = self._sizes[self._new] - available[self._new]
        most = sum(self._sizes.values()) - least - unavailable
        if not self._old_size or most <= 0:
            return False
        for revision in self._old:
            count = min(most, sizes[revision] - available[revision])
            sizes[revision] -= count
            most -= count
        most = sum(available.values()) - least
        for revision in self._old:
            count = min(sizes[revision], max(most, 0))
            sizes[revision] -= count
            most -= count
        return self._resize(sizes)

    def _resize(self, sizes: dict[str, int]) -> bool:
        """Let the controllers of ReplicaSets create and delete pods; return whether any size changed."""
        changed = False
        with self._pods.together():
            for revision, size in sizes.items():
                pods = self._pods.of(revision)
                changed |= size != self._sizes[revision]
                self._sizes[revision] = size
                if size < len(pods):
                    self._pods.delete(self._pods.scale_down(pods, len(pods) - size))
                elif size > len(pods):
                    self._pods.create(revision, size - len(pods))
        return changed

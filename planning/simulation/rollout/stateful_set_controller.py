"""The steps of the controller of StatefulSets: a rollout, or a scale, or both.

Source, Kubernetes 1.36: ``updateStatefulSet`` and ``updateStatefulSetAfterInvariantEstablished``
(``pkg/controller/statefulset/stateful_set_control.go``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from planning.simulation.rollout.replica_pods import ReplicaPods
from planning.simulation.rollout.victims import Replica
from policies.manifests.fields import member
from policies.model.constraint import INT32_MAX
from policies.model.controller_labels import ordinal_of
from policies.model.scaling import resolve_share
from policies.model.workload import Workload


class StatefulUpdate(NamedTuple):
    """How a StatefulSet replaces its pods."""

    start: int  #: The first ordinal.
    parallel: bool  #: Whether its pods need not wait for each other (``podManagementPolicy: Parallel``).
    on_delete: bool  #: Whether only pods that someone deletes are replaced.
    partition: int  #: How many of the first pods keep the old revision.
    #: How many pods may be unavailable; None where the field is not set, and the controller without its
    #: feature gate goes on.
    unavailable: int | None


def stateful_update(workload: Workload, replicas: int) -> StatefulUpdate:
    """Read how a StatefulSet replaces its pods; what is of the wrong type is read as absent."""
    spec = member(workload.obj, "spec")
    strategy = member(spec, "updateStrategy")
    rolling = member(strategy, "rollingUpdate")
    unavailable = rolling.get("maxUnavailable")
    resolved = None if unavailable is None else resolve_share(unavailable, replicas, up=False)
    return StatefulUpdate(
        start=_number(member(spec, "ordinals"), "start"),
        parallel=workload.is_parallel,
        on_delete=strategy.get("type") == "OnDelete",
        partition=_number(rolling, "partition"),
        unavailable=None if resolved is None else max(resolved, 1),
    )


class StatefulSetController:
    """Brings the pods of a StatefulSet to what its object defines, an ordinal at a time."""

    def __init__(
        self, pods: ReplicaPods, *, name: str, replicas: int, update: StatefulUpdate, new: str, old: str
    ) -> None:
        """Start with the pods that run.

        Args:
            pods: The pods.
            name: The name of the StatefulSet.
            replicas: How many pods it wants.
            update: How it replaces them.
            new: The new revision.
            old: The revision of the first pods where it has a partition.
        """
        self._pods, self._name, self._update = pods, name, update
        self._new, self._old = new, old
        self._ordinals = range(update.start, update.start + replicas)

    def run(self) -> None:
        """Synchronize until nothing changes any more; then let one pod become ready, and go on."""
        while self._act() or self._pods.start_next():
            pass

    @property
    def is_complete(self) -> bool:
        """Whether every pod has its revision, and is ready."""
        pods = list(self._pods)
        return len(pods) == len(self._ordinals) and all(
            pod.ready and self._is_wanted(pod) and not self._is_outdated(pod) for pod in pods
        )

    @property
    def is_deadlocked(self) -> bool:
        """Whether pods are left over that should have been replaced or deleted; meaningful after ``run``."""
        return any(self._is_outdated(pod) or not self._is_wanted(pod) for pod in self._pods)

    def _pod(self, ordinal: int) -> Replica | None:
        return self._pods.named(f"{self._name}-{ordinal}")

    def _is_wanted(self, pod: Replica) -> bool:
        return ordinal_of(pod.name, self._name) in self._ordinals

    def _is_outdated(self, pod: Replica) -> bool:
        ordinal = ordinal_of(pod.name, self._name)
        first = self._update.start + self._update.partition
        is_updated = not self._update.on_delete and ordinal is not None and ordinal >= first
        return is_updated and pod.revision != self._new

    def _revision(self, ordinal: int) -> str:
        """Return the revision of a pod that is created: ``newVersionedStatefulSetPod``."""
        kept = not self._update.on_delete and ordinal < self._update.start + self._update.partition
        return self._old if kept else self._new

    def _act(self) -> bool:
        with self._pods.together():
            return self._sync()

    def _sync(self) -> bool:
        changed = False
        for ordinal in self._ordinals:
            pod = self._pod(ordinal)
            if pod is None:
                self._pods.create(self._revision(ordinal), 1, f"{self._name}-{ordinal}")
                changed = True
            if not self._update.parallel and (pod is None or not pod.ready):
                return changed
        return changed or self._remove_surplus() or self._replace()

    def _remove_surplus(self) -> bool:
        """Delete pods beyond the last ordinal, the highest first: ``processCondemned``."""
        surplus = [pod for pod in self._pods if not self._is_wanted(pod)]
        surplus.sort(key=lambda pod: ordinal_of(pod.name, self._name) or 0, reverse=True)
        self._pods.delete(surplus if self._update.parallel else surplus[:1])
        return bool(surplus)

    def _replace(self) -> bool:
        """Delete pods of the old revision, from the highest ordinal down."""
        update = self._update
        outdated: list[Replica] = []
        room = 1
        if update.unavailable is not None:
            room = update.unavailable - sum(not pod.ready for pod in self._pods)
        for ordinal in reversed(self._ordinals):
            pod = self._pod(ordinal)
            if len(outdated) >= room or pod is None:
                break
            if self._is_outdated(pod):
                outdated.append(pod)
            elif update.unavailable is None and not pod.ready:
                break
        self._pods.delete(outdated)
        return bool(outdated)


def _number(parent: Mapping[str, Any], name: str) -> int:
    value = parent.get(name)
    return value if type(value) is int and 0 < value <= INT32_MAX else 0

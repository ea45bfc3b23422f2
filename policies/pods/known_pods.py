"""The facts of a snapshot about pods and their controllers that the index of the cluster does not keep.

States, ages and deletion costs of pods; those without a node; what pods of each revision look like; how many
pods each ReplicaSet wants; and when the snapshot was taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from typing import Any, Final, NamedTuple

import orjson

from policies.manifests.fields import member, object_items, text_member
from policies.model.cluster_kinds import POD, REPLICA_SET
from policies.model.cluster_workloads import is_pending
from policies.model.deletion_facts import DeletionFacts, read_known_pod, seconds_of
from policies.model.labels import LabelSelector
from policies.model.replica_sources import desired_replicas
from policies.model.snapshot import kind_of
from policies.model.workload import DEFAULT_NAMESPACE, OWNER_KEY, controller_of, owner_of_pod
from policies.pods.pod_objects import PodObjects, pod_manifest
from policies.scheduler.workload_topology import REVISION_LABELS

_REVISION_LABELS: Final = tuple(sorted(REVISION_LABELS))
#: The times that a condition has.
_TIMES: Final = ("lastHeartbeatTime", "lastTransitionTime", "lastUpdateTime")


class PendingReplica(NamedTuple):
    """A pod without a node."""

    name: str  #: Its name.
    labels: Mapping[str, str]  #: Its labels.
    created: float  #: When it was created, in seconds since 1970.
    owner: str  #: What its controller is found by: see ``owner_of_pod``.


class ReplicaSetSize(NamedTuple):
    """How many pods a ReplicaSet of a Deployment wants."""

    revision: str  #: The value of the label that marks its pods.
    replicas: int  #: How many pods it wants.
    desired: int | None  #: How many its Deployment wanted when it was last scaled; None if unknown.


class KnownPods:
    """The facts about each pod, by namespace and name, and about the controllers that made them.

    They are part of a cluster as its index is: whoever plays one is given both.

    Attributes:
        running: The objects of bound pods, of which what replaces evicted ones is made.
    """

    def __init__(self, read: Callable[[], Iterable[Mapping[str, Any]]] | None, *, now: float) -> None:
        """Start without pods.

        Args:
            read: Reads all objects again, once more is asked than which pods wait; of what is shown only
                those are kept then. None to keep all that is shown.
            now: The time, in seconds since 1970; 0 for a snapshot, which has its own.
        """
        self.running = PodObjects(None if read is None else lambda: map(self._seen, read()))
        self._reads, self._shown = read is not None, False
        self._now, self._newest = now, ""
        self._facts: dict[tuple[str, str], DeletionFacts] = {}
        self._pending: dict[str, dict[str, PendingReplica]] = {}
        # By namespace and revision, and there by the name of the controller.
        self._samples: dict[tuple[str, str], dict[str, bytes]] = {}
        self._sizes: dict[tuple[str, str], list[ReplicaSetSize]] = {}

    def __call__(self, obj: Mapping[str, Any]) -> None:
        """Take in an object of the snapshot; of others than pods and ReplicaSets only the times."""
        self._shown = True
        if not self._reads:
            self.running(self._seen(obj))
        elif kind_of(obj) == POD and is_pending(obj):
            self._take(obj)

    @property
    def now(self) -> float:
        """The time in seconds since 1970: the newest that objects mention, if none is given; 0 without."""
        self.running.read_all()
        return self._now or seconds_of(self._newest)

    def facts(self, namespace: str, name: str) -> DeletionFacts | None:
        """Return the state and age of a pod, or None if it is not known."""
        self.running.read_all()
        return self._facts.get((namespace, name))

    def pending(self, namespace: str, selector: LabelSelector) -> Iterator[PendingReplica]:
        """Yield the selected pods without a node, oldest first."""
        if not self._shown:
            self.running.read_all()
        found = self._pending.get(namespace, {}).values()
        yield from sorted(
            (pod for pod in found if selector.matches({**pod.labels, OWNER_KEY: pod.owner})),
            key=lambda pod: (pod.created, pod.name),
        )

    def as_played(
        self, waiting: Iterable[tuple[str, PendingReplica]], gone: Iterable[tuple[str, str]]
    ) -> KnownPods:
        """Return what is known of a cluster that has been played since.

        Args:
            waiting: The pods without a node then, each with its namespace.
            gone: The namespace and name of pods that have left their node; one of the name is another one.
        """
        self.running.read_all()
        played: KnownPods = copy(self)
        played._pending, played._shown = {}, True
        for namespace, pod in waiting:
            played._pending.setdefault(namespace, {})[pod.name] = pod
        if left := frozenset(gone):
            played._facts = {key: facts for key, facts in self._facts.items() if key not in left}
        return played

    def sample(self, namespace: str, revision: str, selector: LabelSelector) -> dict[str, Any] | None:
        """Return a pod of a revision of the workload whose pods are selected, without name and node."""
        self.running.read_all()
        for manifest in self._samples.get((namespace, revision), {}).values():
            pod: dict[str, Any] = orjson.loads(manifest)
            labels = member(pod["metadata"], "labels")
            if selector.matches({**labels, OWNER_KEY: owner_of_pod(labels, pod["metadata"])}):
                return pod
        return None

    def sizes(self, namespace: str, deployment: str) -> list[ReplicaSetSize]:
        """Return how many pods each ReplicaSet of a Deployment wants that wants any."""
        self.running.read_all()
        return self._sizes.get((namespace, deployment), [])

    def _seen(self, obj: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take in an object, and return it."""
        self._newest = _newest(obj, self._newest)
        match kind_of(obj):
            case kind if kind == POD:
                self._take(obj)
            case kind if kind == REPLICA_SET:
                self._measure(obj)
        return obj

    def _take(self, obj: Mapping[str, Any]) -> None:
        (namespace, name), facts = read_known_pod(obj)
        self._facts[namespace, name] = facts
        metadata = member(obj, "metadata")
        labels = {key: text for key, text in member(metadata, "labels").items() if isinstance(text, str)}
        waits = self._pending.setdefault(namespace, {}) if is_pending(obj) else self._pending.get(namespace)
        if waits is not None:
            waits.pop(name, None)
            if is_pending(obj):
                waits[name] = PendingReplica(name, labels, facts.created, owner_of_pod(labels, metadata))
        revision = next((labels[key] for key in _REVISION_LABELS if key in labels), "")
        owner = controller_of(metadata)
        if not revision or owner is None:
            return
        samples = self._samples.setdefault((namespace, revision), {})
        if owner.name not in samples:
            try:
                samples[owner.name] = orjson.dumps(pod_manifest(metadata, member(obj, "spec"), namespace))
            except TypeError:
                return  # A number that no API has.

    def _measure(self, obj: Mapping[str, Any]) -> None:
        metadata, replicas = member(obj, "metadata"), member(obj, "spec").get("replicas")
        owner = controller_of(metadata)
        labels = member(metadata, "labels")
        revision = next((text_member(labels, key) for key in _REVISION_LABELS if key in labels), "")
        if owner is None or not revision or type(replicas) is not int or replicas < 1:
            return
        size = ReplicaSetSize(revision, replicas, desired_replicas(metadata))
        namespace = text_member(metadata, "namespace") or DEFAULT_NAMESPACE
        self._sizes.setdefault((namespace, owner.name), []).append(size)


#: What is known of pods where only their index was read, as of a cluster that a server follows.
UNREAD_PODS: Final = KnownPods(lambda: (), now=0.0)


def _newest(obj: Mapping[str, Any], newest: str) -> str:
    """Return the newest time of the API that an object mentions, or the known one if that is newer."""
    metadata, status = member(obj, "metadata"), member(obj, "status")
    times = [metadata.get("creationTimestamp"), status.get("startTime")]
    for condition in object_items(status.get("conditions")):
        times += [condition.get(name) for name in _TIMES]
    times += [entry.get("time") for entry in object_items(metadata.get("managedFields"))]
    for time in times:
        # Times of the API are in UTC and of one form, so that texts are in their order.
        if isinstance(time, str) and time > newest and time.endswith("Z") and seconds_of(time):
            newest = time
    return newest

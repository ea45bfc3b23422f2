"""Counts the pods of each controller by whether they were injected, page by page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.workload import REVISION_OWNERS
from webhook.doctor.facts import Injection, Owner
from webhook.doctor.objects import annotations_of, labels_of
from webhook.kube.api_server import ApiError, ApiServer
from webhook.kube.list import Listing, Resource

#: Namespaces that are looked at one by one, where the whole cluster must not be. Arbitrary: some seconds.
MOST_NAMESPACES: Final = 200
#: Pods that still need a place.
_ALIVE: Final = "status.phase!=Succeeded,status.phase!=Failed"
#: Controllers whose pods all look alike and are not made once for all.
_KINDS: Final = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet", "CloneSet"})

#: A controller: kind, namespace and name.
_Key = tuple[str, str, str]


class Tally:
    """The counts, a few integers for each controller.

    >>> tally = Tally()
    >>> tally.add([{"metadata": {"name": "a", "namespace": "b"}}])
    >>> tally.result()
    Injection(partial=(), pods=1, unseen='')
    """

    def __init__(self) -> None:
        self._counts: dict[_Key, list[int]] = {}
        self._restarts: dict[_Key, str] = {}
        self._pods = 0

    def add(self, pods: Iterable[Mapping[str, Any]]) -> None:
        """Count pods; those that are ending do not count."""
        for pod in pods:
            metadata = pod["metadata"]
            if metadata.get("deletionTimestamp"):
                continue
            self._pods += 1
            owners = metadata.get("ownerReferences") or ()
            owner = next((entry for entry in owners if entry.get("controller")), None)
            if owner is None or owner["kind"] not in _KINDS:
                continue
            key = (owner["kind"], metadata["namespace"], owner["name"])
            injected = INJECTED_ANNOTATION in annotations_of(pod)
            counts = self._counts.setdefault(key, [0, 0])
            counts[injected] += 1
            if all(counts):
                self._restarts.setdefault(key, restart_command(key, labels_of(pod)))

    def merge(self, other: Tally) -> None:
        """Add the counts of pods of other namespaces."""
        self._counts |= other._counts
        self._restarts |= other._restarts
        self._pods += other._pods

    def result(self, unseen: str = "") -> Injection:
        """Return the controllers with pods of both sorts."""
        partial = [
            Owner(*key, self._restarts[key], injected=injected, bare=bare)
            for key, (bare, injected) in self._counts.items()
            if bare and injected
        ]
        partial.sort(key=lambda owner: (-owner.bare, owner.namespace, owner.name))
        return Injection(tuple(partial), self._pods, unseen)


def restart_command(key: _Key, labels: Mapping[str, str]) -> str:
    """Return the command with which a controller's pods are made anew; empty if none is known.

    >>> restart_command(("ReplicaSet", "shop", "web-5d4"), {"pod-template-hash": "5d4"})
    'kubectl -n shop rollout restart deployment/web'
    """
    kind, namespace, name = key
    if kind == "StatefulSet":
        return f"kubectl -n {namespace} rollout restart statefulset/{name}"
    for label, owner in REVISION_OWNERS.items():
        whose = name.removesuffix(f"-{labels.get(label, '')}")
        if kind == "ReplicaSet" and label in labels and whose != name:
            if owner == "Deployment":
                return f"kubectl -n {namespace} rollout restart deployment/{whose}"
            return f"kubectl argo rollouts -n {namespace} restart {whose}"
    return ""


def count_cluster(api: ApiServer) -> Tally:
    """Count every pod of the cluster.

    Raises:
        ApiError: The API server refuses.
        UnreachableError: There is no answer.
    """
    return _count(api, "/api/v1/pods")


def count_namespaces(api: ApiServer, namespaces: Iterable[str]) -> tuple[Tally, int]:
    """Count pods namespace by namespace; return how many of those could not be looked at, too.

    Raises:
        UnreachableError: There is no answer.
    """
    tally, unseen = Tally(), 0
    for position, namespace in enumerate(namespaces):
        if position >= MOST_NAMESPACES:
            unseen += 1
            continue
        try:
            tally.merge(_count(api, f"/api/v1/namespaces/{namespace}/pods"))
        except ApiError:
            unseen += 1
    return tally, unseen


def _count(api: ApiServer, path: str) -> Tally:
    listing, tally = Listing(api, Resource("v1", "Pod", path, _ALIVE)), Tally()
    while page := listing.next():
        if page.first:
            # A list that begins anew repeats itself.
            tally = Tally()
        tally.add(page.items)
    return tally

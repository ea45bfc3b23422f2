"""The number of replicas of a workload whose manifest leaves it out: from a cluster, or an autoscaler.

``kubectl apply`` of such a manifest leaves the number as it is, so what runs counts first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.manifests.fields import member, text_member
from policies.model.replica_number import ONE_REPLICA, ReplicaNumber, ReplicaOrigin
from policies.model.repository import AUTOSCALER, SCALED_OBJECT, Repository
from policies.model.workload import DEFAULT_NAMESPACE, Workload, controller_of

#: Where a Deployment's controller writes how many replicas it wanted when it last scaled a ReplicaSet.
#: Source: ``DesiredReplicasAnnotation``, ``deployment_util.go``, Kubernetes 1.36.
DESIRED_ANNOTATION = "deployment.kubernetes.io/desired-replicas"

#: An object: group, kind, namespace and name.
_Key = tuple[str, str, str, str]


def is_autoscaler(obj: Mapping[str, Any]) -> bool:
    """Return whether an object of any shape says how many replicas another one has."""
    group = text_member(obj, "apiVersion").rpartition("/")[0]
    return (group, text_member(obj, "kind")) in {AUTOSCALER, SCALED_OBJECT}


@dataclass(slots=True)
class ReplicaSources:
    """The numbers of replicas that objects of a cluster and of files state."""

    #: The HorizontalPodAutoscalers and ScaledObjects, as they came.
    autoscalers: list[Mapping[str, Any]] = field(default_factory=list)
    _stored: dict[_Key, int] = field(default_factory=dict)
    # Of what owns ReplicaSets: how many pods those want together, and how many it wants itself; 0 if unknown.
    _owned: dict[_Key, tuple[int, int]] = field(default_factory=dict)

    def __call__(self, obj: Mapping[str, Any]) -> None:
        """Take in an object of the cluster, of any shape."""
        self.take_autoscaler(obj)
        replicas, metadata = member(obj, "spec").get("replicas"), member(obj, "metadata")
        if type(replicas) is not int or replicas < 0:
            return
        group = text_member(obj, "apiVersion").rpartition("/")[0]
        kind, namespace = text_member(obj, "kind"), text_member(metadata, "namespace") or DEFAULT_NAMESPACE
        self._stored[group, kind, namespace, text_member(metadata, "name")] = replicas
        owner = controller_of(metadata)
        if owner is not None and replicas:
            key = (owner.api_version.rpartition("/")[0], owner.kind, namespace, owner.name)
            total, desired = self._owned.get(key, (0, 0))
            self._owned[key] = total + replicas, max(desired, desired_replicas(metadata) or 0)

    def take_autoscaler(self, obj: Mapping[str, Any]) -> None:
        """Take in an object of a file, where a workload that is there does not run yet."""
        # Most objects of a cluster are pods.
        if obj.get("kind") != "Pod" and is_autoscaler(obj):
            self.autoscalers.append(obj)

    def number(self, workload: Workload, running: Callable[[], int]) -> ReplicaNumber:
        """Return how many replicas are meant of a workload: the one rule of all commands.

        That is the manifest's number; else the cluster's, of the object itself, its ReplicaSets or
        its pods; else the least that its autoscaler allows, one at least; else 1.

        Args:
            workload: A workload of a kind with a number of replicas.
            running: Counts its pods in the cluster; called where no object of the cluster has the number.
        """
        if workload.states_replicas:
            return ReplicaNumber(workload.replicas or 0, ReplicaOrigin.MANIFEST)
        key = _key(workload)
        if stored := self._stored.get(key):
            return ReplicaNumber(stored, ReplicaOrigin.CLUSTER, f"{workload.kind.kind} {workload.name}")
        if key in self._owned:
            total, desired = self._owned[key]
            return ReplicaNumber(desired or total, ReplicaOrigin.CLUSTER, "its ReplicaSets")
        if count := running():
            return ReplicaNumber(count, ReplicaOrigin.CLUSTER)
        scaler = Repository.of([workload], self.autoscalers).autoscaler(workload)
        if scaler is not None:
            return ReplicaNumber(max(scaler.least, 1), ReplicaOrigin.AUTOSCALER, scaler.named(workload))
        return ONE_REPLICA


def desired_replicas(metadata: Mapping[str, Any]) -> int | None:
    """Return how many replicas a Deployment wanted when it last scaled a ReplicaSet; None if not known.

    Args:
        metadata: The metadata of the ReplicaSet.
    """
    desired = text_member(member(metadata, "annotations"), DESIRED_ANNOTATION)
    is_number = desired.isascii() and desired.isdecimal() and len(desired) < len(str(2**31))
    return int(desired) if is_number else None


def _key(workload: Workload) -> _Key:
    kind = workload.kind
    return kind.group, kind.kind, workload.namespace or DEFAULT_NAMESPACE, workload.name

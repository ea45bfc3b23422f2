"""How many replicas of a workload are meant, and where the number comes from."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, NamedTuple

from policies.manifests.wire import INTERNAL


class ReplicaOrigin(StrEnum):
    """The source of a workload's number of replicas: the first of these that states it."""

    MANIFEST = "manifest"
    CLUSTER = "cluster"
    AUTOSCALER = "autoscaler"
    DEFAULT = "default"


class ReplicaNumber(NamedTuple):
    """How many replicas of a workload are meant, and where the number comes from."""

    replicas: Annotated[int, INTERNAL]  #: How many.
    #: The manifest; else the cluster, by the object, its ReplicaSets or the pods that run; else the least of
    #: an autoscaler; else the default of 1.
    origin: ReplicaOrigin
    #: The object with the number, by kind and name; empty where the pods that run were counted, and for the
    #: manifest and the default.
    source: str = ""


#: What Kubernetes sets in a new object that leaves it out: ``SetDefaults_Deployment``, ``apis/apps/v1``.
ONE_REPLICA = ReplicaNumber(1, ReplicaOrigin.DEFAULT)

"""The pods that a simulation schedules: replicas of a workload, or pods that are given one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planning.simulation.cluster_simulation import QueuedPod, may_evict
from planning.simulation.daemon_pods import nodes_of_daemon
from planning.simulation.replicas import (
    Replicas,
    check_replicas,
    parallel_pods,
    replicas_of,
    running_replicas,
)
from policies.config.context import AdmissionContext
from policies.manifests.fields import (
    NAME_TAKEN,
    ErrorList,
    FieldPath,
    duplicate_value,
    invalid_value,
    member,
    text_member,
    unsupported_value,
)
from policies.model.version import KubernetesVersion
from policies.model.workload import Workload, controller_of
from policies.pods.known_pods import KnownPods
from policies.pods.placement import (
    DAEMON_SET,
    PlacementError,
    PreparedPod,
    prepare,
    read_workload,
)
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex

#: The rule that an object breaks whose pods no scheduler compares nodes for, or that makes several.
NOT_SIMULATED: Final = "not-simulated"

_KIND = FieldPath(("kind",))
_NAME = FieldPath(("metadata", "name"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingQueue:
    """Pods that wait to be scheduled, and the cluster that they wait for."""

    pods: tuple[QueuedPod, ...]  #: The pods, in order.
    cluster: ClusterIndex  #: A fork, of which each simulation makes one of its own.
    known: KnownPods  #: What is known of its pods besides: what replaces those that are evicted.
    context: AdmissionContext  #: What they, and other pods of the cluster, are prepared by.
    version: KubernetesVersion  #: The release of Kubernetes.
    #: The workload whose replicas they are; None for pods that were given one by one.
    prepared: PreparedPod | None = None
    #: How many replicas the workload wants and has; None where that is not known.
    replicas: Replicas | None = None

    @property
    def workloads(self) -> tuple[PreparedPod, ...]:
        """The workload, if there is one."""
        return () if self.prepared is None else (self.prepared,)

    @property
    def may_evict(self) -> bool:
        """Whether pods of the cluster could be evicted for a pod of the queue, if it fits nowhere."""
        return any(may_evict(entry.request.pod, self.cluster) for entry in self.pods)


def queue_replicas(
    obj: Mapping[str, Any],
    context: AdmissionContext,
    known: KnownPods,
    *,
    namespace: str = "",
    count: int | None = None,
    changes_nodes: bool = False,
) -> SchedulingQueue:
    """Return replicas of a workload, or the pods that the controller of a DaemonSet makes, one for each node.

    Those of a DaemonSet are as after its rollout: in place of the ones that run.

    Args:
        obj: The workload, or a pod, of any shape.
        context: What its pods are placed by; its cluster must be there.
        known: What is known of the cluster's pods.
        namespace: Where the object goes if it names no namespace itself.
        count: How many replicas; by default those that the workload wants and that have no node; of a Job
            those that it runs at once, and one pod of any other object without a number of replicas.
        changes_nodes: Whether nodes change before these pods are scheduled, or for them.

    Raises:
        PlacementError: Kubernetes would refuse the object or its pods, or the controller of a DaemonSet makes
            none, or others than are asked for; holds every error.
    """
    workload = read_workload(obj, context, namespace=namespace)
    if workload.kind.kind == DAEMON_SET:
        return _one_for_each_node(workload, context, known, is_plain=count is None and not changes_nodes)
    with context.reading():
        prepared = prepare(workload, context)
        replicas = running_replicas(prepared)
        count = _missing(workload, replicas) if count is None else count
        return SchedulingQueue(
            pods=tuple(replicas_of(prepared, count)),
            cluster=prepared.cluster.fork(""),
            known=known,
            context=context,
            version=prepared.version,
            prepared=prepared,
            replicas=replicas,
        )


def _one_for_each_node(
    workload: Workload, context: AdmissionContext, known: KnownPods, *, is_plain: bool
) -> SchedulingQueue:
    """Return the pods of a DaemonSet.

    Source: ``podsShouldBeOnNode``, ``pkg/controller/daemon/daemon_controller.go``, Kubernetes 1.36.
    """
    if not is_plain:
        text = "must not be DaemonSet with a number of pods, actions or an autoscaler: one pod a node is made"
        raise PlacementError((invalid_value(_KIND, DAEMON_SET, text, NOT_SIMULATED),))
    with context.reading():
        prepared = prepare(workload, context)
        result = evaluate(prepared.request, prepared.cluster)
        nodes = [result.names[position] for position in nodes_of_daemon(result)]
        if not nodes:
            text = "its controller makes no pod: there is no node that its affinity and tolerations allow"
            raise PlacementError((invalid_value(_KIND, DAEMON_SET, text, NOT_SIMULATED),))
        return SchedulingQueue(
            pods=tuple(
                QueuedPod(f"{workload.name}-{node}", prepared.request.pinned_to(node)) for node in nodes
            ),
            cluster=prepared.cluster.fork(""),
            known=known,
            context=context,
            version=prepared.version,
            prepared=prepared,
        )


def _missing(workload: Workload, replicas: Replicas | None) -> int:
    """Return how many replicas have no node, or how many pods an object without replicas creates at once."""
    check_replicas(workload)
    if replicas is not None:
        return max(replicas.wanted - replicas.placed, 0)
    parallel = parallel_pods(workload)
    return 1 if parallel is None else parallel


def queue_pods(
    pods: Sequence[tuple[FieldPath, Mapping[str, Any]]], context: AdmissionContext, known: KnownPods
) -> SchedulingQueue:
    """Return pods that are given one by one, as manifests or as the API server has stored them.

    Args:
        pods: The pods, of any shape, and where each is.
        context: What they are placed by; its cluster must be there.
        known: What is known of the cluster's pods.

    Raises:
        PlacementError: Kubernetes would refuse a pod; holds every error.
    """
    cluster = context.cluster
    if cluster is None:
        raise ValueError("there is no cluster to place anything in")
    found, queued = ErrorList(), []
    taken: dict[str, set[str]] = {}
    with context.reading():
        for path, obj in pods:
            if found.full:
                break
            try:
                prepared = _prepare_pod(obj, context)
            except PlacementError as error:
                found.extend(replace(entry, path=path + entry.path) for entry in error.errors)
                continue
            namespace, name = prepared.request.pod.namespace, prepared.request.pod.name or str(path)
            if namespace not in taken:
                taken[namespace] = set(cluster.pod_names(namespace))
            if name in taken[namespace]:
                found.add(duplicate_value(path + _NAME, name, NAME_TAKEN))
            taken[namespace].add(name)
            owner = controller_of(member(obj, "metadata"))
            owned = "" if owner is None else f"{owner.kind}/{owner.name}"
            queued.append(QueuedPod(name, prepared.request, owned))
        if found.errors:
            raise PlacementError(tuple(found.errors))
        return SchedulingQueue(
            pods=tuple(queued),
            cluster=cluster.fork(""),
            known=known,
            context=context,
            version=context.kubernetes_version,
        )


def _prepare_pod(obj: Mapping[str, Any], context: AdmissionContext) -> PreparedPod:
    kind = context.kind_of(obj)
    if kind is not None and not kind.is_pod:
        raise PlacementError((unsupported_value(_KIND, text_member(obj, "kind"), ["Pod"], NOT_SIMULATED),))
    return prepare(read_workload(obj, context), context)

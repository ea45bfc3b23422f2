"""One pod is scheduled and bound, with its volumes, so that the next one is scheduled beside it.

Source of the volumes: ``AssumePodVolumes`` and ``BindPodVolumes``,
``pkg/scheduler/framework/plugins/volumebinding/binder.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

from policies.manifests.wire import OPTIONAL, Count
from policies.model.node_affinity import NodeOperator, NodeRequirement, NodeSelectorTerm
from policies.model.pod import Pod
from policies.model.pod_volumes import LostVolume
from policies.model.storage_objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeSite,
)
from policies.scheduler.evaluate import NodeSampler, evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.volumebinding import find_bindings
from policies.scheduler.pod_claims import with_claims
from policies.scheduler.repeated import RepeatedRequests
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import SchedulingResult
from policies.scheduler.volume_deadlocks import find_lost_volumes

#: Chooses one of the nodes with the best total, of which there is at least one, sorted by name.
TieBreaker: TypeAlias = Callable[[Sequence[str]], str]


def first_by_name(tied: Sequence[str]) -> str:
    """Choose the first node; kube-scheduler chooses at random."""
    return tied[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundStep:
    """A pod that got a node."""

    name: str  #: The pod's name.
    namespace: str  #: Its namespace.
    node: str  #: The node.
    feasible: Count  #: How many nodes were feasible.
    tied: tuple[str, ...]  #: The feasible nodes with the highest total, by name.
    score: Annotated[Count | None, OPTIONAL]  #: That total; absent if only one node was feasible.
    #: The pods that were evicted for it, as namespace/name; absent if none. ``tied`` are then the nodes on
    #: which evictions were equally good.
    evicted: Annotated[tuple[str, ...] | None, OPTIONAL]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingStep:
    """A pod that got none; the next was tried."""

    name: str  #: The pod's name.
    namespace: str  #: Its namespace.
    message: str  #: The scheduler's FitError.
    condition: str  #: The message of its PodScheduled condition.
    #: The pods that were evicted for it all the same, as namespace/name; absent if none.
    evicted: Annotated[tuple[str, ...] | None, OPTIONAL]
    #: The pods that kube-scheduler would evict for it and that were not, on each of the equally good nodes;
    #: absent if none.
    would_evict: Annotated[Mapping[str, tuple[str, ...]] | None, OPTIONAL]
    #: Its volumes that no node reaches, so that it stays pending until one does; absent if none.
    lost_volumes: Annotated[tuple[LostVolume, ...] | None, OPTIONAL]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingAttempt:
    """The outcome of scheduling one pod."""

    namespace: str  #: Its namespace.
    name: str  #: Its name.
    node: str | None = None  #: Where it was bound; None if it stays pending.
    #: The total of that node; None where one node alone was feasible, which the scheduler does not score, and
    #: for a pending pod.
    score: int | None = None
    feasible: int = 0  #: How many nodes were feasible, of those that were looked at.
    tied: tuple[str, ...] = ()  #: The feasible nodes with the best total, sorted by name.
    message: str = ""  #: The scheduler's FitError; empty if the pod was bound.
    condition: str = ""  #: The message of its PodScheduled condition; empty if the pod was bound.
    evicted: tuple[str, ...] = ()  #: The pods that were evicted for it, as namespace/name.
    #: The node on which it waits for the room that they leave; empty if it does not.
    nominated_node: str = ""
    #: The nodes on which evictions would make room for it equally well, each with those that would go.
    room: tuple[tuple[str, tuple[str, ...]], ...] = ()
    lost_volumes: tuple[LostVolume, ...] = ()  #: The volumes of a pending pod that no node reaches.

    def wire_form(self) -> BoundStep | PendingStep:
        """Return the step as it is sent."""
        if self.node is None:
            return PendingStep(
                name=self.name,
                namespace=self.namespace,
                message=self.message,
                condition=self.condition,
                evicted=self.evicted or None,
                would_evict=dict(self.room) or None,
                lost_volumes=self.lost_volumes or None,
            )
        return BoundStep(
            name=self.name,
            namespace=self.namespace,
            node=self.node,
            feasible=self.feasible,
            tied=self.tied,
            score=self.score,
            evicted=self.evicted or None,
        )


def schedule(
    request: SchedulingRequest,
    cluster: ClusterIndex,
    name: str,
    choose: TieBreaker = first_by_name,
    sampler: NodeSampler | None = None,
    *,
    repeated: RepeatedRequests | None = None,
) -> SchedulingAttempt:
    """Bind a pod to the best node, or to none where no node is feasible.

    Args:
        request: The pod, and the constraints in force.
        cluster: The cluster, a fork, which has the pod afterwards.
        name: What the pod is called; one of this name and namespace is replaced.
        choose: Chooses one of several best nodes.
        sampler: Finds as many of the feasible nodes as the scheduler would; None for all of them.
        repeated: What is known of the requests of pods that were scheduled before; None where that is not
            worth it.
    """
    found = repeated.best(request, cluster) if repeated is not None and sampler is None else None
    if found is None:
        if request.pod.claim_templates:
            request = replace(request, pod=with_claims(request.pod, name))
        elif request.pod.name != name and cluster.nominated_pods():
            # A pod leaves room for all that wait for it but itself; pods that are alike share a request.
            request = replace(request, pod=request.pod._replace(name=name))
        if repeated is None or sampler is not None:
            result = evaluate(request, cluster, sampler)
        else:
            result = repeated.evaluate(request, cluster)
        return _bind(result, cluster, name, choose)
    node = choose(found.names)
    cluster.bind(request.pod, name, node)
    return SchedulingAttempt(
        namespace=request.pod.namespace,
        name=name,
        node=node,
        score=found.total if found.feasible > 1 else None,
        feasible=found.feasible,
        tied=found.names,
    )


def _bind(
    result: SchedulingResult, cluster: ClusterIndex, name: str, choose: TieBreaker
) -> SchedulingAttempt:
    """Bind a pod by the whole verdict on every node."""
    request, best = result.request, result.best
    if not best:
        found = result.preemption
        return SchedulingAttempt(
            namespace=request.pod.namespace,
            name=name,
            message=result.message,
            condition=result.condition,
            room=tuple((name, found.victims[name]) for name in found.nominated) if found else (),
            lost_volumes=find_lost_volumes(result, cluster, name),
        )
    tied = tuple(map(result.names.__getitem__, best))
    node, feasible = choose(tied), result.feasible_count
    bind_claims(request.pod, node, cluster)
    cluster.bind(request.pod, name, node)
    return SchedulingAttempt(
        namespace=request.pod.namespace,
        name=name,
        node=node,
        score=result.total_of(best[0]) if feasible > 1 else None,
        feasible=feasible,
        tied=tied,
    )


def bind_claims(pod: Pod, node: str, cluster: ClusterIndex) -> None:
    """Bind the claims of a pod that wait for it to volumes on its node.

    Args:
        pod: The pod.
        node: Its node, on which it fits.
        cluster: The cluster, a fork, whose storage has the volumes afterwards.
    """
    if not pod.volumes.claims:
        return
    view = NodeView(cluster, pod)
    if not view.knows_claims or not view.claims.delayed:
        return
    position = view.index.nodes.positions()[node]
    chosen = {
        claim.name: volumes[int(of_node[position]) - 1]
        for claim, volumes, of_node in find_bindings(view).chosen
        if of_node[position]
    }
    for claim in view.claims.delayed:
        volume = chosen.get(claim.name) or _provisioned(claim, node, cluster)
        cluster.storage.volumes.put(_taken(volume, claim))
        bound = claim.with_state(bound=True, selected_node=None)
        cluster.storage.claims.put(bound._replace(volume=volume.name))


def _taken(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return a volume that a claim has."""
    return volume._replace(
        site=volume.site._replace(available=False, claimed=True),
        claim_namespace=claim.namespace,
        claim_name=claim.name,
        claim_uid=claim.uid,
    )


def _provisioned(claim: PersistentVolumeClaim, node: str, cluster: ClusterIndex) -> PersistentVolume:
    """Return the volume that a CSI driver makes for a claim: where its topology keys put it."""
    storage = cluster.storage
    found, csi_node = storage.classes.get(claim.shape.storage_class), storage.csi_nodes.get(node)
    provisioner = "" if found is None else found.provisioner
    keys = () if csi_node is None else csi_node.topology_keys.get(provisioner, ())
    placed = cluster.nodes.find(node)
    labels = {} if placed is None else placed.labels
    where = tuple(NodeRequirement(key, NodeOperator.IN, (labels[key],)) for key in keys if key in labels)
    csi = storage.csi_volume(claim)
    site = VolumeSite(
        shape=claim.shape,
        available=False,
        claimed=False,
        terminating=False,
        labels=(),
        terms=(NodeSelectorTerm(where),) if where else None,
        zones=(),
        driver="" if csi is None else csi.driver,
    )
    # No volume of the cluster is called so.
    return PersistentVolume(f"/{claim.namespace}/{claim.name}", site, "" if csi is None else csi.handle)

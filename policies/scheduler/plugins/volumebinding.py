"""VolumeBinding: whether a node reaches the volumes of the pod, or volumes for its claims can be had there.

Source: ``volumebinding/volume_binding.go`` and ``binder.go``, ``pkg/scheduler/framework/plugins``, and
``FindMatchingVolume``, ``k8s.io/component-helpers/storage/volume``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.model.labels import LabelSelector
from policies.model.node_affinity import NodeOperator, NodeRequirement, NodeSelectorTerm, comparisons
from policies.model.pod_volumes import ClaimVolume
from policies.model.storage_objects import (
    NO_PROVISIONER,
    CsiCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    whole_bytes,
)
from policies.scheduler.node_view import NodeView
from policies.scheduler.pod_claims import missing_claim
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.resource_view import Identity
from policies.scheduler.result import Code, Reason, Rejections

#: The reasons of one node, in their order: ``ErrReasonNodeConflict``, ``ErrReasonBindConflict``,
#: ``ErrReasonNotEnoughSpace``, ``ErrReasonPVNotExist``.
NODE_CONFLICT: Final = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT: Final = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE: Final = "node(s) did not have enough free storage"
VOLUME_GONE: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_TEXTS: Final = (NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_GONE)
_UNBOUND: Final = "pod has unbound immediate PersistentVolumeClaims"

#: Steps of comparing a volume with a claim, of finding its only node, and of a requirement of it, besides
#: those of each node.
SUIT_STEPS, PLACE_STEPS, MATCH_STEPS, NODE_STEPS = 14, 40, 60, 0.1
#: Steps of finding a volume for a claim, besides those of each node.
CLAIM_STEPS, CLAIM_NODE_STEPS = 100, 0.04
#: What volumes are called in messages.
_VOLUME: Final = "free volume"
#: In place of the position of a volume's only node: that several reach it, or none.
_SEVERAL, _NONE = -1, -2

#: Which nodes something holds for, shape ``(n,)``.
Mask = NDArray[np.bool_]


class Bindings(NamedTuple):
    """The volumes that the claims of a pod can get on every node."""

    rejected: tuple[Mask, Mask, Mask, Mask]  #: Which nodes have each reason, in the order of the texts.
    #: For each claim that gets a volume there is: those volumes, and 1 + the position of each node's, 0 where
    #: a new volume is made or none can be had; shape ``(n,)``.
    chosen: list[tuple[PersistentVolumeClaim, list[PersistentVolume], NDArray[np.intp]]]


def pre_filter(view: NodeView, request: SchedulingRequest) -> Reason | None:
    """Return the first claim that keeps the pod from every node."""
    for volume, claim in view.claims.volumes:
        text = _hindrance(volume, claim, request)
        if text:
            return Reason((text,), Code.UNRESOLVABLE)
    return Reason((_UNBOUND,), Code.UNRESOLVABLE) if view.claims.immediate else None


def filter_nodes(view: NodeView, _request: SchedulingRequest) -> Rejections:
    """Return the nodes that do not reach a volume of the pod, or where a claim of it gets none.

    A node may have several reasons.
    """
    if not view.knows_claims or not view.claims.volumes:
        return Rejections(Plugin.VOLUME_BINDING, (), np.zeros(len(view.slots), np.intp))
    bits = sum(mask.astype(np.intp) << at for at, mask in enumerate(find_bindings(view).rejected))
    found, of_node = np.unique(np.asarray(bits), return_inverse=True)
    reasons = tuple(
        Reason(tuple(text for at, text in enumerate(_TEXTS) if number >> at & 1), Code.UNRESOLVABLE)
        for number in found.tolist()
        if number
    )
    return Rejections(Plugin.VOLUME_BINDING, reasons, of_node + (0 if found[:1].tolist() == [0] else 1))


def find_bindings(view: NodeView) -> Bindings:
    """Return the volumes that the claims of a pod can get on every node: ``FindPodVolumes``."""
    unreached, gone = _check_bound(view)
    each = CLAIM_STEPS + len(view.slots) * CLAIM_NODE_STEPS
    view.index.steps.take(len(view.claims.delayed), each, "claim without a volume")
    finder = _VolumeFinder(view)
    every = np.ones(len(view.slots), np.bool_)
    elsewhere, provisioned, matched = ~every, [], []
    for claim in view.claims.delayed:
        if claim.state.selected_node is None:
            matched.append(claim)
        else:
            elsewhere |= ~view.named(frozenset((claim.state.selected_node,)))
            provisioned.append((claim, every))
    # Go sorts up to twelve claims in a stable way.
    chosen = []
    for claim in sorted(matched, key=lambda claim: claim.shape.size):
        volumes, of_node = finder.find(claim)
        chosen.append((claim, volumes, of_node))
        provisioned.append((claim, of_node == 0))
    unbound, too_small = _check_provisioning(view, provisioned)
    return Bindings((unreached, unbound | elsewhere, too_small & ~elsewhere, gone), chosen)


def _hindrance(volume: ClaimVolume, claim: PersistentVolumeClaim | None, request: SchedulingRequest) -> str:
    """Return why a claim keeps the pod from every node; empty if it does not: ``podHasPVCs``."""
    pod = request.pod
    if claim is None:
        if not volume.ephemeral:
            return missing_claim(volume.name)
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{volume.name}"'
    if claim.state.lost:
        return f'persistentvolumeclaim "{claim.name}" bound to non-existent persistentvolume "{claim.volume}"'
    if claim.state.terminating:
        return f'persistentvolumeclaim "{claim.name}" is being deleted'
    if volume.ephemeral and not (pod.uid and claim.state.owner_uid == pod.uid):
        of_claim, of_pod = f"{claim.namespace}/{claim.name}", f"{pod.namespace}/{pod.name}"
        return f"PVC {of_claim} was not created for pod {of_pod} (pod is not owner)"
    return ""


def _check_bound(view: NodeView) -> tuple[Mask, Mask]:
    """Return which nodes do not reach a bound volume, and for which one is gone: ``checkBoundClaims``.

    The first claim that fails decides.
    """
    unreached = np.zeros(len(view.slots), np.bool_)
    gone = unreached.copy()
    # Most volumes are in the same places.
    sites: dict[int, PersistentVolume] = {}
    missing = False
    for claim in view.claims.bound:
        volume = view.index.storage.volumes.get(claim.volume)
        if missing := volume is None:
            break
        sites.setdefault(id(volume.site), volume)
    take_reaching(view, sites.values())
    for volume in sites.values():
        unreached |= ~reaching(view, volume)
    return unreached, gone | ~unreached if missing else gone


def reaching(view: NodeView, volume: PersistentVolume) -> Mask:
    """Return which nodes reach a volume, shape ``(n,)``."""
    reached = _matching(view, volume.site.terms)
    if volume.site.plugin is not None and volume.site.migrated_terms != volume.site.terms:
        migrated = view.named(view.index.storage.migrated_nodes(volume.site.plugin.provisioner))
        reached = np.where(migrated, _matching(view, volume.site.migrated_terms), reached)
    return reached


def take_reaching(view: NodeView, volumes: Iterable[PersistentVolume]) -> None:
    """Take the steps of finding out which nodes reach volumes."""
    compared = sum(comparisons(volume.site.terms or ()) for volume in volumes)
    view.index.steps.take(compared, MATCH_STEPS + len(view.slots) * NODE_STEPS, "volume requirement")


def _only_label(terms: tuple[NodeSelectorTerm, ...] | None) -> tuple[str, str] | None:
    """Return the label that a node has to have, if that is all that is required, as by most local volumes."""
    match terms:
        case (NodeSelectorTerm((NodeRequirement(key, NodeOperator.IN, (value,)),), ()),):
            return key, value
    return None


def _matching(view: NodeView, terms: tuple[NodeSelectorTerm, ...] | None) -> Mask:
    if terms is None:
        return np.ones(len(view.slots), np.bool_)
    return view.matching_any(_without_fields(terms))


def _without_fields(terms: Iterable[NodeSelectorTerm]) -> Iterator[NodeSelectorTerm]:
    """Yield the terms that nodes can match; here a node has labels alone, and no name."""
    for term in terms:
        if all(entry.operator is NodeOperator.NOT_IN for entry in term.fields):
            yield (
                NodeSelectorTerm(term.expressions) if term.expressions else ANY_NODE if term.fields else term
            )


#: What every node matches.
ANY_NODE: Final = NodeSelectorTerm((NodeRequirement("", NodeOperator.DOES_NOT_EXIST),))


class _VolumeFinder:
    """Finds a volume for one claim after the other: on each node one that no claim before has there."""

    def __init__(self, view: NodeView) -> None:
        self._view = view
        #: Which nodes have chosen a volume before, and which volumes of a class their only node has.
        self._taken: dict[str, Mask] = {}
        self._gone: dict[str, Mask] = {}
        self._reaching: dict[int, Mask] = {}

    def find(self, claim: PersistentVolumeClaim) -> tuple[list[PersistentVolume], NDArray[np.intp]]:
        """Return volumes, and 1 + the position of the one that the claim gets on each node, else 0."""
        storage, steps, name = self._view.index.storage, self._view.index.steps, claim.shape.storage_class
        free, kept = storage.free_volumes(name), storage.volumes_for(claim)
        if not (free or kept):
            return [], np.zeros(len(self._view.slots), np.intp)
        steps.take(len(free) + len(kept), SUIT_STEPS, _VOLUME)
        suiting = np.fromiter((_suits(claim, volume) for volume in free), np.bool_, len(free))
        places = self._view.derive(("places", Identity(free)), lambda: self._places(free))
        gone = self._gone.setdefault(name, np.zeros(len(free), np.bool_))
        of_node = np.zeros(len(self._view.slots), np.intp)
        # The smallest is written last.
        local = np.flatnonzero(suiting & ~gone & (places >= 0))[::-1]
        of_node[places[local]] = local + 1
        seen = set[int]()
        for position in np.flatnonzero(suiting & (places == _SEVERAL)).tolist():
            volume = free[position]
            taken = self._taken.get(volume.name)
            # One that no claim has taken leaves none of its nodes to larger ones.
            if id(volume.site.terms) not in seen or taken is not None:
                reached = self._reach(volume) & ((of_node == 0) | (of_node > position + 1))
                of_node[reached if taken is None else reached & ~taken] = position + 1
            if taken is None:
                seen.add(id(volume.site.terms))
        volumes = [*free, *(volume for volume in kept if _fits(claim, volume))]
        # One that is kept for the claim goes before all, or leaves none.
        for position in reversed(range(len(free), len(volumes))):
            volume = volumes[position]
            taken = self._taken.get(volume.name)
            here = np.where(self._reach(volume), position + 1, 0)
            of_node = here if taken is None else np.where(taken, of_node, here)
        self._take(volumes, of_node, places, gone)
        return volumes, of_node

    def _take(
        self, volumes: list[PersistentVolume], of_node: NDArray[np.intp], places: NDArray[np.intp], gone: Mask
    ) -> None:
        """Note which volumes are taken on which nodes."""
        chosen = np.bincount(of_node, minlength=len(volumes) + 1)[1:] > 0
        local = chosen[: len(places)] & (places >= 0)
        gone |= local
        chosen[: len(places)] &= ~local
        for position in np.flatnonzero(chosen).tolist():
            taken = self._taken.setdefault(volumes[position].name, np.zeros(len(of_node), np.bool_))
            taken |= of_node == position + 1

    def _places(self, volumes: list[PersistentVolume]) -> NDArray[np.intp]:
        """Return the position of the only node that reaches each volume; else how many do."""
        self._view.index.steps.take(len(volumes), PLACE_STEPS, _VOLUME)
        places = np.full(len(volumes), _SEVERAL, np.intp)
        for position, volume in enumerate(volumes):
            if (label := _only_label(volume.site.terms)) is not None:
                nodes = self._view.label(label[0]).nodes_with(label[1])
                if len(nodes) <= 1:
                    places[position] = nodes[0] if len(nodes) else _NONE
        return places

    def _reach(self, volume: PersistentVolume) -> Mask:
        found = self._reaching.get(id(volume.site.terms))
        if found is None:
            take_reaching(self._view, (volume,))
            found = self._reaching[id(volume.site.terms)] = _matching(self._view, volume.site.terms)
        return found


def _fits(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Return whether a volume has what a claim requests, wherever it is."""
    asked, offered = claim.shape, volume.shape
    return (
        offered.size >= asked.size
        and offered.volume_mode == asked.volume_mode
        and offered.attributes_class == asked.attributes_class
        and not volume.site.terminating
    )


def _suits(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Return whether a volume that is free may be given to a claim."""
    selected = claim.state.selector is None or claim.state.selector.matches(dict(volume.site.labels))
    return _fits(claim, volume) and selected and claim.shape.modes <= volume.shape.modes


def _check_provisioning(
    view: NodeView, claims: Iterable[tuple[PersistentVolumeClaim, Mask]]
) -> tuple[Mask, Mask]:
    """Return where no volume can be made for a claim, and where the space is too small.

    The first claim that fails decides. Source: ``checkVolumeProvisions``.

    Args:
        view: The nodes.
        claims: The claims, and the nodes on which a volume must be made for each, shape ``(n,)``.
    """
    unbound = np.zeros(len(view.slots), np.bool_)
    too_small = unbound.copy()
    for claim, needing in claims:
        open_nodes = needing & ~unbound & ~too_small
        if not open_nodes.any():
            continue
        found = view.index.storage.classes.get(claim.shape.storage_class)
        if found is None or found.provisioner in ("", NO_PROVISIONER):
            unbound |= open_nodes
            continue
        allowed = _allowed(view, found)
        unbound |= open_nodes & ~allowed
        too_small |= open_nodes & allowed & ~_with_space(view, claim, found)
    return unbound, too_small


def _allowed(view: NodeView, storage_class: StorageClass) -> Mask:
    """Return on which nodes a class makes volumes: ``MatchTopologySelectorTerms``; an empty term is none."""
    if not storage_class.topologies:
        return np.ones(len(view.slots), np.bool_)
    terms = (
        NodeSelectorTerm(tuple(NodeRequirement(key, NodeOperator.IN, values) for key, values in term))
        for term in storage_class.topologies
    )
    return view.matching_any(terms)


def _with_space(view: NodeView, claim: PersistentVolumeClaim, storage_class: StorageClass) -> Mask:
    """Return on which nodes a CSI driver has the capacity for a claim: ``hasEnoughCapacity``."""
    storage = view.index.storage
    if not claim.state.sized or not storage.reports_capacity(storage_class.provisioner):
        return np.ones(len(view.slots), np.bool_)
    capacities = storage.capacities(storage_class.name)
    largest = view.derive(("largest", Identity(capacities)), lambda: _largest(view, capacities))
    enough: Mask = largest >= whole_bytes(claim.shape.size)
    return enough


def _largest(view: NodeView, capacities: list[CsiCapacity]) -> NDArray[np.int64]:
    """Return the largest volume that can be made on every node, -1 for none, shape ``(n,)``."""
    largest = np.full(len(view.slots), -1, np.int64)
    view.index.steps.take(len(capacities), PLACE_STEPS, "CSIStorageCapacity object")
    for capacity in capacities:
        if capacity.topology is None or capacity.limit is None:
            continue
        match capacity.topology:
            case LabelSelector(((key, value),), ()):
                nodes = view.label(key).nodes_with(value)
            case topology:
                each = MATCH_STEPS + len(view.slots) * NODE_STEPS
                view.index.steps.take(1 + topology.size, each, "capacity requirement")
                nodes = np.flatnonzero(view.selected(topology))
        largest[nodes] = np.maximum(largest[nodes], capacity.limit)
    return largest

"""Volumes that leave a pod no node: no node reaches them, or hard constraints allow none of those that do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from policies.manifests.wire import Count, SentAs
from policies.model.node_affinity import NodeOperator
from policies.model.pod_volumes import LostVolume
from policies.model.storage_objects import PersistentVolume
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.volumebinding import reaching
from policies.scheduler.plugins.volumezone import in_zones
from policies.scheduler.rejections import terms_text, zone_text
from policies.scheduler.result import FilterResult, SchedulingResult


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeDeadlock:
    """A volume that no node reaches, or only nodes on which hard constraints allow no pod."""

    claim: str  #: The claim that is bound to it.
    volume: str  #: Its name.
    reached_from: str  #: Which nodes reach it, as requirements of their labels.
    #: How many nodes reach it; with none its zone is lost.
    reaching: Annotated[Count, SentAs("reachingNodes")]
    #: The positions of the constraints that reject some of these, among those in force.
    constraints: tuple[int, ...]


def find_lost_volumes(result: SchedulingResult, index: ClusterIndex, name: str) -> tuple[LostVolume, ...]:
    """Return the volumes of a pod that no node reaches; none for a pod that fits.

    Args:
        result: The result.
        index: The cluster that was evaluated, unchanged since.
        name: What the pod is called.
    """
    pod = result.request.pod
    if result.feasible_count or not pod.volumes.claims:
        return ()
    with index.reading():
        return tuple(
            LostVolume(
                pod=name,
                claim=each.claim,
                volume=each.volume,
                reached_from=each.reached_from,
                label=_only_label(index.storage.volumes.get(each.volume)),
            )
            for each in _deadlocks(result, NodeView(index, pod))
            if not each.reaching
        )


def find_deadlocks(result: SchedulingResult, index: ClusterIndex) -> tuple[VolumeDeadlock, ...]:
    """Return the volumes that, with hard constraints, leave a pod no node; none for a pod that fits.

    Args:
        result: The result.
        index: The cluster that was evaluated, unchanged since.
    """
    if result.feasible_count or not result.names:
        return ()
    with index.reading():
        return tuple(_deadlocks(result, NodeView(index, result.request.pod)))


def _deadlocks(result: SchedulingResult, view: NodeView) -> Iterator[VolumeDeadlock]:
    hard = [(at, spread) for at, spread in enumerate(result.results) if isinstance(spread, FilterResult)]
    for claim in view.claims.bound if view.knows_claims else ():
        volume = view.index.storage.volumes.get(claim.volume)
        if volume is None:
            continue
        site, reached = volume.site, reaching(view, volume) & in_zones(view, volume)
        allowed = reached.copy()
        for _, spread in hard:
            allowed &= spread.satisfied
        if reached.all() or allowed.any():
            continue
        yield VolumeDeadlock(
            claim=claim.name,
            volume=volume.name,
            reached_from=terms_text(site.terms) if site.terms else zone_text(site.zones),
            reaching=int(np.count_nonzero(reached)),
            constraints=tuple(at for at, spread in hard if (reached & ~spread.satisfied).any()),
        )


def _only_label(volume: PersistentVolume | None) -> tuple[str, str] | None:
    """Return the label and the value that a node needs to reach a volume, if that is all it needs."""
    if volume is None:
        return None
    terms = volume.site.terms or ()
    wanted = [(entry.key, entry.operator, entry.values) for term in terms for entry in term.expressions]
    if any(term.fields for term in terms):
        return None
    wanted += [(key, NodeOperator.IN, tuple(values)) for key, values in volume.site.zones]
    match wanted:
        case [(key, NodeOperator.IN, (value,))]:
            return key, value
    return None

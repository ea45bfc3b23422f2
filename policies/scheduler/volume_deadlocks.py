"""Volumes that tie a pod to nodes on which its hard constraints allow none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from policies.manifests.wire import Count, SentAs
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.volumebinding import reaching
from policies.scheduler.plugins.volumezone import in_zones
from policies.scheduler.rejections import terms_text, zone_text
from policies.scheduler.result import FilterResult, SchedulingResult


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeDeadlock:
    """A volume that no node reaches, or only nodes on which hard constraints allow no pod.

    Attributes:
        claim: The claim that is bound to it.
        volume: Its name.
        reached_from: Which nodes reach it, as requirements of their labels.
        reaching: How many nodes reach it; with none its zone is lost.
        constraints: The positions of the constraints that reject some of these, among those in force.
    """

    claim: str
    volume: str
    reached_from: str
    reaching: Annotated[Count, SentAs("reachingNodes")]
    constraints: tuple[int, ...]


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
        volume = view.index.storage.volume(claim.volume)
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

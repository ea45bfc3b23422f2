"""Claims after whose remaking a pod fits that fits nowhere: their volumes are made where it may go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.suggestions.cluster_suggestions import MOST_TRIED, Changed
from policies.model.storage_objects import PersistentVolumeClaim, StorageClass
from policies.scheduler.changes import ChangeKind, ClusterChange, RemadeClaims
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.volumebinding import reaching
from policies.scheduler.plugins.volumezone import in_zones
from policies.scheduler.result import SchedulingResult

#: What the name of a proposed class ends in.
WAITING_SUFFIX: Final = "-wait-for-consumer"


def claim_suggestions(result: SchedulingResult, index: ClusterIndex) -> Iterator[Changed]:
    """Yield the claims with which a pod fits once they are made again, in their classes or in waiting ones.

    Args:
        result: On a pod that fits nowhere.
        index: The cluster that it was made on, unchanged.
    """
    if result.request.is_gated or not result.names:
        return
    search = _ClaimSearch(result, index)
    with index.reading():
        holding = _holding_claims(NodeView(index, result.request.pod))
    proposed = [[claim] for claim in holding[: MOST_TRIED - 1]]
    if len(holding) > 1:
        proposed.append(holding)
    for claims in proposed:
        changed = search.remade(claims) or search.reclassed(claims)
        if changed is not None:
            yield changed
            return


def _holding_claims(view: NodeView) -> list[PersistentVolumeClaim]:
    """Return the claims that keep the pod from some node, and that no other pod uses."""
    users, found = view.index.volumes.claims, []
    for used, claim in view.claims.volumes if view.knows_claims else ():
        if claim is None or used.ephemeral or users.holders(used):
            continue
        volume = view.index.storage.volumes.get(claim.volume) if claim.bound else None
        if claim.state.lost or (
            volume is not None and not (reaching(view, volume) & in_zones(view, volume)).all()
        ):
            found.append(claim)
    return found


class _ClaimSearch:
    """Makes claims again in copies of one cluster, and schedules the pod there."""

    def __init__(self, result: SchedulingResult, index: ClusterIndex) -> None:
        self._request, self._index = result.request, index

    def remade(self, claims: list[PersistentVolumeClaim]) -> Changed | None:
        """Return the change in which claims are made again as they are; None if the pod does not fit then."""
        simulation = ClusterSimulation.of(self._index, self._request)
        return self._changed(ChangeKind.CLAIM, self._named(claims), claims, simulation)

    def reclassed(self, claims: list[PersistentVolumeClaim]) -> Changed | None:
        """Return the change in which claims get a class that waits, where theirs, one and the same, does not.

        The mode of a class cannot be changed: it is another class, one of the cluster's or a new one.
        """
        storage = self._index.storage
        name, *others = {claim.shape.storage_class for claim in claims}
        old = storage.classes.get(name)
        if others or old is None or old.waits:
            return None
        new = self._waiting_like(old)
        if new is None:
            new = old._replace(name=name + WAITING_SUFFIX, waits=True, is_default=False)
            if storage.classes.get(new.name) is not None:
                return None
        like = "" if storage.classes.get(new.name) is not None else name
        simulation = ClusterSimulation.of(self._index, self._request)
        simulation.cluster.storage.classes.put(new)
        remade = [claim.with_state(shape=claim.shape._replace(storage_class=new.name)) for claim in claims]
        named = self._named(claims)._replace(storage_class=new.name, like=like)
        return self._changed(ChangeKind.STORAGE_CLASS, named, remade, simulation)

    def _waiting_like(self, old: StorageClass) -> StorageClass | None:
        """Return the first class that differs from another in waiting for the pod."""
        alike = (
            entry
            for entry in self._index.storage.classes
            if entry.waits and (entry.provisioner, entry.topologies) == (old.provisioner, old.topologies)
        )
        return min(alike, key=lambda entry: entry.name, default=None)

    def _named(self, claims: list[PersistentVolumeClaim]) -> RemadeClaims:
        pod = self._request.pod
        return RemadeClaims(pod.namespace, pod.name, tuple(claim.name for claim in claims))

    def _changed(
        self,
        what: ChangeKind,
        named: RemadeClaims,
        claims: list[PersistentVolumeClaim],
        simulation: ClusterSimulation,
    ) -> Changed | None:
        for claim in claims:
            # Without the uid no volume is still that claim's.
            new = claim.with_state(bound=False, lost=False, selected_node=None)
            simulation.cluster.storage.claims.put(new._replace(uid="", volume=""))
        result = simulation.evaluate(self._request)
        if not result.feasible_count:
            return None
        change = ClusterChange(what=what, count=len(claims), remade=named)
        return Changed(change, simulation.cluster, result)

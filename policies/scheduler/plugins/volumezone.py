"""VolumeZone: zones and regions that bound volumes name in their labels.

Source: ``volumezone/volume_zone.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.storage_objects import ZONE_LABELS, PersistentVolume, PersistentVolumeClaim
from policies.model.topology_keys import RENAMED
from policies.scheduler.node_table import MISSING
from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Reason, Rejections

#: ``ErrReasonConflict``.
NO_ZONE: Final = Reason(("node(s) had no available volume zone",), Code.UNRESOLVABLE)
#: Steps of comparing nodes with the zones of a volume, besides those of each node.
ZONE_STEPS: Final = 600
_NO_CLASS: Final = "PersistentVolumeClaim had no pv name and storageClass name"
_NO_NAME: Final = "PersistentVolume had no name"


def pre_filter(view: NodeView, _request: SchedulingRequest) -> Reason | None:
    """Return the first claim whose volume is missing, though it should be there."""
    texts = (_missing(view, claim) for claim in _claims(view))
    return next((Reason((text,), Code.UNRESOLVABLE) for text in texts if text), None)


def filter_nodes(view: NodeView, _request: SchedulingRequest) -> Rejections:
    """Return the nodes in another zone or region than a volume of the pod.

    A node without any zone or region takes every volume.
    """
    rejected = np.zeros(len(view.slots), np.bool_)
    found = (view.index.storage.volumes.get(claim.volume) for claim in _claims(view) if view.knows_claims)
    # Most volumes are in the same zones.
    distinct = {volume.site.zones: volume for volume in found if volume is not None and volume.site.zones}
    view.index.steps.take(len(distinct), ZONE_STEPS + len(view.slots), "volume zone")
    for volume in distinct.values():
        rejected |= ~in_zones(view, volume)
    return Rejections.where(rejected, Plugin.VOLUME_ZONE, NO_ZONE)


def in_zones(view: NodeView, volume: PersistentVolume) -> NDArray[np.bool_]:
    """Return which nodes are in the zones and regions of a volume, or in none at all; shape ``(n,)``."""
    inside = np.ones(len(view.slots), np.bool_)
    for key, values in volume.site.zones:
        inside &= _within(view, key, values)
    for_any = ~np.logical_or.reduce([view.label(key).present for key in ZONE_LABELS])
    reached: NDArray[np.bool_] = inside | for_any
    return reached


def _claims(view: NodeView) -> Iterator[PersistentVolumeClaim]:
    """Yield the claims that the plugin looks at: not those of ephemeral volumes."""
    for volume, claim in view.claims.volumes:
        if claim is not None and not volume.ephemeral:
            yield claim


def _missing(view: NodeView, claim: PersistentVolumeClaim) -> str:
    """Return the message for what a claim lacks; empty if nothing is missing, or it waits for the pod."""
    storage = view.index.storage
    if claim.volume:
        known = storage.volumes.get(claim.volume) is not None
        return "" if known else f'persistentvolume "{claim.volume}" not found'
    name = claim.shape.storage_class
    if not name:
        return _NO_CLASS
    found = storage.classes.get(name)
    if found is None:
        return f'storageclass.storage.k8s.io "{name}" not found'
    return "" if found.waits else _NO_NAME


def _within(view: NodeView, key: str, values: frozenset[str]) -> NDArray[np.bool_]:
    """Return which nodes have one of some values at a label, or at its new name where that is missing."""
    within = view.with_value(key, values)
    if key in RENAMED:
        lacking = view.label(key).numbers == MISSING
        within = within | (lacking & view.with_value(RENAMED[key], values))
    return within

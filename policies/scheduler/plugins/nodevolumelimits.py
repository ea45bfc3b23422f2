"""NodeVolumeLimits: how many volumes of a CSI driver a node may have attached.

Source: ``nodevolumelimits/csi.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.model.pod_volumes import CsiVolume, PodVolumes
from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Reason, Rejections

#: ``ErrReasonMaxVolumeCountExceeded``.
TOO_MANY_VOLUMES: Final = Reason(("node(s) exceed max volume count",), Code.UNSCHEDULABLE)

#: Steps of a volume of the pod, besides those of each node.
USE_STEPS, NODE_STEPS = 60, 0.1


class VolumeRoom(NamedTuple):
    """The volumes of one driver that limits them: how many nodes take, and have attached."""

    driver: str  #: The driver.
    volumes: frozenset[CsiVolume]  #: The volumes of the pod.
    most: NDArray[np.int64]  #: How many each node takes, shape ``(n,)``.
    attached: NDArray[np.int64]  #: How many it has attached, shape ``(n,)``.
    #: How many of the pod's are new there: no pod of the node uses them. Shape ``(n,)``.
    new: NDArray[np.int64]

    def counted(self, view: NodeView, volumes: PodVolumes) -> Iterator[CsiVolume]:
        """Yield the volumes of a running pod that the incoming pod does not use as well."""
        storage = view.index.storage
        claims = (storage.claims.get(claim.name, claim.namespace) for claim in volumes.claims)
        of_claims = (storage.csi_volume(claim) for claim in claims if claim is not None)
        for volume in {*of_claims, *volumes.inline}:
            if volume is not None and volume.driver == self.driver and volume not in self.volumes:
                yield volume


def filter_nodes(view: NodeView, _request: SchedulingRequest) -> Rejections:
    """Return the nodes to which not all volumes of the pod can be attached.

    ``attached + new > limit``, and at least one is new.
    """
    rejected = np.zeros(len(view.slots), np.bool_)
    for room in volume_rooms(view):
        rejected |= (room.attached + room.new > room.most) & (room.new > 0)
    return Rejections.where(rejected, Plugin.NODE_VOLUME_LIMITS, TOO_MANY_VOLUMES)


def volume_rooms(view: NodeView) -> Iterator[VolumeRoom]:
    """Yield the room for the volumes of the pod, for each driver that limits them."""
    index = view.index
    by_driver: defaultdict[str, list[CsiVolume]] = defaultdict(list)
    for volume in view.claims.attachable if view.knows_claims else ():
        by_driver[volume.driver].append(volume)
    for driver, volumes in by_driver.items():
        if index.storage.limits(driver):
            slots, attached = index.nodes.slots, index.volumes.attached(index.storage, index.nodes)
            most = attached.limits(driver, slots)[view.slots]
            new = np.zeros(len(view.slots), np.int64)
            index.steps.take(len(volumes), USE_STEPS + slots * NODE_STEPS, "claimed volume")
            for volume in volumes:
                new += ~attached.used(volume, slots)[view.slots]
            yield VolumeRoom(driver, frozenset(volumes), most, attached.count(driver, slots)[view.slots], new)

"""VolumeRestrictions: disks and claims that pods cannot share.

Source: ``volume_restrictions.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.pod_volumes import InlineDisk
from policies.scheduler.node_view import NodeView
from policies.scheduler.pod_claims import ONE_POD, missing_claim
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Reason, Rejections

#: ``ErrReasonDiskConflict`` and ``ErrReasonReadWriteOncePodConflict``.
NO_DISK: Final = Reason(("node(s) had no available disk",), Code.UNSCHEDULABLE)
_SHARED: Final = f"PersistentVolumeClaim with {ONE_POD} access mode already in-use by another pod"
IN_USE: Final = Reason((f"node(s) unavailable due to {_SHARED}",), Code.UNSCHEDULABLE)


def pre_filter(view: NodeView, _request: SchedulingRequest) -> Reason | None:
    """Return the first claim that is missing; those of ephemeral volumes are looked at elsewhere."""
    for volume, claim in view.claims.volumes:
        if claim is None and not volume.ephemeral:
            return Reason((missing_claim(volume.name),), Code.UNRESOLVABLE)
    return None


def filter_nodes(view: NodeView, request: SchedulingRequest) -> Rejections:
    """Return the nodes on which a disk of the pod is used, and all if a claim for one pod is.

    A disk in use gives the reason before a claim does.
    """
    of_node = np.zeros(len(view.slots), np.intp)
    if view.knows_claims and _uses(view):
        of_node[:] = 2
    if request.pod.volumes.disks:
        of_node[_with_disks(view, request)] = 1
    return Rejections(Plugin.VOLUME_RESTRICTIONS, (NO_DISK, IN_USE), of_node)


def _uses(view: NodeView) -> bool:
    """Return whether any pod uses a claim that a single pod may use."""
    used = view.index.volumes.claims
    return any(used.holders(claim) for claim in view.claims.of_one_pod)


def _with_disks(view: NodeView, request: SchedulingRequest) -> NDArray[np.bool_]:
    """Return on which nodes a disk of the pod is used, shape ``(n,)``; two that only read share it."""
    disks = view.index.volumes.disks
    taken = np.zeros(view.index.nodes.slots, np.bool_)
    for disk in request.pod.volumes.disks:
        for holder in disk_holders(disk):
            taken[list(disks.holders(holder))] = True
    return taken[view.slots]


def disk_holders(disk: InlineDisk) -> tuple[InlineDisk, ...]:
    """Return the uses of a disk that conflict with a use of it: two that only read it do not."""
    written = disk._replace(read_only=False)
    return (written,) if disk.read_only else (written, disk._replace(read_only=True))

"""ImageLocality: images of the pod that a node has. Source: ``image_locality.go``, Kubernetes 1.36."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.node_view import NodeView
from policies.scheduler.normalize import MAX_SCORE, NodeScores
from policies.scheduler.request import SchedulingRequest

#: Bytes of images below which all nodes score 0, and above which one container's do not add more.
FEW_BYTES: Final = 23 * 2**20
MANY_BYTES: Final = 1000 * 2**20


def score_nodes(view: NodeView, request: SchedulingRequest, _feasible: NDArray[np.bool_]) -> NodeScores:
    """Score the bytes of the pod's images that a node has, by the share of the nodes that have each."""
    names, counted = _images(request)
    total = np.zeros(len(view.slots), np.int64)
    for name in filter(None, names):
        nodes, size = view.with_image(name)
        if not size:
            continue
        spread = np.count_nonzero(nodes) / max(len(view.slots), 1)
        total += np.where(nodes, int(size * spread), 0)
    if not total.any():
        return NodeScores(total, total)
    most = MANY_BYTES * max(counted, 1)
    scores = MAX_SCORE * (np.clip(total, FEW_BYTES, most) - FEW_BYTES) // (most - FEW_BYTES)
    return NodeScores(scores, scores)


def _images(request: SchedulingRequest) -> tuple[tuple[str, ...], int]:
    """Return the images that are scored, and how many raise what is the most."""
    images, behavior = request.pod.images, request.behavior
    names, counted = images.containers, len(images.containers)
    if behavior.scores_init_images:
        names, counted = names + images.init_containers, counted + len(images.init_containers)
    if behavior.scores_image_volumes:
        names += images.volumes
    if behavior.counts_image_volumes:
        counted += len(images.volumes)
    return names, counted

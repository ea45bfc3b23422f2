"""The score plugins that look at a node and the pod alone: taints, node affinity, resources and images.

Sources: ``tainttoleration``, ``nodeaffinity``, ``noderesources`` and ``imagelocality`` below
``pkg/scheduler/framework/plugins``, and ``DefaultNormalizeScore``, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.resources import ASSUMED_NAMES
from policies.model.taints import TaintEffect
from policies.scheduler.node_view import NodeView
from policies.scheduler.podtopologyspread.scoring import MAX_SCORE
from policies.scheduler.request import SchedulingRequest

#: What nodes are compared by.
COMPARED: Final = ("cpu", "memory")
#: Bytes of images below which all nodes are alike, and above which one container's do not add more.
FEW_BYTES: Final = 23 * 2**20
MANY_BYTES: Final = 1000 * 2**20


def by_highest(
    raw: NDArray[np.int64], scored: NDArray[np.bool_], *, reverse: bool = False
) -> NDArray[np.int64]:
    """Scale scores so that the highest is 100; reversed, so that 0 becomes 100 and the highest 0."""
    highest = int(raw[scored].max(initial=0))
    scaled = MAX_SCORE * raw // highest if highest else np.zeros_like(raw)
    return np.where(scored, MAX_SCORE - scaled if reverse else scaled, 0)


def untolerated_preferences(question: SchedulingRequest, view: NodeView) -> NDArray[np.int64]:
    """Count the PreferNoSchedule taints of every node that the pod does not tolerate, shape ``(n,)``."""
    effects = ("", TaintEffect.PREFER_NO_SCHEDULE)
    tolerations = [entry for entry in question.pod.tolerations if entry.effect in effects]
    return view.count_untolerated(tolerations)


def preferred_weights(question: SchedulingRequest, view: NodeView) -> NDArray[np.int64] | None:
    """Sum the weights of the preferred node affinity terms that match, shape ``(n,)``; None without any."""
    preferred = question.pod.affinity.preferred
    if not preferred:
        return None
    total = np.zeros(len(view.slots), np.int64)
    for weight, term in preferred:
        total += weight * view.matching(term)
    return total


def least_allocated(question: SchedulingRequest, view: NodeView) -> NDArray[np.int64]:
    """Average the free share of CPU and of memory with the pod there, in whole percent; shape ``(n,)``."""
    assumed = dict(question.pod.assumed)
    total, weights = np.zeros(len(view.slots), np.int64), np.zeros(len(view.slots), np.int64)
    for resource in COMPARED:
        offered, _ = view.amounts(resource)
        _, used = view.amounts(ASSUMED_NAMES[resource])
        requested = used + assumed.get(ASSUMED_NAMES[resource], 0)
        present = offered != 0
        free = np.where(requested > offered, 0, offered - requested)
        total += np.where(present, free * MAX_SCORE // np.where(present, offered, 1), 0)
        weights += present
    return np.where(weights > 0, total // np.maximum(weights, 1), 0)


def balance(question: SchedulingRequest, view: NodeView) -> NDArray[np.int64] | None:
    """Return 75 and how much more evenly CPU and memory are used with the pod, shape ``(n,)``.

    None for a pod that asks for neither.
    """
    requests = dict(question.pod.requests)
    if not any(requests.get(resource) for resource in COMPARED):
        return None
    half = MAX_SCORE // 2
    gain = half + _evenness(view, requests) - _evenness(view, {})
    return half + gain // 2


def _evenness(view: NodeView, requests: dict[str, int]) -> NDArray[np.int64]:
    """Return 100 less the standard deviation of the used shares of two resources, in percent."""
    shares, present = [], []
    for resource in COMPARED:
        offered, used = view.amounts(resource)
        present.append(offered != 0)
        share = (used + requests.get(resource, 0)) / np.where(offered != 0, offered, 1)
        shares.append(np.minimum(share, 1.0))
    deviation = np.where(present[0] & present[1], np.abs((shares[0] - shares[1]) / 2), 0.0)
    return ((1 - deviation) * float(MAX_SCORE)).astype(np.int64)


def image_bytes(question: SchedulingRequest, view: NodeView) -> NDArray[np.int64]:
    """Score the bytes of the pod's images that a node has, by the share of the nodes that have each."""
    images = question.pod.images
    total = np.zeros(len(view.slots), np.int64)
    for name in images.names:
        nodes, size = view.with_image(name)
        spread = np.count_nonzero(nodes) / max(len(view.slots), 1)
        total += np.where(nodes, int(size * spread), 0)
    most = MANY_BYTES * max(images.containers, 1)
    return MAX_SCORE * (np.clip(total, FEW_BYTES, most) - FEW_BYTES) // (most - FEW_BYTES)

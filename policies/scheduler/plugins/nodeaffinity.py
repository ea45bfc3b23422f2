"""NodeAffinity: ``nodeSelector`` and the node affinity of the pod.

Source: ``node_affinity.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.node_view import NodeView
from policies.scheduler.normalize import NodeScores, by_highest
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Plugin, Reason, Rejections

NOT_MATCHED: Final = Reason(("node(s) didn't match Pod's node affinity/selector",), Code.UNRESOLVABLE)


class NodeAffinityPlugin:
    """Rejects nodes that affinity or selector do not match, and scores them by the preferred terms."""

    def filter(self, view: NodeView, _request: SchedulingRequest) -> Rejections:
        """Return what the plugin rejects."""
        return Rejections.where(~view.matches_affinity, Plugin.NODE_AFFINITY, NOT_MATCHED)

    def score(
        self, view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_]
    ) -> NodeScores | None:
        """Sum the weights of the preferred terms that match; None without any."""
        preferred = request.pod.affinity.preferred
        if not preferred:
            return None
        total = np.zeros(len(view.slots), np.int64)
        for weight, term in preferred:
            total += weight * view.matching(term)
        return NodeScores(total, by_highest(total, feasible))

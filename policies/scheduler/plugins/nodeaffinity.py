"""NodeAffinity: ``nodeSelector`` and the node affinity of the pod.

Source: ``node_affinity.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.node_view import NodeView
from policies.scheduler.normalize import NodeScores, by_highest
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Reason, Rejections

NOT_MATCHED: Final = Reason(("node(s) didn't match Pod's node affinity/selector",), Code.UNRESOLVABLE)
#: The profile's own affinity, ``addedAffinity``, does not match.
ENFORCED: Final = Reason(("node(s) didn't match scheduler-enforced node affinity",), Code.UNRESOLVABLE)
#: The names in the pod's affinity leave a node out before any filter runs.
LEFT_OUT: Final = Reason(("node(s) didn't satisfy plugin(s) [NodeAffinity]",), Code.UNRESOLVABLE)


class NodeAffinityPlugin:
    """Rejects nodes that affinity or selector do not match, and scores them by the preferred terms."""

    def filter(self, view: NodeView, request: SchedulingRequest) -> Rejections:
        """Return what the plugin rejects; with its Filter disabled, what its PreFilter leaves out."""
        profile = request.profile
        if not profile.filters_by_affinity:
            names = request.pod.affinity.node_names()
            left_out = np.zeros(len(view.slots), np.bool_) if names is None else ~view.named(names)
            return Rejections.where(left_out, Plugin.NODE_AFFINITY, LEFT_OUT)
        added = profile.added_affinity.terms
        if added is None:
            return Rejections.where(~view.matches_affinity, Plugin.NODE_AFFINITY, NOT_MATCHED)
        of_node = np.where(view.matches_affinity, 0, 1)
        of_node[~view.matching_any(added)] = 2
        return Rejections(Plugin.NODE_AFFINITY, (NOT_MATCHED, ENFORCED), of_node)

    def score(
        self, view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_]
    ) -> NodeScores | None:
        """Sum the weights of the preferred terms that match, of profile and pod; None without any."""
        preferred = request.profile.added_affinity.preferred + request.pod.affinity.preferred
        if not preferred:
            return None
        total = np.zeros(len(view.slots), np.int64)
        for weight, term in preferred:
            total += weight * view.matching(term)
        return NodeScores(total, by_highest(total, feasible))

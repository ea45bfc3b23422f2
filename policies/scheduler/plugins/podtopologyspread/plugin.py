"""PodTopologySpread, as the profile runs it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.podtopologyspread.filtering import SpreadRejections, filter_nodes
from policies.scheduler.plugins.podtopologyspread.scoring import SpreadScores, score_nodes
from policies.scheduler.request import SchedulingRequest


class PodTopologySpreadPlugin:
    """Rejects nodes by the hard constraints, and scores the feasible ones by the soft constraints."""

    def follows_pods(self, _view: NodeView, request: SchedulingRequest) -> bool:
        """Return whether there is a hard constraint."""
        return any(applied.is_hard for applied in request.constraints)

    def filter(self, view: NodeView, request: SchedulingRequest) -> SpreadRejections:
        """Return the nodes that the plugin rejects, and the counts of each hard constraint."""
        return filter_nodes(view, request)

    def score(self, view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_]) -> SpreadScores:
        """Return the scores of the feasible nodes, and what each soft constraint is made of."""
        return score_nodes(view, request, feasible)

"""PodTopologySpread, as the profile runs it."""

from __future__ import annotations

from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.podtopologyspread.filtering import filter_nodes
from policies.scheduler.plugins.podtopologyspread.scoring import score_nodes
from policies.scheduler.request import SchedulingRequest


class PodTopologySpreadPlugin:
    """Rejects nodes by the hard constraints, and scores the feasible ones by the soft constraints."""

    def follows_pods(self, _view: NodeView, request: SchedulingRequest) -> bool:
        """Return whether there is a hard constraint."""
        return any(applied.is_hard for applied in request.constraints)

    filter = staticmethod(filter_nodes)
    score = staticmethod(score_nodes)

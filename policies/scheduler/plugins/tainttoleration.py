"""TaintToleration: taints that the pod does not tolerate.

Source: ``taint_toleration.go``, Kubernetes 1.36.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policies.model.taints import TaintEffect
from policies.scheduler.node_view import NodeView
from policies.scheduler.normalize import NodeScores, by_highest
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Reason, Rejections


class TaintTolerationPlugin:
    """Rejects nodes by NoSchedule and NoExecute taints, and scores them by PreferNoSchedule taints."""

    def follows_pods(self, _view: NodeView, _request: SchedulingRequest) -> bool:
        """Return False: nodes alone decide."""
        return False

    def filter(self, view: NodeView, request: SchedulingRequest) -> Rejections:
        """Return the nodes that the plugin rejects; each reason names the taint in the releases that do."""
        texts = [request.behavior.taint_reason(taint) if taint else "" for taint in view.first_untolerated]
        distinct = sorted({text for text in texts if text})
        position = np.array([distinct.index(text) + 1 if text else 0 for text in texts], np.intp)
        reasons = tuple(Reason((text,), Code.UNRESOLVABLE) for text in distinct)
        return Rejections(Plugin.TAINT_TOLERATION, reasons, position[view.taint_numbers])

    def score(self, view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_]) -> NodeScores:
        """Count the PreferNoSchedule taints of every node that the pod does not tolerate; fewest is best."""
        effects = ("", TaintEffect.PREFER_NO_SCHEDULE)
        taints = view.count_untolerated(
            tuple(entry for entry in request.pod.tolerations if entry.effect in effects)
        )
        return NodeScores(taints, by_highest(taints, feasible, reverse=True))

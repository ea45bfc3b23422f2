"""NodeAffinity: ``nodeSelector`` and the node affinity of the pod.

Source: ``node_affinity.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, NodeScores, Reason, Rejections, by_highest

NOT_MATCHED: Final = Reason(("node(s) didn't match Pod's node affinity/selector",), Code.UNRESOLVABLE)
#: The profile's own affinity, ``addedAffinity``, does not match.
ENFORCED: Final = Reason(("node(s) didn't match scheduler-enforced node affinity",), Code.UNRESOLVABLE)
#: The names in the pod's affinity leave a node out before any filter runs.
LEFT_OUT: Final = Reason(("node(s) didn't satisfy plugin(s) [NodeAffinity]",), Code.UNRESOLVABLE)
#: A term of the pod's affinity contradicts itself: ``errReasonConflict``.
CONFLICT: Final = Reason(("pod affinity terms conflict",), Code.UNRESOLVABLE)


def gone_node(view: NodeView, request: SchedulingRequest) -> str | None:
    """Return a node in the pod's affinity on whose absence the scheduler fails; None if there is none.

    Of several it is any; here the first by name.
    """
    if request.behavior.passes_over_gone_nodes or not view.names:
        return None
    return min((request.narrowed_to or frozenset()) - set(view.names), default=None)


def not_found(name: str) -> str:
    """Return the error of a scheduler that fails on the absence of a node.

    Source: ``NodeInfos().Get``, ``pkg/scheduler/internal/cache/snapshot.go``, Kubernetes 1.26.
    """
    return f'nodeinfo not found for node name "{name}"'


def filter_nodes(view: NodeView, request: SchedulingRequest) -> Rejections:
    """Return the nodes that affinity or selector do not match.

    With the plugin's Filter disabled, those that its PreFilter leaves out.
    """
    profile, narrowed = request.profile, request.narrowed_to
    reasons = [NOT_MATCHED, ENFORCED, LEFT_OUT, CONFLICT]
    of_node = np.zeros(len(view.slots), np.intp)
    if profile.filters_by_affinity:
        of_node[~view.matches_affinity] = 1
        if profile.added_affinity.terms is not None:
            of_node[~view.matching_any(profile.added_affinity.terms)] = 2
    elif narrowed is not None:
        of_node[~view.named(narrowed)] = 3
    # What fails before any filter runs concerns the nodes too that would pass.
    gone = gone_node(view, request)
    if gone is not None:
        reasons.append(Reason((not_found(gone),), Code.UNRESOLVABLE))
        of_node[of_node == 0] = len(reasons)
    elif narrowed is not None and not narrowed:
        of_node[of_node == 0] = 4
    return Rejections(Plugin.NODE_AFFINITY, tuple(reasons), of_node)


def score_nodes(view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_]) -> NodeScores | None:
    """Sum the weights of the preferred terms that match, of profile and pod; None without any."""
    preferred = request.profile.added_affinity.preferred + request.pod.affinity.preferred
    if not preferred:
        return None
    total = np.zeros(len(view.slots), np.int64)
    for weight, term in preferred:
        total += weight * view.matching(term)
    return NodeScores(total, by_highest(total, feasible))

"""Where pods go that are alike and come one after another: each verdict follows from the last one.

``evaluate`` says of every node why it takes a pod or not. To bind a pod that fits somewhere only the best
node is needed: what no pod changes is kept for its request, and what pods do change is followed event by
event. What this cannot answer exactly as ``evaluate`` does is left to that: pods with volumes, pods that are
tied to a node, pods that fit nowhere, and clusters in which pods wait for room that is being made for them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.model.pod_volumes import NO_VOLUMES
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import Derived
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugin_registry import (
    FILTERS,
    OF_CLAIMS,
    SCORES,
    follows_pods,
    lasting_rejections,
)
from policies.scheduler.plugins.noderesources import ResourceVerdict
from policies.scheduler.plugins.podtopologyspread.followed_scores import FollowedScores
from policies.scheduler.plugins.podtopologyspread.scoring import score_nodes, soft_constraints
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.resource_view import Identity
from policies.scheduler.result import MAX_SCORE, SchedulingResult

#: Requests of which something is kept, about a hundred bytes a node each.
MOST_KNOWN = 256
#: Requests of which the whole verdict is kept, some hundred bytes a node each.
MOST_PENDING = 32
#: What keeps a node from being the best, whatever plugins give it.
_LEFT_OUT: Final = -(1 << 62)
#: The plugins whose scores follow from the nodes and from which of them are feasible.
_OF_NODES = frozenset({Plugin.TAINT_TOLERATION, Plugin.NODE_AFFINITY, Plugin.IMAGE_LOCALITY})

#: Those whose scores follow from the resources of each node.
_OF_RESOURCES = frozenset({Plugin.NODE_RESOURCES_FIT, Plugin.NODE_RESOURCES_BALANCED_ALLOCATION})

_Amounts = NDArray[np.int64]


class BestNodes(NamedTuple):
    """The best nodes for a pod, of which there is one at least."""

    names: tuple[str, ...]  #: Their names, sorted.
    feasible: int  #: How many nodes are feasible.
    total: int  #: The score of the best.


class RepeatedRequests:
    """Results kept for the requests of a queue, on a cluster that only the queue's simulation changes."""

    def __init__(self) -> None:
        self._known: dict[Identity, _Known] = {}
        # Of pods that fit nowhere: the state of the nodes, how many changes it had, and the verdict.
        self._pending: dict[Identity, tuple[Derived, int, SchedulingResult]] = {}

    def evaluate(self, request: SchedulingRequest, index: ClusterIndex) -> SchedulingResult:
        """Return the whole verdict; of a pod that fits nowhere the last one, while no pod came or went."""
        pod = request.pod
        if pod.volumes is not NO_VOLUMES or pod.claim_templates or index.nominated_pods():
            return evaluate(request, index)
        key, derived = Identity(request), index.nodes.derived
        state, changes, result = self._pending.pop(key, (None, 0, None))
        if result is None or state is not derived or changes != len(derived.changes):
            result = evaluate(request, index)
        if not result.feasible_count:
            if len(self._pending) >= MOST_PENDING:
                del self._pending[next(iter(self._pending))]
            self._pending[key] = derived, len(derived.changes), result
        return result

    def best(self, request: SchedulingRequest, index: ClusterIndex) -> BestNodes | None:
        """Return the best nodes; None where ``evaluate`` must tell, also if no node is feasible."""
        pod = request.pod
        if pod.volumes is not NO_VOLUMES or pod.claim_templates or pod.nominated_node or request.pinned:
            return None
        with index.reading():
            if index.nominated_pods() or not index.node_count:
                return None
            view, key = NodeView(index, pod), Identity(request)
            known = self._known.pop(key, None)
            if known is None or known.derived is not index.nodes.derived:
                known = _Known(view, request)
            if len(self._known) >= MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key] = known
            return known.best(view)


class _Known:
    """Results kept for one request.

    Attributes:
        derived: Of which state of the nodes.
    """

    def __init__(self, view: NodeView, request: SchedulingRequest) -> None:
        self.derived: Derived = view.index.nodes.derived
        self._request = request
        filters = [plugin for plugin in request.profile.filters if plugin not in OF_CLAIMS]
        lasting = tuple(each for each in filters if not follows_pods(each, view, request))
        # Terms of pods that come may concern it, too.
        self._lasting = tuple(each for each in lasting if each is not Plugin.INTER_POD_AFFINITY)
        self._following = tuple(
            each for each in filters if each not in self._lasting and each is not Plugin.NODE_RESOURCES_FIT
        )
        self._resources = ResourceVerdict(request)
        # In the order of the profile; the rest is known by other ways.
        self._scoring = [
            entry for entry in request.profile.scores if entry[0] not in _OF_NODES | _OF_RESOURCES
        ]
        self._passed = lasting_rejections(view, request, self._lasting).passed
        soft = soft_constraints(view, request)
        self._spreads: FollowedScores | None = None
        # A node without a label scores in another way.
        if soft.everywhere and all(each.label.everywhere for each in soft.constraints):
            self._spreads = FollowedScores(soft.constraints, view)
        self._feasible = np.zeros(0, np.bool_)

    def best(self, view: NodeView) -> BestNodes | None:
        """Return the best nodes; None if there is none."""
        lacking, scores = self._resources.find(view)
        feasible = self._filter(view, lacking == 0)
        if not np.array_equal(feasible, self._feasible) and not self._narrow(view, feasible):
            return None
        total = scores + self._of_nodes
        for plugin, weight in self._scoring:
            found = self._spread(view) if plugin is Plugin.POD_TOPOLOGY_SPREAD else self._score(plugin, view)
            if found is not None:
                total += found if weight == 1 else found * weight
        most = total.max()
        best = np.flatnonzero(total == most)
        # Of equal nodes there are hundreds.
        every = view.derive("names", lambda: np.array(view.names, object))
        names = tuple(every[best].tolist())
        return BestNodes(names, self._count, int(most))

    def _filter(self, view: NodeView, feasible: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the nodes that all plugins let pass, of those with enough resources; shape ``(n,)``."""
        request = self._request
        feasible &= self._passed
        for plugin in self._following:
            if plugin is not Plugin.INTER_POD_AFFINITY or follows_pods(plugin, view, request):
                feasible = feasible & (FILTERS[plugin](view, request).of_node == 0)
        return feasible

    def _narrow(self, view: NodeView, feasible: NDArray[np.bool_]) -> bool:
        """Compute what depends on which nodes are feasible; return whether any is."""
        self._feasible, self._count = feasible, int(np.count_nonzero(feasible))
        if not self._count:
            self._feasible = np.zeros(0, np.bool_)
            return False
        self._of_nodes: _Amounts = np.where(feasible, 0, _LEFT_OUT)
        for plugin, weight in self._request.profile.scores:
            if plugin in _OF_NODES:
                found = self._score(plugin, view)
                self._of_nodes += 0 if found is None else found * weight
        if self._spreads is not None:
            self._spreads.narrow(feasible)
        return True

    def _score(self, name: Plugin, view: NodeView) -> _Amounts | None:
        """Return a plugin's scores of all nodes, of which the feasible ones count; None where it skips."""
        if name is Plugin.INTER_POD_AFFINITY and not self._may_prefer(view):
            return None
        plugin = SCORES[name]
        scores = None if plugin is None else plugin(view, self._request, self._feasible)
        return None if scores is None else scores.normalized

    def _may_prefer(self, view: NodeView) -> bool:
        """Return whether some pod has terms by which InterPodAffinity scores."""
        index, terms = view.index, self._request.pod.terms
        own = terms.preferred_affinity or terms.preferred_anti_affinity
        return bool(own or len(index.preferred_terms) or len(index.affinity))

    def _spread(self, view: NodeView) -> _Amounts | int | None:
        """Return PodTopologySpread's scores of all nodes, as ``_score`` does."""
        if self._spreads is not None and not len(self._spreads):
            return MAX_SCORE if self._request.behavior.scores_spread_without_soft else None
        scores = None if self._spreads is None else self._spreads.scores(view)
        return score_nodes(view, self._request, self._feasible).nodes.normalized if scores is None else scores

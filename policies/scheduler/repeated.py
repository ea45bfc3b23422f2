"""Where pods go that are alike and come one after another: each verdict follows from the last one.

``evaluate`` says of every node why it takes a pod or not. To bind a pod that fits somewhere only the best
node is needed: what no pod changes is kept for its request, and what pods do change is followed event by
event. What this cannot answer exactly as ``evaluate`` does is left to that: pods with volumes, pods that are
tied to a node, pods that fit nowhere, and clusters in which pods wait for room that is being made for them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.model.pod_volumes import NO_VOLUMES
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import Derived
from policies.scheduler.node_view import Identity, NodeView
from policies.scheduler.normalize import MAX_SCORE, round_half_away
from policies.scheduler.plugin_registry import FILTERS, OF_CLAIMS, SCORES, SPREAD
from policies.scheduler.plugins.noderesources import ResourceVerdict
from policies.scheduler.plugins.podtopologyspread.scoring import Soft, soft_constraints
from policies.scheduler.pod_table import Followed
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import SchedulingResult

#: Requests of which something is kept, about a hundred bytes a node each.
MOST_KNOWN = 256
#: Requests of which the whole verdict is kept, some hundred bytes a node each.
MOST_PENDING = 32
#: The plugins whose scores follow from the nodes and from which of them are feasible.
_OF_NODES = frozenset({Plugin.TAINT_TOLERATION, Plugin.NODE_AFFINITY, Plugin.IMAGE_LOCALITY})

#: Those whose scores follow from the resources of each node.
_OF_RESOURCES = frozenset({Plugin.NODE_RESOURCES_FIT, Plugin.NODE_RESOURCES_BALANCED_ALLOCATION})

_Amounts = NDArray[np.int64]


class BestNodes(NamedTuple):
    """The best nodes for a pod, of which there is one at least.

    Attributes:
        names: Their names, sorted.
        feasible: How many nodes are feasible.
        total: The score of the best.
    """

    names: tuple[str, ...]
    feasible: int
    total: int


class RepeatedRequests:
    """What is known of the requests of a queue, on a cluster that only the queue's simulation changes."""

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


class _Spread:
    """A soft constraint, and the pods that it counts, which are followed.

    Attributes:
        soft: The constraint.
        on_nodes: Matching pods, shape ``(n,)``.
        in_domains: Matching pods on the nodes that take part, by the label's values; shape ``(d,)``.
    """

    def __init__(self, soft: Soft, view: NodeView, request: SchedulingRequest) -> None:
        self.soft = soft
        self._followed: Followed | None = None
        self._until = 0
        applied = soft.applied
        self._counts = applied.selector is not None and not applied.counts_nothing(request.behavior)
        self._host = applied.constraint.topology_key == HOSTNAME
        self._read(view)

    def _read(self, view: NodeView) -> None:
        """Count all pods."""
        selector = self.soft.applied.selector
        table = view.index.pods_of(view.namespace)
        if selector is None or not self._counts:
            self.on_nodes: _Amounts = np.zeros(len(view.slots), np.int64)
        else:
            self.on_nodes = view.count_pods(selector).copy()
        self._followed = None if table is None or selector is None else table.follow(selector)
        self._until = 0 if self._followed is None else len(self._followed.changes)
        domains = self.soft.domains
        taking_part = self.on_nodes[domains.counted]
        counts = np.bincount(domains.values, weights=taking_part, minlength=len(domains.nodes))
        self.in_domains: _Amounts = counts.astype(np.int64)

    def follow(self, view: NodeView) -> None:
        """Count the pods that came or went."""
        if not self._counts:
            return
        followed = self._followed
        if (
            followed is None
            or not followed.current
            or view.index.pods_of(view.namespace) is not followed.table
        ):
            self._read(view)
            return
        if self._until == len(followed.changes):
            return
        positions, label = view.positions_of_slots(), self.soft.values.numbers
        for slot, amount in followed.changes[self._until :]:
            position = positions.get(slot)
            if position is not None:
                self.on_nodes[position] += amount
                if self.soft.domains.counted[position]:
                    self.in_domains[label[position]] += amount
        self._until = len(followed.changes)

    def scores(self, scored: NDArray[np.intp], weight: float) -> NDArray[np.float64]:
        """Return the score of some nodes before it is rounded, by their positions."""
        more = self.soft.applied.constraint.max_skew - 1
        if self._host:
            on_nodes = self.on_nodes[scored].astype(np.float64)
            on_nodes *= weight
            on_nodes += more
            return on_nodes
        # In the same steps as for each node, so that it is rounded alike.
        of_domain = self.in_domains.astype(np.float64)
        of_domain *= weight
        of_domain += more
        return np.take(of_domain, self.soft.label.positions[scored])

    def weight(self, scored: NDArray[np.intp]) -> float:
        """Return what a matching pod adds, if some nodes are scored, given by their positions."""
        if self._host:
            return math.log(len(scored) + 2)
        return math.log(int(np.count_nonzero(np.bincount(self.soft.values.positions[scored]))) + 2)


class _Known:
    """What is known of one request.

    Attributes:
        derived: Of which state of the nodes.
    """

    def __init__(self, view: NodeView, request: SchedulingRequest) -> None:
        self.derived: Derived = view.index.nodes.derived
        self._request = request
        filters = [plugin for plugin in request.profile.filters if plugin not in OF_CLAIMS]
        lasting = tuple(each for each in filters if not FILTERS[each].follows_pods(view, request))
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
        identities = map(Identity, (request.profile, request.behavior))
        key = (
            "passed",
            self._lasting,
            *view.eligibility,
            request.pod.gated,
            request.pod.node_name,
            *identities,
        )
        self._passed: NDArray[np.bool_] = view.derive(key, lambda: self._pass(view))
        soft = soft_constraints(view, request)
        self._spreads: list[_Spread] | None = None
        # A node without a label scores in another way.
        if soft.everywhere and all(each.label.everywhere for each in soft.constraints):
            self._spreads = [_Spread(each, view, request) for each in soft.constraints]
        self._feasible = np.zeros(0, np.bool_)

    def _pass(self, view: NodeView) -> NDArray[np.bool_]:
        passed = np.ones(len(view.slots), np.bool_)
        for plugin in self._lasting:
            passed &= FILTERS[plugin].filter(view, self._request).of_node == 0
        return passed

    def best(self, view: NodeView) -> BestNodes | None:
        """Return the best nodes; None if there is none."""
        lacking, scores = self._resources.find(view)
        feasible = self._filter(view, lacking == 0)
        if not np.array_equal(feasible, self._feasible) and not self._narrow(view, feasible):
            return None
        positions = self._positions
        total = np.take(scores, positions)
        total += self._of_nodes
        for plugin, weight in self._scoring:
            found = self._spread(view) if plugin is Plugin.POD_TOPOLOGY_SPREAD else self._score(plugin, view)
            if found is not None:
                total += found if weight == 1 else found * weight
        most = total.max()
        best = positions[total == most]
        # Of equal nodes there are hundreds.
        every = view.derive("names", lambda: np.array(view.names, object))
        names = tuple(every[best].tolist())
        return BestNodes(names, len(positions), int(most))

    def _filter(self, view: NodeView, feasible: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the nodes that all plugins let pass, of those with enough resources; shape ``(n,)``."""
        request = self._request
        feasible &= self._passed
        for plugin in self._following:
            if FILTERS[plugin].follows_pods(view, request) or plugin is not Plugin.INTER_POD_AFFINITY:
                feasible = feasible & (FILTERS[plugin].filter(view, request).of_node == 0)
        return feasible

    def _narrow(self, view: NodeView, feasible: NDArray[np.bool_]) -> bool:
        """Compute what depends on which nodes are feasible; return whether any is."""
        self._feasible = feasible
        self._positions = np.flatnonzero(feasible)
        if not len(self._positions):
            self._feasible = np.zeros(0, np.bool_)
            return False
        self._of_nodes: _Amounts = np.zeros(len(self._positions), np.int64)
        for plugin, weight in self._request.profile.scores:
            if plugin in _OF_NODES:
                found = self._score(plugin, view)
                self._of_nodes += 0 if found is None else found * weight
        self._weights = [each.weight(self._positions) for each in self._spreads or ()]
        return True

    def _score(self, name: Plugin, view: NodeView) -> _Amounts | None:
        """Return what a plugin gives the feasible nodes; None where it skips."""
        if name is Plugin.INTER_POD_AFFINITY and not self._may_prefer(view):
            return None
        plugin = SCORES[name]
        scores = None if plugin is None else plugin.score(view, self._request, self._feasible)
        return None if scores is None else scores.normalized[self._positions]

    def _may_prefer(self, view: NodeView) -> bool:
        """Return whether some pod has terms by which InterPodAffinity scores."""
        index, terms = view.index, self._request.pod.terms
        own = terms.preferred_affinity or terms.preferred_anti_affinity
        return bool(own or len(index.preferred_terms) or len(index.affinity))

    def _spread(self, view: NodeView) -> _Amounts | int | None:
        """Return what PodTopologySpread gives the feasible nodes; None where it skips."""
        if self._spreads is None:
            return SPREAD.score(view, self._request, self._feasible).nodes.normalized[self._positions]
        if not self._spreads:
            return MAX_SCORE if self._request.behavior.scores_spread_without_soft else None
        total = np.zeros(len(self._positions))
        for each, weight in zip(self._spreads, self._weights, strict=True):
            each.follow(view)
            total += each.scores(self._positions, weight)
        raw = round_half_away(total)
        worst, best = int(raw.max()), int(raw.min())
        return MAX_SCORE * (worst + best - raw) // worst if worst else MAX_SCORE

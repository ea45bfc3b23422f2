"""Where pods go that are alike and come one after another: each verdict follows from the last one.

``evaluate`` says of every node why it takes a pod or not. To bind a pod that fits somewhere only the best
node is needed: what no pod changes is kept for its request, and what pods do change is followed event by
event. What this cannot answer exactly as ``evaluate`` does is left to that: pods with volumes, pods that are
tied to a node, pods that fit nowhere, and clusters in which pods wait for room that is being made for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.model.labels import LabelSelector
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
#: Groups of nodes that score alike for soft constraints; of more, each node is scored.
MOST_GROUPS = 4096
#: How many more pods than any now has a node may get until the groups are numbered again.
_MORE_PODS: Final = 4
#: What keeps a node from being the best, whatever plugins give it.
_LEFT_OUT: Final = -(1 << 62)
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


class _Selected:
    """The pods that a selector selects, which are followed.

    Attributes:
        on_nodes: How many each node has, shape ``(n,)``.
        changed: The position of the node of each pod that came or went with the last step, and 1 or -1; None
            if all were counted anew.
    """

    def __init__(self, selector: LabelSelector | None, view: NodeView) -> None:
        """Count the pods; without a selector there is none."""
        self._selector = selector
        self._read(view)

    def _read(self, view: NodeView) -> None:
        self.changed: list[tuple[int, int]] | None = None
        self._followed: Followed | None = None
        self._until = 0
        selector, table = self._selector, view.index.pods_of(view.namespace)
        if selector is None:
            self.on_nodes: _Amounts = np.zeros(len(view.slots), np.int64)
            return
        self.on_nodes = view.count_pods(selector).copy()
        if table is not None:
            self._followed = table.follow(selector)
            self._until = len(self._followed.changes)

    def follow(self, view: NodeView) -> None:
        """Count the pods that came or went."""
        followed = self._followed
        if self._selector is None:
            self.changed = []
        elif (
            followed is None
            or not followed.current
            or view.index.pods_of(view.namespace) is not followed.table
        ):
            self._read(view)
        else:
            positions = view.positions_of_slots()
            changes = followed.changes[self._until :]
            self.changed = [(positions[slot], amount) for slot, amount in changes if slot in positions]
            self._until = len(followed.changes)
            for position, amount in self.changed:
                self.on_nodes[position] += amount


class _Spread:
    """A soft constraint.

    Attributes:
        soft: The constraint.
        selected: The pods that it counts.
        is_host: Whether the node itself is the domain.
        amounts: The amounts of matching pods that are told apart: of nodes those from 0 to some more than any
            has, else of the nodes that take part by the label's values; shape ``(a,)``.
    """

    def __init__(self, soft: Soft, selected: _Selected) -> None:
        self.soft, self.selected = soft, selected
        self.is_host = soft.applied.constraint.topology_key == HOSTNAME
        self.read()

    def read(self) -> None:
        """Count all pods."""
        on_nodes = self.selected.on_nodes
        if self.is_host:
            self.amounts: _Amounts = np.arange(int(on_nodes.max()) + 1 + _MORE_PODS)
        else:
            self.amounts = self.soft.domains.count(on_nodes)

    def weight(self, scored: NDArray[np.bool_]) -> float:
        """Return the amounts that a matching pod adds, if some nodes are scored, of shape ``(n,)``."""
        size = np.count_nonzero(scored) if self.is_host else self.soft.values.count_values(scored)
        return math.log(int(size) + 2)


class _Spreads:
    """The soft constraints of a request: groups of nodes that are alike for all of them score alike.

    The nodes of a domain have one amount of pods, and of nodes themselves most have as many as many others:
    of a cluster's thousands there are dozens of groups.

    Attributes:
        few: Whether there are few groups; if not they have no scores.
    """

    def __init__(self, soft: Iterable[Soft], view: NodeView) -> None:
        selected: dict[LabelSelector | None, _Selected] = {}
        self._spreads = list[_Spread]()
        for each in soft:
            selector = each.applied.counted
            if selector not in selected:
                selected[selector] = _Selected(selector, view)
            self._spreads.append(_Spread(each, selected[selector]))
        self._selected = selected.values()
        self._scored = np.zeros(len(view.slots), np.bool_)
        self._group()

    def __len__(self) -> int:
        return len(self._spreads)

    def narrow(self, scored: NDArray[np.bool_]) -> None:
        """Score some nodes from now on, of shape ``(n,)``."""
        self._scored = scored
        self._weights = [each.weight(scored) for each in self._spreads]
        if self.few:
            self._nodes = np.bincount(self._groups[scored], minlength=math.prod(self._sizes))

    def scores(self, view: NodeView) -> _Amounts | None:
        """Return the normalized score of each node, shape ``(n,)``; None where there are many groups.

        Only the scores of nodes that are scored count.
        """
        if self.few:
            self._follow(view)
        if not self.few:
            return None
        # In the same steps as for each node, so that it is rounded alike.
        total = np.zeros(self._sizes)
        for axis, (spread, weight) in enumerate(zip(self._spreads, self._weights, strict=True)):
            scores = spread.amounts * weight
            scores += spread.soft.applied.constraint.max_skew - 1
            total += scores.reshape((-1, *[1] * (len(self._spreads) - axis - 1)))
        raw = round_half_away(total.ravel())
        present = raw[self._nodes > 0]
        worst, best = int(present.max()), int(present.min())
        scores_of_groups = (
            MAX_SCORE * (worst + best - raw) // worst if worst else np.full_like(raw, MAX_SCORE)
        )
        return np.take(scores_of_groups, self._groups)

    def _group(self) -> None:
        """Number the groups: the positions in a table with a dimension for each constraint."""
        self._sizes = [len(each.amounts) for each in self._spreads]
        self.few = math.prod(self._sizes) <= MOST_GROUPS
        if self.few:
            self._steps = [math.prod(self._sizes[axis + 1 :]) for axis in range(len(self._sizes))]
            self._groups = np.zeros(len(self._scored), np.intp)
            for spread, step in zip(self._spreads, self._steps, strict=True):
                of_node = spread.selected.on_nodes if spread.is_host else spread.soft.label.positions
                self._groups += of_node * step

    def _follow(self, view: NodeView) -> None:
        """Count the pods that came or went."""
        for selected in self._selected:
            selected.follow(view)
        known = all(selected.changed is not None for selected in self._selected)
        if not (known and all(map(self._move, self._spreads, self._steps))):
            for spread in self._spreads:
                spread.read()
            self._group()
            self.narrow(self._scored)

    def _move(self, spread: _Spread, step: int) -> bool:
        """Count the pods that came or went for a constraint; return False if a node has too many for it."""
        counted, domain = spread.soft.domains.counted, spread.soft.values.numbers
        for position, amount in spread.selected.changed or ():
            if not spread.is_host:
                if counted[position]:
                    spread.amounts[domain[position]] += amount
                continue
            pods, group = spread.selected.on_nodes[position], self._groups[position]
            if pods >= len(spread.amounts):
                return False
            moved = group + (pods - group // step % len(spread.amounts)) * step
            self._groups[position] = moved
            if self._scored[position]:
                self._nodes[group] -= 1
                self._nodes[moved] += 1
        return True


class _Known:
    """Results kept for one request.

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
        self._spreads: _Spreads | None = None
        # A node without a label scores in another way.
        if soft.everywhere and all(each.label.everywhere for each in soft.constraints):
            self._spreads = _Spreads(soft.constraints, view)
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
            if FILTERS[plugin].follows_pods(view, request) or plugin is not Plugin.INTER_POD_AFFINITY:
                feasible = feasible & (FILTERS[plugin].filter(view, request).of_node == 0)
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
        scores = None if plugin is None else plugin.score(view, self._request, self._feasible)
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
        return (
            SPREAD.score(view, self._request, self._feasible).nodes.normalized if scores is None else scores
        )

"""Which pods would have to be evicted on each node, one node at a time.

Source: ``SelectVictimsOnNode``, ``defaultpreemption/default_preemption.go``, and
``RunFilterPluginsWithNominatedPods``, ``pkg/scheduler/framework/runtime/framework.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.pod import BoundPod
from policies.scheduler.holdings import Holding
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.noderesources import fit_rejections
from policies.scheduler.pod_table import PodFields, PodTable
from policies.scheduler.preemption.demands import NodeDemand, demands_of
from policies.scheduler.preemption.victims import (
    PodBatch,
    PossibleVictims,
    concatenated,
    possible_victims,
)
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, FilterResult, Rejections

#: Which of some nodes something holds for, shape ``(k,)``.
Mask = NDArray[np.bool_]
#: The values of all demands on some nodes, shape ``(q, k)``.
Values = NDArray[np.int64]
#: Steps of weighing a pod that waits for room, for each demand.
DEMAND_STEPS = 220


class NodeFilter:
    """The filters of a pod on nodes whose pods change.

    Attributes:
        nominated: Which nodes have other pods that wait for room there, of the same priority or a higher one;
            shape ``(n,)``.
    """

    def __init__(
        self,
        view: NodeView,
        request: SchedulingRequest,
        rejections: Sequence[Rejections],
        checks: Iterable[FilterResult],
    ) -> None:
        waiting = [
            pod
            for pod in view.index.nominated_pods()
            if pod.priority >= request.pod.priority
            and (pod.namespace, pod.name) != (request.pod.namespace, request.pod.name)
        ]
        terms = sum(map(len, request.pod.terms))
        weighed = 2 + len(request.pod.requests) + len(request.constraints) + terms
        view.index.steps.take(len(waiting), DEMAND_STEPS * weighed, "nominated pod")
        positions = view.index.nodes.positions()
        self._waiting = [
            (pod, Holding.of(pod), positions[pod.nominated_node])
            for pod in waiting
            if pod.nominated_node in positions
        ]
        self._view, self._request, self._rejections, self._checks = view, request, rejections, checks
        self.nominated = np.zeros(len(view.slots), np.bool_)
        self.nominated[[at for _, _, at in self._waiting]] = True

    @cached_property
    def demands(self) -> list[NodeDemand]:
        """The conditions that depend on the pods of a node."""
        holdings = [holding for _, holding, _ in self._waiting]
        return demands_of(self._view, self._request, self._checks, holdings)

    @cached_property
    def _added(self) -> Values:
        """The amounts that pods waiting for room would add to the values of the nodes, shape ``(q, n)``."""
        added = np.zeros((len(self.demands), len(self._view.slots)), np.int64)
        for pod, holding, at in self._waiting:
            added[:, at] += self.weigh([_single(pod, holding, at)])[:, 0]
        return added

    @property
    def values(self) -> Values:
        """The values of the demands on all nodes now, shape ``(q, n)``."""
        values = [demand.value for demand in self.demands]
        return np.array(values, np.int64).reshape(len(self.demands), len(self._view.slots))

    def weigh(self, batches: Iterable[PodBatch]) -> Values:
        """Return the amounts that each pod of some batches adds to the values of its node, ``(q, p)``."""
        batches = list(batches)
        size = sum(len(batch.nodes) for batch in batches)
        rows = [concatenated([demand.weigh(batch) for batch in batches]) for demand in self.demands]
        return np.array(rows, np.int64).reshape(len(self.demands), size)

    def rejects(self, values: Values, nodes: NDArray[np.intp]) -> Mask:
        """Return which nodes the filters reject, with the pods that wait for room there and without them.

        Args:
            values: The values of the demands on some nodes, shape ``(q, k)``.
            nodes: The positions of these nodes, shape ``(k,)``.
        """
        rejected = self._unchanging[nodes]
        added = self._added[:, nodes]
        for demand, value, more in zip(self.demands, values, added, strict=True):
            rejected = rejected | demand.unmet(value, nodes)
            if more.any():
                rejected |= demand.unmet(value + more, nodes)
        return rejected

    def reasons(self, values: Values) -> tuple[Rejections, ...]:
        """Return each plugin's rejections at values of all nodes, in the order of the profile.

        Where the pods that wait for room are what is in the way, nothing else is named.

        Args:
            values: The values of the demands, shape ``(q, n)``.
        """
        without = list(self._by_plugin(values))
        if not self.nominated.any():
            return tuple(without)
        beside = list(self._by_plugin(values + self._added))
        decides = np.logical_or.reduce([each.of_node != 0 for each in beside]) & self.nominated
        return tuple(_merged(one, other, decides) for one, other in zip(without, beside, strict=True))

    @cached_property
    def _unchanging(self) -> Mask:
        """Which nodes are rejected whatever pods they have, shape ``(n,)``."""
        lasting: Mask = np.logical_or.reduce([_lasting(each) for each in self._rejections])
        return lasting

    def _by_plugin(self, values: Values) -> Iterator[Rejections]:
        """Yield each plugin's rejections at values of all nodes."""
        nodes = np.arange(len(self._view.slots))
        for each in self._rejections:
            of_plugin = [
                (demand, demand.unmet(value, nodes))
                for demand, value in zip(self.demands, values, strict=True)
                if demand.plugin is each.plugin
            ]
            if each.plugin not in _CHANGING:
                yield each
            elif each.plugin is Plugin.NODE_RESOURCES_FIT:
                texts = [str(demand.reason) for demand, _ in of_plugin]
                sizes = [demand.too_small for demand, _ in of_plugin if demand.too_small is not None]
                small = np.logical_or.reduce(sizes)
                if not self._request.behavior.oversized_requests_are_unresolvable:
                    small = np.zeros(len(nodes), np.bool_)
                yield fit_rejections(texts, [mask for _, mask in of_plugin], small)
            else:
                yield _first_unmet(each, of_plugin)


#: The plugins whose result depends on the pods of a node.
_CHANGING: Final = frozenset(
    {
        Plugin.NODE_PORTS,
        Plugin.NODE_RESOURCES_FIT,
        Plugin.VOLUME_RESTRICTIONS,
        Plugin.NODE_VOLUME_LIMITS,
        Plugin.POD_TOPOLOGY_SPREAD,
        Plugin.INTER_POD_AFFINITY,
    }
)


def _lasting(rejections: Rejections) -> Mask:
    """Return where a plugin rejects a node whatever pods it has, shape ``(n,)``.

    Of the plugins that look at pods that is a constraint whose key the node lacks.
    """
    if rejections.plugin not in _CHANGING:
        rejected: Mask = rejections.of_node != 0
        return rejected
    if rejections.plugin is not Plugin.POD_TOPOLOGY_SPREAD:
        return np.zeros(len(rejections.of_node), np.bool_)
    lasting = [False, *(reason.code is Code.UNRESOLVABLE for reason in rejections.reasons)]
    of_node: Mask = np.array(lasting)[rejections.of_node]
    return of_node


def _first_unmet(each: Rejections, unmet: list[tuple[NodeDemand, Mask]]) -> Rejections:
    """Return the rejections of a plugin, each by the first demand that is not met."""
    lasting = _lasting(each)
    of_node = np.where(lasting, each.of_node, 0)
    reasons = list(each.reasons)
    for demand, mask in unmet:
        reasons.append(demand.reason)
        of_node[mask & (of_node == 0)] = len(reasons)
    return Rejections(each.plugin, tuple(reasons), of_node)


def _merged(one: Rejections, other: Rejections, decides: Mask) -> Rejections:
    """Return the rejections of one, and those of the other on the nodes that it decides."""
    of_other = np.where(other.of_node == 0, 0, other.of_node + len(one.reasons))
    of_node = np.where(decides, of_other, one.of_node)
    return Rejections(one.plugin, (*one.reasons, *other.reasons), of_node)


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """The result of trying the evictions on every node."""

    pods: PossibleVictims  #: The pods that may be evicted.
    victims: Mask  #: Which of them must be, where the incoming pod then fits; shape ``(v,)``.
    candidates: Mask  #: On which nodes it then fits, shape ``(n,)``.
    #: What rejects it on the others that were tried, though all those pods are gone, in the order of the
    #: profile.
    failed: tuple[Rejections, ...]
    without_victims: Mask  #: On which nodes no pod may be evicted, shape ``(n,)``.
    #: On which nodes it fits though no pod is evicted, which is an error to the scheduler; shape ``(n,)``.
    needless: Mask


def dry_run(view: NodeView, priority: int, tried: Mask, filters: NodeFilter) -> DryRun:
    """Try evictions on every one of some nodes.

    All pods of lower priority are removed; then they are given back, those first whose eviction breaks a
    budget, and the more important before the others; the pods are victims with which the incoming one would
    no longer fit.

    Args:
        view: The nodes.
        priority: The priority of the incoming pod.
        tried: The nodes to try, shape ``(n,)``.
        filters: The filters of the incoming pod.
    """
    pods = possible_victims(view, priority, tried)
    weights = filters.weigh(pods.batches)[:, pods.order]
    nodes, starts, counts = np.unique(pods.nodes, return_index=True, return_counts=True)
    values = filters.values
    if len(nodes):
        values[:, nodes] -= np.add.reduceat(weights, starts, axis=1)
    fits = ~filters.rejects(values[:, nodes], nodes)
    victims = np.zeros(len(pods.nodes), np.bool_)
    given_back = np.lexsort((np.arange(len(pods.nodes)), ~pods.violating, pods.nodes))
    for rank in range(int(counts[fits].max(initial=0))):
        groups = np.flatnonzero(fits & (counts > rank))
        chosen = given_back[starts[groups] + rank]
        trial = values[:, nodes[groups]] + weights[:, chosen]
        rejected = filters.rejects(trial, nodes[groups])
        victims[chosen[rejected]] = True
        values[:, nodes[groups[~rejected]]] = trial[:, ~rejected]
    has_pods = np.zeros(len(view.slots), np.bool_)
    has_pods[nodes] = True
    fitting = np.zeros(len(view.slots), np.bool_)
    fitting[nodes[fits]] = True
    evicting = np.zeros(len(view.slots), np.bool_)
    evicting[pods.nodes[victims]] = True
    return DryRun(
        pods=pods,
        victims=victims,
        candidates=fitting & evicting,
        failed=filters.reasons(values),
        without_victims=tried & ~has_pods,
        needless=fitting & ~evicting,
    )


def _single(pod: BoundPod, holding: Holding, node: int) -> PodBatch:
    """Return one pod as a batch."""
    table = PodTable()
    table.put(pod.name, pod.labels, PodFields(1, 0, 0, pod.terminating, pod.priority, pod.started, 0))
    table.volumes[pod.name] = pod.volumes
    return PodBatch(pod.namespace, table, np.zeros(1, np.intp), np.array([node]), lambda _: holding)

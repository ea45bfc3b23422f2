"""Changes of the cluster, instead of the manifest, after which a pod fits that fits nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planning.simulation.cluster_simulation import ClusterSimulation
from policies.model.node import Node, uncordoned
from policies.model.storage_objects import PersistentVolume
from policies.model.taints import SCHEDULING_EFFECTS, Taint, first_untolerated
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.candidates import CONDITION_TAINTS
from policies.scheduler.changes import ChangeKind, ClusterChange
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import MISSING
from policies.scheduler.profile import Plugin
from policies.scheduler.rejections import EXAMPLES
from policies.scheduler.result import FilterResult, SchedulingResult
from policies.scheduler.volume_deadlocks import find_deadlocks

#: Nodes, and domains, that are tried for each kind of change: a verdict each.
MOST_TRIED: Final = 4
#: New domains that are proposed at most: a region has three to six zones.
MOST_NEW_DOMAINS: Final = 5


@dataclass(frozen=True, slots=True)
class Changed:
    """A cluster as it would be, and where the pod could go then."""

    change: ClusterChange
    cluster: ClusterIndex
    result: SchedulingResult


def cluster_suggestions(result: SchedulingResult, index: ClusterIndex) -> Iterator[Changed]:
    """Yield changes of the cluster with which a pod fits, one of each kind, and of new nodes one a domain.

    Args:
        result: On a pod that fits nowhere.
        index: The cluster that it was made on, unchanged.
    """
    if result.request.is_gated or not result.names:
        return
    search = _Search(result, index)
    yield from search.terminations()
    yield from search.first(search.cordons())
    yield from search.first(search.labels())
    yield from search.first(search.domains())
    yield from search.first(search.new_nodes())
    yield from search.first(search.nodes_of_volumes())


class _Search:
    """Proposes changes of one cluster, and evaluates them."""

    def __init__(self, result: SchedulingResult, index: ClusterIndex) -> None:
        self._result = result
        self._index = index
        self._request = result.request
        self._nodes = index.nodes.listed()
        self._hard = [spread for spread in result.results if isinstance(spread, FilterResult)]

    def first(self, proposed: Iterator[tuple[ClusterChange, list[Node]]]) -> Iterator[Changed]:
        """Yield the first change with which the pod fits, of the first few."""
        for (change, nodes), _ in zip(proposed, range(MOST_TRIED), strict=False):
            simulation = ClusterSimulation.of(self._index, self._request)
            for node in nodes:
                simulation.put(node)
            result = simulation.evaluate(self._request)
            if result.feasible_count:
                yield Changed(change, simulation.cluster, result)
                return

    def terminations(self) -> Iterator[Changed]:
        """Yield the change of waiting for pods that are being deleted, which still hold their requests."""
        simulation = ClusterSimulation.of(self._index, self._request)
        names = simulation.cluster.free_terminating()
        result = simulation.evaluate(self._request)
        if names and result.feasible_count:
            freed = [result.names[node] for node in np.flatnonzero(result.feasible).tolist()]
            freed = [name for name in freed if name in names]
            change = ClusterChange(
                what=ChangeKind.TERMINATION, nodes=tuple(freed[:EXAMPLES]), count=len(freed)
            )
            yield Changed(change, simulation.cluster, result)

    def cordons(self) -> Iterator[tuple[ClusterChange, list[Node]]]:
        """Yield the end of each cordon, those first where nothing else keeps the pod away."""
        cordoned = self._refused(Plugin.NODE_UNSCHEDULABLE)
        for node in self._by_obstacles(cordoned):
            change = ClusterChange(what=ChangeKind.CORDON, nodes=(node.name,))
            yield change, [uncordoned(node)]

    def labels(self) -> Iterator[tuple[ClusterChange, list[Node]]]:
        """Yield the missing label of nodes that lack a topology key which others carry."""
        for result in self._hard:
            key = result.applied.constraint.topology_key
            existing = np.flatnonzero(result.domains.exists)
            if not len(existing):
                continue
            emptiest = existing[int(np.argmin(result.domains.matching[existing]))]
            for node in self._by_obstacles(result.domains.of_node == MISSING):
                value = node.name if key == HOSTNAME else result.domains.values[int(emptiest)]
                change = ClusterChange(what=ChangeKind.NODE_LABEL, nodes=(node.name,), key=key, value=value)
                yield change, [node._replace(labels={**node.labels, key: value})]

    def domains(self) -> Iterator[tuple[ClusterChange, list[Node]]]:
        """Yield as many nodes in new domains as ``minDomains`` requires besides those that there are."""
        for result in self._hard:
            key, missing = result.applied.constraint.topology_key, _missing_domains(result)
            models = self._models(np.not_equal(result.domains.of_node, MISSING))
            if 0 < missing <= MOST_NEW_DOMAINS and key != HOSTNAME and models:
                model, without = models[0]
                new = [_like(model, number, {key: f"new {number + 1}"}) for number in range(missing)]
                change = ClusterChange(
                    what=ChangeKind.NEW_NODE, nodes=(model.name,), count=missing, key=key, without=without
                )
                yield change, new

    def new_nodes(self) -> Iterator[tuple[ClusterChange, list[Node]]]:
        """Yield one more node, first in those domains where constraints allow the pod."""
        zonal = [result for result in self._hard if result.applied.constraint.topology_key != HOSTNAME]
        allowed = np.ones(len(self._nodes), np.bool_)
        for result in zonal:
            allowed &= result.satisfied
        for model, without in self._models(allowed):
            key = zonal[0].applied.constraint.topology_key if zonal else ""
            value = model.labels.get(key)
            change = ClusterChange(
                what=ChangeKind.NEW_NODE, nodes=(model.name,), key=key, value=value, without=without
            )
            yield change, [_like(model, 0, {})]

    def nodes_of_volumes(self) -> Iterator[tuple[ClusterChange, list[Node]]]:
        """Yield a node more in the lost domain of each volume that no node reaches, such as a lost zone."""
        models = self._models(np.ones(len(self._nodes), np.bool_))[:1]
        for deadlock in find_deadlocks(self._result, self._index) if models else ():
            volume = self._index.storage.volumes.get(deadlock.volume)
            labels = {} if volume is None or deadlock.reaching else _only_labels(volume)
            if HOSTNAME in labels or not labels:
                continue
            ((model, without),), (key, value) = models, next(iter(labels.items()))
            change = ClusterChange(
                what=ChangeKind.NEW_NODE, nodes=(model.name,), key=key, value=value, without=without
            )
            yield change, [_like(model, 0, labels)]

    def _models(self, among: NDArray[np.bool_]) -> list[tuple[Node, tuple[str, ...]]]:
        """Return nodes that new ones may be like, one a domain; and the keys of taints they must not have."""
        models: dict[tuple[int, ...], tuple[Node, tuple[str, ...]]] = {}
        columns = [
            result.domains.of_node
            for result in self._hard
            if result.applied.constraint.topology_key != HOSTNAME
        ]
        among = among & ~self._refused(Plugin.NODE_AFFINITY)
        # Nodes that need no taint left out come first.
        positions = np.flatnonzero(among)
        tainted = self._refused(Plugin.TAINT_TOLERATION)[positions]
        for position in positions[np.argsort(tainted, kind="stable")].tolist():
            domain = tuple(int(column[position]) for column in columns)
            if domain not in models:
                node = self._nodes[position]
                models[domain] = self._untainted(node)
                if len(models) == MOST_TRIED:
                    break
        return list(models.values())

    def _untainted(self, node: Node) -> tuple[Node, tuple[str, ...]]:
        """Return a node as a new one would be, and the keys of the taints that it does without."""
        tolerations = self._request.pod.tolerations
        lasting = [taint for taint in node.taints if not taint.key.startswith(CONDITION_TAINTS)]

        def keeps_away(taint: Taint) -> bool:
            return first_untolerated((taint,), tolerations, SCHEDULING_EFFECTS) is not None

        removed = [taint.key for taint in lasting if keeps_away(taint)]
        kept = tuple(taint for taint in lasting if not keeps_away(taint))
        return node._replace(unschedulable=False, taints=kept), tuple(dict.fromkeys(removed))

    def _refused(self, plugin: Plugin) -> NDArray[np.bool_]:
        (refusals,) = (refusals for refusals in self._result.rejections if refusals.plugin is plugin)
        return np.not_equal(refusals.of_node, 0)

    def _by_obstacles(self, among: NDArray[np.bool_]) -> list[Node]:
        """Return some nodes, those first that the fewest plugins refuse."""
        counts = np.zeros(len(self._nodes), np.int64)
        for refusals in self._result.rejections:
            counts += refusals.of_node != 0
        positions = np.flatnonzero(among)
        order = positions[np.argsort(counts[positions], kind="stable")][:MOST_TRIED]
        return [self._nodes[position] for position in order.tolist()]


def _missing_domains(result: FilterResult) -> int:
    existing = int(np.count_nonzero(result.domains.exists))
    return result.applied.constraint.min_domains - existing if existing else 0


def _only_labels(volume: PersistentVolume) -> dict[str, str]:
    """Return the one label, with its one value, that nodes have which reach a volume; empty for any other."""
    pairs = dict(volume.site.zones)
    for term in volume.site.terms or ():
        pairs |= {entry.key: frozenset(entry.values) for entry in term.expressions}
    return {key: next(iter(values)) for key, values in pairs.items() if len(pairs) == len(values) == 1}


def _like(model: Node, number: int, labels: dict[str, str]) -> Node:
    """Return a new node like another; no real node has a blank in its name."""
    name = f"new node {number + 1}"
    return model._replace(name=name, labels={**model.labels, HOSTNAME: name, **labels})

"""Which changes could make a pod fit, read off a verdict; whoever proposes one judges it first.

A node's obstacles are the plugins that refuse it; PodTopologySpread counts once for each constraint that is
not satisfied. A change is worth trying if it takes the last obstacle of some node. What else it does (a
tolerated taint may bring a domain into the counts) only another verdict tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.engine.changes import Change, What
from policies.engine.feasibility import is_waiting
from policies.engine.index import ClusterIndex
from policies.engine.node_table import MISSING, PODS
from policies.engine.node_view import NodeView
from policies.engine.verdict import HardResult, Plugin, Verdict
from policies.model.constraint import NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.taints import SCHEDULING_EFFECTS, Taint, first_untolerated

#: Lists of taints for which tolerations are proposed, those of most nodes first. Arbitrary.
MOST_TAINT_LISTS: Final = 3
#: What the names of taints start with that tell a node's condition. A pod that tolerated one would run where
#: it cannot. Source: ``well_known_taints.go`` and ``cloud-provider/api``, Kubernetes 1.36.
CONDITION_TAINTS: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


def propose(verdict: Verdict, index: ClusterIndex, *, others: int) -> list[Change]:
    """Return what could take an obstacle of some node, the least given up first.

    Args:
        verdict: On a pod that fits nowhere.
        index: The cluster that it was made on, unchanged.
        others: How many more obstacles that node may have.
    """
    if is_waiting(verdict.question):
        return [Change(what=What.SCHEDULING_GATES)]
    with index.reading():
        obstacles = _Obstacles(verdict, NodeView(index.nodes, verdict.question.pod), others)
        changes = [*_of_constraints(obstacles), *_of_pod(obstacles, index)]
    return sorted(changes, key=lambda change: change.cost)


class _Obstacles:
    """How many obstacles each node has, and which nodes have one of them and few others."""

    def __init__(self, verdict: Verdict, view: NodeView, others: int) -> None:
        self.verdict = verdict
        self.view = view
        self._others = others
        self._refused: dict[Plugin, NDArray[np.bool_]] = {
            refusals.plugin: refusals.of_node != 0
            for refusals in verdict.refusals
            if refusals.plugin is not Plugin.POD_TOPOLOGY_SPREAD
        }
        self._counts = np.zeros(len(verdict.names), np.int64)
        for refused in self._refused.values():
            self._counts += refused
        for result in verdict.results:
            if isinstance(result, HardResult):
                self._counts += ~result.satisfied

    def refused_by(self, plugin: Plugin) -> NDArray[np.bool_]:
        """Return the nodes that a plugin refuses and few others do, shape ``(n,)``."""
        return self.fewest(self._refused[plugin])

    def fewest(self, nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return those of some nodes that have the fewest obstacles, none if these are too many."""
        least = min(int(self._counts[nodes].min(initial=self._others + 2)), self._others + 1)
        return nodes & (self._counts <= least)


def _of_constraints(obstacles: _Obstacles) -> Iterator[Change]:
    for position, result in enumerate(obstacles.verdict.results):
        if isinstance(result, HardResult):
            present = result.domains.of_node != MISSING
            within_reach = obstacles.fewest(present & ~result.satisfied)
            if within_reach.any():
                yield from _of_counts(obstacles, position, result, within_reach)
            if within_reach.any() or obstacles.fewest(~result.satisfied).any():
                soft = str(WhenUnsatisfiable.SCHEDULE_ANYWAY)
                yield Change(what=What.WHEN_UNSATISFIABLE, constraint=position, value=soft)
                yield Change(what=What.CONSTRAINT, constraint=position)


def _of_counts(
    obstacles: _Obstacles, position: int, result: HardResult, nodes: NDArray[np.bool_]
) -> Iterator[Change]:
    """Yield what makes a constraint count other nodes, or allow more."""
    question, constraint = obstacles.verdict.question, result.applied.constraint
    if question.behavior.inclusion_policies:
        honor, ignore = NodeInclusionPolicy.HONOR, NodeInclusionPolicy.IGNORE
        if constraint.node_taints_policy is ignore:
            yield Change(what=What.NODE_TAINTS_POLICY, constraint=position, value=str(honor))
        if question.pod.affinity.constrains:
            other = honor if constraint.node_affinity_policy is ignore else ignore
            yield Change(what=What.NODE_AFFINITY_POLICY, constraint=position, value=str(other))
    existing = int(np.count_nonzero(result.domains.exists))
    if 1 <= existing < constraint.min_domains:
        given_up = constraint.min_domains - existing
        yield Change(what=What.MIN_DOMAINS, constraint=position, value=existing, given_up=given_up)
    skew = int(result.skew[nodes].min())
    given_up = skew - constraint.max_skew
    yield Change(what=What.MAX_SKEW, constraint=position, value=skew, given_up=given_up)


def _of_pod(obstacles: _Obstacles, index: ClusterIndex) -> Iterator[Change]:
    affinity = obstacles.verdict.question.pod.affinity
    if obstacles.refused_by(Plugin.NODE_AFFINITY).any():
        if affinity.node_selector:
            yield Change(what=What.NODE_SELECTOR)
        if affinity.terms is not None:
            yield Change(what=What.NODE_AFFINITY)
    if obstacles.refused_by(Plugin.NODE_NAME).any():
        yield Change(what=What.NODE_NAME)
    yield from _of_tolerations(obstacles, index)
    lower = _lower_requests(obstacles)
    if lower is not None:
        yield lower


def _of_tolerations(obstacles: _Obstacles, index: ClusterIndex) -> Iterator[Change]:
    nodes = obstacles.refused_by(Plugin.TAINT_TOLERATION)
    tolerations = obstacles.verdict.question.pod.tolerations

    def untolerated(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
        return tuple(
            taint for taint in taints if first_untolerated((taint,), tolerations, SCHEDULING_EFFECTS)
        )

    lists = index.nodes.judge_taints(untolerated)
    counted = Counter(lists[number] for number in obstacles.view.taint_numbers[nodes].tolist())
    usable = (
        taints
        for taints, _ in sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
        if not any(taint.key.startswith(CONDITION_TAINTS) for taint in taints)
    )
    for taints, _ in zip(usable, range(MOST_TAINT_LISTS), strict=False):
        yield Change(what=What.TOLERATIONS, taints=taints, given_up=len(taints))


def _lower_requests(obstacles: _Obstacles) -> Change | None:
    """Return the change to what the node has left that lacks the smallest share of the requests."""
    view, requests = obstacles.view, obstacles.verdict.question.pod.requests
    nodes = obstacles.refused_by(Plugin.NODE_RESOURCES_FIT)
    offered, used = view.amounts(PODS)
    nodes &= used < offered
    missing = np.zeros(len(nodes))
    room = {}
    for name, request in requests:
        offered, used = view.amounts(name)
        left = room[name] = offered - used
        nodes &= left > 0
        missing += np.maximum(request - left, 0) / request
    if not nodes.any():
        return None
    roomiest = int(np.argmin(np.where(nodes, missing, np.inf)))
    lowered = tuple(
        (name, int(room[name][roomiest])) for name, request in requests if room[name][roomiest] < request
    )
    return (
        Change(what=What.REQUESTS, requests=lowered, given_up=float(missing[roomiest])) if lowered else None
    )

"""How many pods alike fit, one after another: each is bound to the node that the scheduler would choose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import PODS
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import FilterResult, SchedulingResult


def place_replicas(question: SchedulingRequest, fork: ClusterIndex, most: int) -> int:
    """Bind as many pods as fit, up to so many, each beside those before it; return how many that is.

    Among the feasible nodes the best by PodTopologySpread's score is taken, then the one where the skews are
    least, then the one with fewest pods. What other plugins add to a score is not modeled: by it a scheduler
    may choose otherwise, and where constraints conflict, fit fewer or more.

    Args:
        question: The pod, and the constraints in force.
        fork: The cluster, a fork for the pod's namespace.
        most: How many pods there are to place.
    """
    for placed in range(most):
        verdict = evaluate(question, fork)
        if not verdict.feasible_count:
            return placed
        # No pod has such a name; nor has one that was placed in this fork before.
        name = f"/{fork.pod_count}"
        fork.bind(question.pod, name, verdict.names[_choose(verdict, fork)])
    return most


def _choose(verdict: SchedulingResult, index: ClusterIndex) -> int:
    """Return the position of the node that takes the pod."""
    nodes = np.flatnonzero(verdict.feasible)
    if verdict.scores is not None:
        nodes = _least(nodes, -verdict.scores[nodes])
    skew = np.zeros(len(nodes), np.int64)
    for result in verdict.results:
        if isinstance(result, FilterResult):
            skew += result.skew[nodes]
    nodes = _least(nodes, skew)
    used = index.nodes.used.find(PODS)
    return int(nodes[0] if used is None else _least(nodes, used[index.nodes.order()[nodes]])[0])


def _least(nodes: NDArray[np.intp], amounts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return those of some nodes that have the smallest amount."""
    least: NDArray[np.intp] = nodes[amounts == amounts.min()]
    return least

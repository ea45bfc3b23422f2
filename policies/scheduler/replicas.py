"""How many replicas fit, one after another: each is bound to the node that the scheduler would choose."""

from __future__ import annotations

from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest


def place_replicas(request: SchedulingRequest, fork: ClusterIndex, most: int) -> int:
    """Bind as many pods as fit, up to so many, each beside those before it; return how many that is.

    Of the nodes with the best total the first by name is taken; the scheduler takes any of them.

    Args:
        request: The pod, and the constraints in force.
        fork: The cluster, a fork for the pod's namespace.
        most: How many pods there are to place.
    """
    for placed in range(most):
        verdict = evaluate(request, fork)
        if not verdict.feasible_count:
            return placed
        # No pod has such a name; nor has one that was placed in this fork before.
        name = f"/{fork.pod_count}"
        fork.bind(request.pod, name, verdict.names[verdict.best[0]])
    return most

"""How many of a workload's replicas have a node, or would get one after another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from policies.model.labels import LabelSelector, Operator, Requirement
from policies.placement.placement import Placement, PreparedPod
from policies.scheduler.binding import schedule
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest

#: Replicas that are placed one after another before the counting ends: with 5,000 nodes each takes
#: a millisecond, and it is done for every suggestion.
MOST_PLACED: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """How many replicas of one revision fit.

    Attributes:
        wanted: What the workload asks for.
        placed: Pods of the revision that have a node.
        fitting: Those, and as many of the missing ones as fit one after another.
        complete: Whether all missing ones were tried; otherwise ``fitting`` is as far as the counting went.
    """

    wanted: int
    placed: int
    fitting: int
    complete: bool = True

    @property
    def enough(self) -> bool:
        """Whether no replica that was tried is left over."""
        return self.fitting >= self.wanted or not self.complete


def count_replicas(placement: Placement) -> tuple[Replicas, ClusterIndex] | None:
    """Return how many replicas of a workload fit, and its cluster with them.

    Args:
        placement: Of the workload; its cluster must not have changed since.

    Returns:
        None for an object without a number of replicas, or whose pods cannot be told.
    """
    start = running_replicas(placement)
    return None if start is None else fill(start, placement.request, placement.cluster)


def running_replicas(prepared: PreparedPod) -> Replicas | None:
    """Return how many replicas of a workload have a node before any other is placed.

    Returns:
        None for an object without a number of replicas, or whose pods cannot be told.
    """
    selector, wanted = revision_selector(prepared), prepared.workload.replicas
    if wanted is None or wanted < 0 or selector is None:
        return None
    placed = prepared.cluster.count_pods(prepared.workload.namespace, selector)
    return Replicas(wanted=wanted, placed=placed, fitting=placed)


def fill(
    start: Replicas, question: SchedulingRequest, cluster: ClusterIndex
) -> tuple[Replicas, ClusterIndex]:
    """Return how many replicas there are once those are placed that a start lacks, and the cluster with them.

    Args:
        start: How many there are on the cluster.
        question: The pod.
        cluster: The cluster, which stays as it is.
    """
    fork = cluster.fork(question.pod.namespace, question.pod.terms)
    missing = max(start.wanted - start.fitting, 0)
    tried = min(missing, MOST_PLACED)
    more = _place(question, fork, tried)
    replicas = Replicas(
        wanted=start.wanted,
        placed=start.placed,
        fitting=start.fitting + more,
        complete=more < tried or tried == missing,
    )
    return replicas, fork


def _place(request: SchedulingRequest, fork: ClusterIndex, most: int) -> int:
    """Bind as many pods as fit, up to so many, each beside those before it; return how many that is."""
    for placed in range(most):
        # No pod has such a name; nor has one that was placed in this fork before.
        if schedule(request, fork, f"/{fork.pod_count}").node is None:
            return placed
    return most


def revision_selector(prepared: PreparedPod) -> LabelSelector | None:
    """Return what selects the workload's pods of the revision that is placed; None if nothing does."""
    workload, labels = prepared.workload, prepared.pod.template.labels
    selector, label = workload.selector, workload.kind.revision_label
    if selector is None or label is None or label not in labels:
        return selector
    revision = Requirement(label, Operator.IN, (labels[label],))
    return replace(selector, match_expressions=(*selector.match_expressions, revision))

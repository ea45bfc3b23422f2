"""The replicas of a workload: how many have a node, or would get one, and what they are called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Final, NamedTuple

from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod, count_bound, never
from planning.simulation.limits import MOST_PODS
from policies.manifests.fields import FieldPath, descend, invalid_value
from policies.manifests.wire import INTERNAL, Count
from policies.model.controller_labels import pod_name
from policies.model.labels import LabelSelector, Operator, Requirement
from policies.model.workload import Workload
from policies.pods.placement import Placement, PlacementError, PreparedPod, free_names
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest

#: Replicas that are placed one after another before the counting ends: with 5,000 nodes each takes
#: a millisecond, and it is done for every suggestion.
MOST_PLACED: Final = 300
#: The rule that a workload breaks which wants no possible number of replicas.
REPLICAS_INVALID: Final = "replicas-invalid"
#: The kinds whose controller runs pods until some have succeeded.
JOBS: Final = frozenset({("batch", "Job"), ("batch", "CronJob")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """How many replicas of one revision fit."""

    wanted: Count  #: Replicas that the workload wants.
    placed: Count  #: Pods of the revision that have a node.
    fitting: Count  #: Those, and as many of the missing ones as fit one after another.
    #: Whether all missing ones were tried; otherwise ``fitting`` is as far as the counting went.
    complete: bool = True
    #: Whether each missing one is tried though one before it fits nowhere: those of a parallel StatefulSet,
    #: whose volumes may be in other places.
    apart: Annotated[bool, INTERNAL] = False

    @property
    def enough(self) -> bool:
        """Whether no replica that was tried is left over."""
        return self.fitting >= self.wanted or not self.complete


class ReplicaEnds(NamedTuple):
    """The pods of a workload when all is done."""

    running: Count  #: Those that have a node.
    pending: Count  #: Those that have none.


def check_replicas(workload: Workload) -> None:
    """Check that a workload wants no more replicas than are scheduled.

    Raises:
        PlacementError: It wants more, or what is no number.
    """
    way, replicas = workload.kind.replicas, workload.replicas
    if way is not None and (replicas is None or not 0 <= replicas <= MOST_PODS):
        text = f"must be a whole number from 0 to {MOST_PODS:,}"
        error = invalid_value(FieldPath(way), workload.stated_replicas, text, REPLICAS_INVALID)
        raise PlacementError((error,))


def parallel_pods(workload: Workload) -> int | None:
    """Return how many pods the controller of a Job creates at first; None for an object of another kind.

    That is its ``parallelism``, by default 1, and at most its ``completions``, where it has some. Jobs of a
    CronJob have the numbers of its template.

    Raises:
        PlacementError: A number is none, or above what is scheduled; holds every error.

    Source: ``manageJob``, ``pkg/controller/job/job_controller.go``, Kubernetes 1.36.
    """
    if (workload.kind.group, workload.kind.kind) not in JOBS:
        return None
    way = workload.kind.template[:-1]
    spec = descend(workload.obj, way)
    names = ("parallelism", "completions")
    stated: dict[str, int] = {name: spec[name] for name in names if spec.get(name) is not None}
    wrong = {name: raw for name, raw in stated.items() if type(raw) is not int or not 0 <= raw <= MOST_PODS}
    if wrong:
        text = f"must be a whole number from 0 to {MOST_PODS:,}"
        raise PlacementError(
            tuple(
                invalid_value(FieldPath(way).child(name), raw, text, REPLICAS_INVALID)
                for name, raw in wrong.items()
            )
        )
    return min(({"parallelism": 1} | stated).values())


def count_replicas(
    placement: Placement, stop: Callable[[], bool] = never
) -> tuple[Replicas, ClusterIndex] | None:
    """Return how many replicas of a workload fit, and its cluster with them.

    Args:
        placement: Of the workload; its cluster must not have changed since.
        stop: Whether to place no more; called before each.

    Returns:
        None for an object without a number of replicas, or whose pods cannot be identified.
    """
    start = running_replicas(placement)
    return None if start is None else fill(start, placement.request, placement.cluster, stop)


def running_replicas(prepared: PreparedPod) -> Replicas | None:
    """Return how many replicas of a workload have a node before any other is placed.

    Returns:
        None for an object without a number of replicas, or whose pods cannot be identified.
    """
    selector, wanted = revision_selector(prepared), prepared.workload.replicas
    if wanted is None or wanted < 0 or selector is None:
        return None
    placed = prepared.cluster.count_pods(prepared.workload.namespace, selector)
    apart = bool(prepared.request.pod.claim_templates) and prepared.workload.is_parallel
    return Replicas(wanted=wanted, placed=placed, fitting=placed, apart=apart)


def fill(
    start: Replicas,
    request: SchedulingRequest,
    cluster: ClusterIndex,
    stop: Callable[[], bool] = never,
) -> tuple[Replicas, ClusterIndex]:
    """Return how many replicas there are once those are placed that a start lacks, and the cluster with them.

    Args:
        start: How many there are on the cluster.
        request: The pod.
        cluster: The cluster, which stays as it is.
        stop: Whether to place no more; called before each.
    """
    simulation = ClusterSimulation.of(cluster, request, stop=stop)
    missing = max(start.wanted - start.fitting, 0)
    # Which claims a replica of a StatefulSet has depends on its name.
    pod = request.pod
    names = free_names(pod.name, simulation.cluster, pod.namespace) if pod.claim_templates else None
    steps = simulation.schedule_fitting(request, min(missing, MOST_PLACED), names, apart=start.apart)
    more = count_bound(steps)
    all_tried = len(steps) == missing or (more < len(steps) and not start.apart)
    return replace(start, fitting=start.fitting + more, complete=all_tried), simulation.cluster


def revision_selector(prepared: PreparedPod) -> LabelSelector | None:
    """Return the selector of the workload's pods of the revision that is placed; None without a selector."""
    workload, labels = prepared.workload, prepared.pod.template.labels
    selector, label = workload.own_pods, workload.kind.revision_label
    if selector is None or label is None or label not in labels:
        return selector
    return selector.narrowed(Requirement(label, Operator.IN, (labels[label],)))


def replicas_of(prepared: PreparedPod, count: int, cluster: ClusterIndex | None = None) -> list[QueuedPod]:
    """Return so many replicas of a workload, with the names of ``free_names``.

    Args:
        prepared: The workload.
        count: How many.
        cluster: Whose pods have the names that are taken; None for the cluster that it was prepared for.
    """
    request, workload = prepared.request, prepared.workload
    first = request.pod.name
    if request.pod.claim_templates:
        # The pod has the ordinal that comes next, and pods below may be gone from the cluster.
        first = pod_name(workload.obj, workload.kind, workload.name)
    names = free_names(first, cluster or prepared.cluster, request.pod.namespace)
    owner = "" if workload.kind.is_pod else f"{workload.kind.kind}/{workload.name}"
    return [QueuedPod(next(names), request, owner, workload.is_ordered) for _ in range(count)]

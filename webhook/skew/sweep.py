"""One look at the spread of every workload of a cluster, kept to a share of one processor core."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from policies.admission.review_cost import ReviewCost
from policies.config.context import AdmissionContext
from policies.placement.audit.audit import WorkloadAudit
from policies.placement.audit.skew import workload_skew
from policies.placement.core.cluster_workloads import ClusterWorkload, ClusterWorkloads
from policies.scheduler.index import ClusterIndex
from webhook.telemetry.skew_metrics import SkewReport

#: Seconds of processor time after which a pause is due: little for a review that waits for the interpreter,
#: and much for what a wake-up costs.
_STEP_S: Final = 0.005


class SweepEndedError(Exception):
    """The sweep was ended before all workloads were measured: its figures are not those of the cluster."""


def sweep(
    workloads: ClusterWorkloads,
    context: Callable[[], AdmissionContext],
    throttle: Throttle,
    *,
    clock: Callable[[], float] = time.time,
) -> SkewReport:
    """Measure the spread of every workload.

    The lock of the index is held for one workload at a time, as a review holds it. A workload that would hold
    it for longer than a review may is not measured.

    Args:
        workloads: The workloads; no other thread changes them.
        context: Returns what constraints are in force by, or raises ``SweepEndedError``.
        throttle: Rests after each workload.
        clock: Returns the seconds since 1970.

    Raises:
        SweepEndedError: The cluster cannot be measured any more.
    """
    # A cache that is not synced may have no workload yet, of which nothing would be wrong.
    _cluster_of(context())
    began = clock()
    measured: list[WorkloadAudit] = []
    problems: list[str] = []
    for entry in workloads.each():
        if entry is not None:
            found = _measure(entry, context())
            if isinstance(found, str):
                problems.append(f"{entry.kind} {entry.workload.namespace}/{entry.name}: {found}")
            else:
                measured.append(found)
        throttle.rest()
    return SkewReport(began, clock() - began, tuple(measured), tuple(problems))


def _measure(entry: ClusterWorkload, context: AdmissionContext) -> WorkloadAudit | str:
    """Return the spread of a workload, or why it cannot be measured."""
    cluster = _cluster_of(context)
    try:
        return _too_large(entry, cluster) or workload_skew(entry, context)
    except Exception as error:  # noqa: BLE001  # one odd object must not hide all others
        return f"{type(error).__name__}: {error}"


def _cluster_of(context: AdmissionContext) -> ClusterIndex:
    if context.cluster is None:
        raise SweepEndedError(context.withheld)
    return context.cluster


def _too_large(entry: ClusterWorkload, cluster: ClusterIndex) -> str:
    """Return why a workload would hold up events and reviews for too long; empty if it would not."""
    with cluster.reading():
        table = cluster.pods_of(entry.workload.namespace)
        nodes, pods, all_pods = cluster.node_count, 0 if table is None else len(table), cluster.pod_count
    return ReviewCost(entry.workload, None).of_forecast(nodes=nodes, pods=pods, all_pods=all_pods)


class Throttle:
    """The processor time of one thread, spread over real time."""

    def __init__(
        self,
        share: float,
        wait: Callable[[float], object],
        *,
        used: Callable[[], float] = time.thread_time,
    ) -> None:
        """Begin, in the thread that is meant.

        Args:
            share: The share of a core that the thread may use.
            wait: Waits for a number of seconds.
            used: Returns the seconds of processor time that the thread has used.
        """
        self._share = share
        self._wait = wait
        self._used = used
        self._paid = used()

    def rest(self, *, at_once: bool = False) -> None:
        """Wait for as long as the work since the last pause has to be spread over.

        Args:
            at_once: Whether to pause for less than a step of work too.
        """
        work = self._used() - self._paid
        if work < _STEP_S and not at_once:
            return
        self._wait(work / self._share - work)
        # What waiting itself takes is work of the next step.
        self._paid += work

"""One look at the spread of every workload of a cluster, on a budget of processor time."""

from __future__ import annotations

import time
from collections.abc import Callable

from policies.admission.review_cost import ReviewCost
from policies.config.context import AdmissionContext
from policies.placement.audit.audit import WorkloadAudit
from policies.placement.audit.skew import workload_skew
from policies.placement.core.cluster_workloads import ClusterWorkload, ClusterWorkloads
from policies.scheduler.index import ClusterIndex
from webhook.skew.throttle import Throttle
from webhook.telemetry.skew_metrics import SkewReport


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

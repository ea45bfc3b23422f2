"""Measures, exports and records how workloads are spread, while this process leads.

A sweep looks once at every workload of the cluster, kept to a share of one processor core.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from planning.audit.audit import workload_skew
from planning.audit.workload_audit import WorkloadAudit
from policies.admission.review_cost import ReviewCost
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkload, ClusterWorkloads
from policies.model.step_counter import StepCounter, TooManyStepsError
from policies.scheduler.index import ClusterIndex
from webhook.component import Confidential, Elect, LeaderComponent, Throttle
from webhook.telemetry.logs import LOGGER, ProblemLog
from webhook.telemetry.skew_metrics import SkewReport
from webhook.workload_store import WorkloadStore

#: The share of a core that measuring may use; what watching adds stays within the rest of a twentieth.
SHARE: Final = 0.04
#: Seconds between the begins of two sweeps at least: half the usual interval of scrapes.
SWEEP_EVERY_S: Final = 15.0
#: Seconds until it is tried again where the cluster cannot be measured.
_RETRY_S: Final = 1.0


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
        with cluster.reading(_steps_of(entry, cluster)):
            return workload_skew(entry, context)
    except TooManyStepsError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  # one odd object must not hide all others
        return f"{type(error).__name__}: {error}"


def _cluster_of(context: AdmissionContext) -> ClusterIndex:
    if context.cluster is None:
        raise SweepEndedError(context.withheld)
    return context.cluster


def _steps_of(entry: ClusterWorkload, cluster: ClusterIndex) -> StepCounter:
    """Return the steps that measuring a workload may take, or it would hold up events and reviews."""
    with cluster.reading():
        table = cluster.pods_of(entry.workload.namespace)
        nodes, pods = cluster.node_count, 0 if table is None else len(table)
    return ReviewCost(entry.workload, None).forecast_steps(nodes=nodes, pods=pods)


class SkewSink(Protocol):
    """Takes what a sweep has found, and is called when this process finds no more."""

    def take(self, report: SkewReport, /) -> None:
        """Take the spread of every workload."""

    def clear(self) -> None:
        """Take back what was given out."""

    def warnings(self) -> list[str]:
        """Return the skews that could not be given out, and why; empty if there are none."""


class SkewController(LeaderComponent):
    """Sweeps over the workloads of a cluster from ``start`` to ``stop``, while it is elected."""

    def __init__(
        self,
        store: WorkloadStore,
        context: Callable[[], AdmissionContext],
        *,
        elect: Elect,
        sinks: Sequence[SkewSink],
        every_s: float = SWEEP_EVERY_S,
    ) -> None:
        """Nothing is measured or sent yet.

        Args:
            store: The workloads.
            context: Returns what constraints are in force by, without a cluster while its cache is stale.
            elect: Stands for election.
            sinks: What takes the results.
            every_s: Seconds between the begins of two sweeps at least.
        """
        super().__init__("skew", elect=elect, event="skew_leading")
        self._store = store
        self._sinks = sinks
        self._every_s = every_s
        self._problems = ProblemLog()
        self._context = context
        self._not_measured = 0

    def warnings(self) -> list[str]:
        """Return the skews that are not measured, exported or recorded, and why; empty if there are none."""
        found = (
            [f"workloads whose skew is not measured: {self._not_measured:,}"] if self._not_measured else []
        )
        if self.leading and (failure := self._problems.reason("skew_failed")):
            found.append(f"skew is not measured: {failure}")
        found += [text for sink in self._sinks for text in sink.warnings()]
        return list(map(Confidential, found))

    def stop(self) -> None:
        """Let another process measure."""
        super().stop()
        self._clear()

    def _step(self) -> float | None:
        """Measure while this process leads; return the seconds until the next time."""
        if self.leading:
            return self._sweep()
        self._clear()
        return None

    def _sweep(self) -> float:
        """Measure once and hand the result out; take back what was handed out if there is none."""
        throttle = Throttle(SHARE, self.pause)
        try:
            report = sweep(self._store.workloads(), self._usable_context, throttle)
            for sink in self._sinks:
                sink.take(report)
            self._report(report)
            throttle.rest(at_once=True)
        except SweepEndedError:
            self._clear()
            return _RETRY_S
        except Exception as error:  # noqa: BLE001  # nothing would start this thread again
            reason = f"{type(error).__name__}: {error}"
            self._problems.report("skew_failed", reason, level=logging.ERROR, trace=error)
            return self._every_s
        return max(0.0, self._every_s - report.seconds)

    def _usable_context(self) -> AdmissionContext:
        if not self.leading:
            raise SweepEndedError("this process leads no more")
        return self._context()

    def _clear(self) -> None:
        self._not_measured = 0
        for sink in self._sinks:
            sink.clear()

    def _report(self, report: SkewReport) -> None:
        """Log how many workloads could not be measured when that changes."""
        problems = report.problems
        if problems and len(problems) != self._not_measured:
            fields = {"workloads": len(problems), "first": problems[0]}
            LOGGER.warning("skew_not_measured", extra={"fields": fields})
        self._not_measured = len(problems)
        self._problems.report("skew_failed", "")

"""Measures, exports and records how workloads are spread, while this process leads.

A sweep looks once at every workload of the cluster, kept to a share of one processor core.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeAlias

from planning.audit.audit import workload_skew
from planning.audit.workload_audit import WorkloadAudit
from policies.admission.review_cost import ReviewCost
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkload, ClusterWorkloads
from policies.model.step_counter import StepCounter, TooManyStepsError
from policies.model.workload_ref import WorkloadRef
from policies.scheduler.index import ClusterIndex
from webhook.component import Confidential, Elect, LeaderComponent, Throttle
from webhook.telemetry.logs import LOGGER, ProblemLog
from webhook.telemetry.skew_metrics import SkewReport

#: Objects that one child looks at: some tenth of a second, in which no question is answered.
PART: Final = 100
#: The share of a core that measuring may use; what watching adds stays within the rest of a twentieth.
SHARE: Final = 0.04
#: Seconds between the begins of two sweeps at least: half the usual interval of scrapes.
SWEEP_EVERY_S: Final = 15.0
#: Seconds until it is tried again where the cluster cannot be measured.
_RETRY_S: Final = 1.0


class SweepEndedError(Exception):
    """The sweep was ended before all workloads were measured: its figures are not those of the cluster."""


class Held(Protocol):
    """What a fork server holds."""

    @property
    def context(self) -> AdmissionContext:
        """What constraints are in force by, with the cluster."""

    @property
    def workloads(self) -> ClusterWorkloads | None:
        """The workloads of the cluster."""


class MeasuredPart(NamedTuple):
    """The spread of some workloads."""

    workloads: tuple[WorkloadAudit, ...]  #: The workloads.
    problems: tuple[str, ...]  #: Of each that could not be measured, why.
    last: WorkloadRef | None  #: After which object it goes on; None if these were the last ones.
    processor_s: float  #: Seconds of processor time that they took.


#: Has a child of the fork server compute something of what that holds.
Ask: TypeAlias = Callable[[Callable[[Held], MeasuredPart]], MeasuredPart]


def sweep(
    ask: Ask,
    check: Callable[[], None],
    charge: Callable[[float], None],
    *,
    clock: Callable[[], float] = time.time,
) -> SkewReport:
    """Measure the spread of every workload, a part of them in one child.

    Args:
        ask: Has a part measured.
        check: Raises ``SweepEndedError`` if the cluster cannot be measured any more.
        charge: Is told the seconds of processor time that a part took, and rests.
        clock: Returns the seconds since 1970.

    Raises:
        SweepEndedError: The cluster cannot be measured any more.
    """
    # A cache that is not synced may have no workload yet, of which nothing would be wrong.
    check()
    began = clock()
    parts = [ask(measure_part)]
    charge(parts[-1].processor_s)
    while (last := parts[-1].last) is not None:
        check()
        parts.append(ask(partial(measure_part, after=last)))
        charge(parts[-1].processor_s)
    check()
    return SkewReport(
        began,
        clock() - began,
        tuple(found for part in parts for found in part.workloads),
        tuple(text for part in parts for text in part.problems),
    )


def measure_part(held: Held, *, after: WorkloadRef | None = None) -> MeasuredPart:
    """Measure the spread of the workloads after one; what takes more than a review may is left out.

    Raises:
        SweepEndedError: There is no cluster.
    """
    began, cluster, workloads = time.process_time(), held.context.cluster, held.workloads
    if cluster is None or workloads is None:
        raise SweepEndedError(held.context.withheld)
    keys = workloads.keys()
    start = 0 if after is None else bisect_right(keys, after)
    end = start + PART
    measured: list[WorkloadAudit] = []
    problems: list[str] = []
    for entry in filter(None, workloads.each(slice(start, end))):
        found = _measure(entry, held.context, cluster)
        if isinstance(found, str):
            problems.append(f"{entry.kind} {entry.workload.namespace}/{entry.name}: {found}")
        else:
            measured.append(found)
    last = keys[end - 1] if end < len(keys) else None
    return MeasuredPart(tuple(measured), tuple(problems), last, time.process_time() - began)


def _measure(entry: ClusterWorkload, context: AdmissionContext, cluster: ClusterIndex) -> WorkloadAudit | str:
    """Return the spread of a workload, or why it cannot be measured."""
    try:
        with cluster.reading(_steps_of(entry, cluster)):
            return workload_skew(entry, context)
    except TooManyStepsError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  # one odd object must not hide all others
        return f"{type(error).__name__}: {error}"


def _steps_of(entry: ClusterWorkload, cluster: ClusterIndex) -> StepCounter:
    """Return the steps that measuring a workload may take, or one would hold up all others."""
    table = cluster.pods_of(entry.workload.namespace)
    pods = 0 if table is None else len(table)
    return ReviewCost(entry.workload, None).forecast_steps(nodes=cluster.node_count, pods=pods)


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
        ask: Ask,
        withheld: Callable[[], str],
        *,
        elect: Elect,
        sinks: Sequence[SkewSink],
        every_s: float = SWEEP_EVERY_S,
    ) -> None:
        """Nothing is measured or sent yet.

        Args:
            ask: Has a child of the fork server compute something.
            withheld: Returns why the cluster cannot be measured now; empty if it can.
            elect: Stands for election.
            sinks: What takes the results.
            every_s: Seconds between the begins of two sweeps at least.
        """
        super().__init__("skew", elect=elect, event="skew_leading")
        self._ask = ask
        self._sinks = sinks
        self._every_s = every_s
        self._problems = ProblemLog()
        self._withheld = withheld
        self._spent_s = 0.0
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
        throttle = Throttle(SHARE, self.pause, used=lambda: self._spent_s)

        def charge(seconds: float) -> None:
            self._spent_s += seconds
            throttle.rest()

        try:
            report = sweep(self._ask, self._check, charge)
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

    def _check(self) -> None:
        if why := self._withheld() if self.leading else "this process leads no more":
            raise SweepEndedError(why)

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

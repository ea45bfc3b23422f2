"""Measures, exports and records how workloads are spread, while this process leads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from policies.config.context import AdmissionContext
from webhook.kube.workload_store import WorkloadStore
from webhook.skew.sweep import SweepEndedError, sweep
from webhook.skew.throttle import Throttle
from webhook.telemetry.logs import LOGGER
from webhook.telemetry.skew_metrics import SkewReport

if TYPE_CHECKING:
    # With it comes the kubernetes client.
    from webhook.kube.election import Elect

#: The share of a core that measuring may use; what watching adds stays within the rest of a twentieth.
SHARE: Final = 0.04
#: Seconds between the begins of two sweeps at least: half the usual interval of scrapes.
SWEEP_EVERY_S: Final = 15.0
#: Seconds until it is tried again where the cluster cannot be measured.
_RETRY_S: Final = 1.0
#: Seconds for a sweep to notice that it must end.
_STOP_S: Final = 2.0


class SkewSink(Protocol):
    """Takes what a sweep has found, and is told when this process finds no more."""

    def take(self, report: SkewReport, /) -> None:
        """Take the spread of every workload."""

    def clear(self) -> None:
        """Take back what was given out."""

    def warnings(self) -> list[str]:
        """Return what could not be given out, and why; empty if nothing is wrong."""


class SkewController:
    """Sweeps over the workloads of a cluster from ``start`` to ``stop``, while it is elected."""

    def __init__(
        self, store: WorkloadStore, *, elect: Elect, sinks: Sequence[SkewSink], every_s: float = SWEEP_EVERY_S
    ) -> None:
        """Nothing is measured or sent yet.

        Args:
            store: The workloads.
            elect: Stands for election.
            sinks: What takes the results.
            every_s: Seconds between the begins of two sweeps at least.
        """
        self._store = store
        self._elect = elect
        self._sinks = sinks
        self._every_s = every_s
        self._wake = threading.Event()
        self._stopping = False
        self._leading = False
        self._resign: Callable[[], None] | None = None
        self._thread = threading.Thread(target=self._run, name="skew", daemon=True)
        self._context: Callable[[], AdmissionContext] | None = None
        self._not_measured = 0
        self._failure = ""

    @property
    def leading(self) -> bool:
        """Whether this process measures."""
        return self._leading

    def warnings(self) -> list[str]:
        """Return what is not measured, exported or recorded, and why; empty if nothing is wrong."""
        found = (
            [f"workloads whose skew is not measured: {self._not_measured:,}"] if self._not_measured else []
        )
        if self._failure:
            found.append(f"skew is not measured: {self._failure}")
        return [*found, *(text for sink in self._sinks for text in sink.warnings())]

    def start(self, context: Callable[[], AdmissionContext]) -> None:
        """Stand for election, and measure whenever elected.

        Args:
            context: Returns what constraints are in force by, without a cluster while its cache is stale.
        """
        self._context = context
        self._thread.start()
        self._resign = self._elect(self._begin, self._end)

    def stop(self) -> None:
        """Let another process measure."""
        self._stopping = True
        self._wake.set()
        if self._resign is not None:
            self._resign()
        if self._thread.ident is not None:
            self._thread.join(_STOP_S)

    def _begin(self) -> None:
        self._leading = True
        LOGGER.info("skew_leading_started")
        self._wake.set()

    def _end(self) -> None:
        self._leading = False
        LOGGER.info("skew_leading_stopped")
        self._wake.set()

    def _run(self) -> None:
        while not self._stopping:
            if self._leading:
                self._sweep()
            else:
                self._clear()
                self._wake.wait()
                self._wake.clear()
        self._clear()

    def _sweep(self) -> None:
        """Measure once and hand the result out; take back what was handed out if there is none."""
        throttle = Throttle(SHARE, self._wait)
        try:
            report = sweep(self._store.workloads(), self._usable_context, throttle)
            for sink in self._sinks:
                sink.take(report)
            self._report(report)
            throttle.rest(at_once=True)
            rest_s = max(0.0, self._every_s - report.seconds)
        except SweepEndedError:
            self._clear()
            rest_s = _RETRY_S
        except Exception as error:  # noqa: BLE001  # nothing would start this thread again
            self._failed(error)
            rest_s = self._every_s
        self._wait(rest_s)

    def _wait(self, seconds: float) -> None:
        """Wait, but not for a process that leads no more."""
        self._wake.clear()
        if self._leading and not self._stopping:
            self._wake.wait(seconds)

    def _usable_context(self) -> AdmissionContext:
        if not self._leading or self._stopping or self._context is None:
            raise SweepEndedError("this process leads no more")
        return self._context()

    def _clear(self) -> None:
        self._not_measured, self._failure = 0, ""
        for sink in self._sinks:
            sink.clear()

    def _failed(self, error: Exception) -> None:
        """Log why a sweep failed, unless that is why the last one did."""
        reason = f"{type(error).__name__}: {error}"
        if reason != self._failure:
            LOGGER.error("skew_failed", extra={"fields": {"reason": reason}}, exc_info=error)
        self._failure = reason

    def _report(self, report: SkewReport) -> None:
        """Log how many workloads could not be measured when that changes."""
        problems = report.problems
        if problems and len(problems) != self._not_measured:
            fields = {"workloads": len(problems), "first": problems[0]}
            LOGGER.warning("skew_not_measured", extra={"fields": fields})
        self._not_measured, self._failure = len(problems), ""

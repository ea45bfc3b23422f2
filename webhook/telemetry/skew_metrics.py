"""The gauges of how workloads are spread: some for each constraint, the worst first, up to a limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from planning.audit.workload_audit import ConstraintSkew, Risk, WorkloadAudit
from planning.simulation.survival import Survival
from policies.manifests.sanitize import one_line
from policies.model.labels import KEY_LENGTH
from webhook.telemetry.logs import LOGGER
from webhook.telemetry.metrics import Telemetry

_WORKLOAD: Final = ("namespace", "kind", "workload")
_CONSTRAINT: Final = (*_WORKLOAD, "topology_key", "when_unsatisfiable")
_KEY: Final = (*_WORKLOAD, "topology_key")
#: The risks that the place of pods shows, and that of pending pods.
_RISKS: Final = (
    Risk.VIOLATED,
    Risk.WOULD_VIOLATE,
    Risk.PENDING,
    Risk.ONE_DOMAIN,
    Risk.UNEVEN,
    Risk.NEVER_BINDS,
    Risk.INVALID,
)


class SkewReport(NamedTuple):
    """How the workloads of a cluster are spread."""

    measured_at: float  #: When the first of them was measured, as seconds since 1970.
    seconds: float  #: How long it took to measure them all.
    workloads: tuple[WorkloadAudit, ...]  #: The workloads.
    problems: tuple[str, ...] = ()  #: Of each workload that could not be measured, why.


class _Entry(NamedTuple):
    """A constraint of a workload by its labels."""

    labels: tuple[str, ...]
    skew: ConstraintSkew
    pending: int

    @property
    def order(self) -> tuple[bool, bool, bool, float, tuple[str, ...]]:
        """Sorts as an audit does: violated, pods pending, uneven, the share of pods in excess, the name."""
        found = self.skew
        violated = found.applied.is_hard and not found.within
        return not violated, not self.pending, found.within, -found.excess, self.labels


class _Loss(NamedTuple):
    """What is left of a workload without the fullest domain of a key, by its labels."""

    labels: tuple[str, ...]
    survival: Survival

    @property
    def order(self) -> tuple[bool, float, tuple[str, ...]]:
        """Sorts those first that the loss of a domain stops, then by the share of pods that is left."""
        found = self.survival
        return not found.stops, found.left / (found.running or 1), self.labels


@dataclass(frozen=True, slots=True)
class ExportedSkew:
    """The exported part of a report."""

    entries: tuple[_Entry, ...]  #: The constraints, the worst first; no two have the same labels.
    left_out: int  #: How many constraints are not exported.
    losses: tuple[_Loss, ...]  #: The same of keys of workloads.
    losses_left_out: int  #: How many keys of workloads are not exported.

    @classmethod
    def of(cls, workloads: Iterable[WorkloadAudit], limit: int) -> ExportedSkew:
        """Choose the constraints to export, and the keys, at most ``limit`` of each.

        Of two with the same labels, as the ReplicaSets of a Deployment have during a rollout, the worse one
        is exported.
        """
        entries: dict[tuple[str, ...], _Entry] = {}
        losses: dict[tuple[str, ...], _Loss] = {}
        each = tuple(workloads)
        for entry in sorted(chain.from_iterable(map(_entries, each)), key=lambda entry: entry.order):
            entries.setdefault(entry.labels, entry)
        for loss in sorted(chain.from_iterable(map(_losses, each)), key=lambda loss: loss.order):
            losses.setdefault(loss.labels, loss)
        return cls(
            tuple(entries.values())[:limit],
            max(0, len(entries) - limit),
            tuple(losses.values())[:limit],
            max(0, len(losses) - limit),
        )


def _entries(found: WorkloadAudit) -> Iterator[_Entry]:
    for skew in found.constraints:
        constraint = skew.applied.constraint
        labels = (*_labels(found, constraint.topology_key), constraint.when_unsatisfiable.value)
        yield _Entry(labels, skew, found.pending)


def _losses(found: WorkloadAudit) -> Iterator[_Loss]:
    for each in found.survival:
        yield _Loss(_labels(found, each.topology_key), each)


def _labels(found: WorkloadAudit, key: str) -> tuple[str, ...]:
    return tuple(one_line(value, KEY_LENGTH) for value in (found.namespace, found.kind, found.name, key))


def skew_families(report: SkewReport, exported: ExportedSkew) -> list[Metric]:
    """Return the gauges of a report, of which so much is exported."""
    return [
        *_constraint_gauges(exported),
        *_loss_gauges(exported),
        _pending_gauge(exported),
        *_summary(report, exported),
    ]


def _constraint_gauges(exported: ExportedSkew) -> list[Metric]:
    skew = GaugeMetricFamily(
        "evenkeel_workload_skew",
        "Matching pods of the fullest domain above the global minimum, for a constraint in force.",
        labels=_CONSTRAINT,
    )
    max_skew = GaugeMetricFamily(
        "evenkeel_workload_max_skew", "maxSkew of the constraint.", labels=_CONSTRAINT
    )
    domains = GaugeMetricFamily(
        "evenkeel_workload_domains", "Domains of the nodes that the constraint counts.", labels=_CONSTRAINT
    )
    for labels, found, _ in exported.entries:
        skew.add_metric(labels, found.skew)
        max_skew.add_metric(labels, found.applied.constraint.max_skew)
        domains.add_metric(labels, found.domains)
    return [skew, max_skew, domains]


def _loss_gauges(exported: ExportedSkew) -> list[Metric]:
    left = GaugeMetricFamily(
        "evenkeel_workload_replicas_left",
        "Pods of a workload that still run if its fullest domain of a topology key goes.",
        labels=_KEY,
    )
    stops = GaugeMetricFamily(
        "evenkeel_workload_stops",
        "Whether the loss of one domain stops a workload of two pods or more that could have others.",
        labels=_KEY,
    )
    for labels, survival in exported.losses:
        left.add_metric(labels, survival.left)
        stops.add_metric(labels, survival.stops)
    return [left, stops]


def _pending_gauge(exported: ExportedSkew) -> Metric:
    gauge = GaugeMetricFamily(
        "evenkeel_workload_pods_pending_on_spread",
        "Pending pods of a workload that some node rejects for topology spread alone.",
        labels=_WORKLOAD,
    )
    pending: dict[tuple[str, ...], int] = {}
    for labels, _, count in exported.entries:
        workload = labels[: len(_WORKLOAD)]
        pending[workload] = max(count, pending.get(workload, 0))
    for labels, count in pending.items():
        gauge.add_metric(labels, count)
    return gauge


def _summary(report: SkewReport, exported: ExportedSkew) -> Iterator[Metric]:
    counts = Counter(
        risk for each in report.workloads for risk in {problem.risk for problem in each.problems}
    )
    risks = GaugeMetricFamily(
        "evenkeel_workloads_at_risk",
        "Workloads by what is wrong with their spread, as evenkeel audit names it; also of those left out.",
        labels=["risk"],
    )
    for risk in _RISKS:
        risks.add_metric([risk], counts[risk])
    yield risks
    for name, text, value in (
        ("workloads_measured", "Workloads whose skew was measured.", len(report.workloads)),
        (
            "workloads_not_measured",
            "Workloads whose skew was not measured: too large, or an internal error.",
            len(report.problems),
        ),
        ("constraints_exported", "Constraints whose skew is exported.", len(exported.entries)),
        ("constraints_left_out", "Constraints beyond --skew-metrics, not exported.", exported.left_out),
        (
            "survival_left_out",
            "Topology keys of workloads beyond --skew-metrics, whose replicas left are not exported.",
            exported.losses_left_out,
        ),
        (
            "timestamp_seconds",
            "When the oldest of the exported skews was measured, as seconds since 1970.",
            report.measured_at,
        ),
        ("sweep_duration_seconds", "Time to measure all workloads once, on a budget.", report.seconds),
    ):
        yield GaugeMetricFamily(f"evenkeel_skew_{name}", text, value=value)


class SkewExporter:
    """Exports the worst constraints of the last report."""

    def __init__(self, telemetry: Telemetry, limit: int) -> None:
        """Export nothing yet.

        Args:
            telemetry: The metrics.
            limit: How many constraints are exported at most, and how many keys of workloads.
        """
        self._series = telemetry.skew
        self._limit = limit
        self._left_out = 0

    def take(self, report: SkewReport) -> None:
        """Export a report in place of the last one, and log when the limit begins or ceases to matter."""
        exported = ExportedSkew.of(report.workloads, self._limit)
        self._series.publish(skew_families(report, exported))
        was_cut, self._left_out = self._left_out > 0, exported.left_out + exported.losses_left_out
        if (self._left_out > 0) != was_cut:
            fields = {"limit": self._limit, "left_out": self._left_out}
            LOGGER.warning("skew_limited", extra={"fields": fields})

    def clear(self) -> None:
        """Export nothing any more."""
        self._series.withdraw()
        self._left_out = 0

    def warnings(self) -> list[str]:
        """Return how many constraints and keys are beyond the limit, if any is."""
        text = "constraints and topology keys of workloads that are not exported, beyond the"
        return [f"{text} {self._limit:,} of --skew-metrics: {self._left_out:,}"] if self._left_out else []

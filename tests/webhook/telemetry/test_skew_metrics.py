"""The gauges of how workloads are spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from planning.audit.workload_audit import WorkloadAudit
from tests.webhook.skew.skews import a_skew, a_workload_skew
from webhook.telemetry.metric_files import SkewSeries
from webhook.telemetry.skew_metrics import ExportedSkew, SkewReport, skew_families

SOFT: dict[str, Any] = {"whenUnsatisfiable": "ScheduleAnyway"}


def _samples(workloads: Sequence[WorkloadAudit], limit: int = 100) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the values of each metric by its labels, as Prometheus reads them."""
    series = SkewSeries(None)
    report = SkewReport(7.0, 2.5, tuple(workloads), ("one is too large",))
    series.publish(skew_families(report, ExportedSkew.of(workloads, limit)))
    return {
        family.name: {tuple(sorted(sample.labels.values())): sample.value for sample in family.samples}
        for family in text_string_to_metric_families(series.text().decode())
    }


def _exported(workloads: Sequence[WorkloadAudit], limit: int) -> tuple[list[str], int]:
    exported = ExportedSkew.of(workloads, limit)
    return [entry.labels[2] for entry in exported.entries], exported.left_out


def test_every_number() -> None:
    """Each metric has the value that its help text says."""
    found = _samples([a_workload_skew(a_skew(3, maxSkew=2), pending=4), a_workload_skew(a_skew(), name="b")])
    key = ("Deployment", "DoNotSchedule", "shop", "topology.kubernetes.io/zone", "web")

    assert (3, 2, 3) == (
        found["evenkeel_workload_skew"][key],
        found["evenkeel_workload_max_skew"][key],
        found["evenkeel_workload_domains"][key],
    )
    assert {("Deployment", "shop", "web"): 4, ("Deployment", "b", "shop"): 0} == (
        found["evenkeel_workload_pods_pending_on_spread"]
    )
    assert {("violated",): 1, ("pending",): 1} == {
        risk: count for risk, count in found["evenkeel_workloads_at_risk"].items() if count
    }
    assert {
        "workloads_measured": 2,
        "workloads_not_measured": 1,
        "constraints_exported": 2,
        "constraints_left_out": 0,
        "survival_left_out": 0,
        "timestamp_seconds": 7,
        "sweep_duration_seconds": 2.5,
    } == {
        name.removeprefix("evenkeel_skew_"): values[()]
        for name, values in found.items()
        if name.startswith("evenkeel_skew_")
    }


WORST_FIRST = [
    a_workload_skew(a_skew(2), name="violated-2-of-2"),
    a_workload_skew(a_skew(3, minimum=6), name="violated-3-of-9"),
    a_workload_skew(a_skew(1), name="even", pending=1),
    a_workload_skew(a_skew(9, **SOFT), name="uneven"),
    a_workload_skew(a_skew(1, **SOFT), name="a-good-one"),
    a_workload_skew(a_skew(1, **SOFT), name="b-good-one"),
]


@pytest.mark.parametrize("limit", [0, 1, 3, 6, 7])
def test_the_worst_are_exported(limit: int) -> None:
    """In any order, the limit keeps the worst, and how many it leaves out is known."""
    names = [each.name for each in WORST_FIRST]

    assert (names[:limit], max(0, 6 - limit)) == _exported(WORST_FIRST, limit)
    assert (names[:limit], max(0, 6 - limit)) == _exported(WORST_FIRST[::-1], limit)


def test_risks_count_what_is_left_out() -> None:
    """A limit that is too small is seen by them."""
    found = _samples(WORST_FIRST, limit=1)

    assert 2 == found["evenkeel_workloads_at_risk"]["violated",]
    assert 5 == found["evenkeel_skew_constraints_left_out"][()]


def test_two_revisions_are_one_series() -> None:
    """A scrape with a series twice would be refused as a whole; the worse one is told."""
    old, new = a_workload_skew(a_skew(3), pending=2), a_workload_skew(a_skew(1))
    found = _samples([new, old, new])

    assert [3] == list(found["evenkeel_workload_skew"].values())
    assert [2] == list(found["evenkeel_workload_pods_pending_on_spread"].values())
    assert 0 == found["evenkeel_skew_constraints_left_out"][()]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        pytest.param('a"b\\c\nd', 'a"b\\c\\nd', id="what ends a value"),
        pytest.param("\x1b[31mred\u202e", "\\x1b[31mred\\u202e", id="what steers a terminal"),
        pytest.param("x" * 10_000, "x" * 316 + "…", id="10,000 characters"),
    ],
)
def test_label_values_are_bounded(name: str, label: str) -> None:
    """An owner reference can name anything."""
    found = _samples([a_workload_skew(a_skew(), name=name), a_workload_skew(a_skew(), name=name + "?")])

    assert any(label in labels for labels in found["evenkeel_workload_skew"])

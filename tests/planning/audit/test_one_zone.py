"""A workload whose pods are all in one zone is green in no form, whatever its constraints say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from prometheus_client.metrics_core import Metric

from planning.audit import json, policy_report, text
from planning.audit.audit import audit, workload_skew
from planning.audit.run import AuditedCluster, AuditRun
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkload
from policies.model.topology_keys import ZONE
from policies.model.version import KNOWN_VERSION
from policies.model.workload import Workload
from tests.builders import HOSTNAME, a_constraint, a_node, a_workload, kind_of
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index
from webhook.skew.event_writer import Conditions, EventReason
from webhook.telemetry.skew_metrics import ExportedSkew, SkewReport, skew_families

#: Two zones of two nodes; both pods are in the first zone, one on each node.
_OBJECTS = [
    *(a_node(name, zone) for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b"), ("n4", "b"))),
    *on("n1", 1),
    *on("n2", 1),
]
_CONTEXT = AdmissionContext(policies=(), cluster=an_index(_OBJECTS))
_SENTENCE = "both are in zone a, whose loss stops it"
_SPREADS = [
    pytest.param([], id="built-in defaults"),
    pytest.param([a_constraint(maxSkew=2)], id="within maxSkew"),
    pytest.param([a_constraint(topologyKey=HOSTNAME, maxSkew=1)], id="skew 1 of hosts"),
    pytest.param([a_constraint(labelSelector={"matchLabels": {"app": "other"}})], id="counts none of them"),
]


def _entry(spread: list[dict[str, Any]]) -> ClusterWorkload:
    obj = a_workload("StatefulSet", spec={"topologySpreadConstraints": spread} if spread else {})
    obj["spec"]["replicas"] = 2
    workload = Workload.read(obj, kind_of("StatefulSet", "apps"), "shop")
    return ClusterWorkload(workload, "StatefulSet", "web", 0)


def _run(spread: list[dict[str, Any]]) -> AuditRun:
    at = datetime(2026, 7, 1, tzinfo=UTC)
    cluster = AuditedCluster(version=KNOWN_VERSION, nodes=4, pods=2, at=at, tool_version="1.2.3")
    return AuditRun.of([audit(_entry(spread), _CONTEXT)], cluster)


@pytest.mark.parametrize("spread", _SPREADS)
class TestOneZone:
    """All pods in one of two zones."""

    def test_texts(self, spread: list[dict[str, Any]]) -> None:
        """It is a problem, with what is left."""
        run = _run(spread)
        for shown in (
            text.render(run, width=200, color=False),
            text.render(run, width=200, color=False, wide=True),
            text.render_markdown(run),
        ):
            assert _SENTENCE in shown
            assert "zone a, 0 of 2 left" in shown
            assert "pods in 1 of 2" in shown

    def test_json(self, spread: list[dict[str, Any]]) -> None:
        """It has the same problem and the same numbers."""
        (found,) = orjson.loads(json.render(_run(spread)))["workloads"]
        (zone,) = (each for each in found["survival"] if each["topologyKey"] == ZONE)

        assert _SENTENCE in next(
            each["message"] for each in found["problems"] if each["risk"] == "one-domain"
        )
        assert (2, {"a": 2, "b": 0}, "a", 0, True) == tuple(
            zone[name] for name in ("possible", "after", "fullest", "left", "stops")
        )

    @pytest.mark.parametrize("api", policy_report.REPORT_APIS.values())
    def test_policy_report(self, spread: list[dict[str, Any]], api: policy_report.ReportApi) -> None:
        """It is a warning of the rule, never a pass."""
        (report,) = orjson.loads(policy_report.render(_run(spread), api))["items"]
        (result,) = (each for each in report["results"] if each["rule"] == "one-domain")

        assert "warn" == result["result"]
        assert _SENTENCE in result["message"]
        assert f"0 without {ZONE}=a" in result["properties"]["replicasLeft"]

    def test_metrics_and_events(self, spread: list[dict[str, Any]]) -> None:
        """The gauges say so, and an Event with the same sentence."""
        found = workload_skew(_entry(spread), _CONTEXT)
        report = SkewReport(0, 0, (found,))
        families = {each.name: each for each in skew_families(report, ExportedSkew.of([found], 10))}
        conditions = Conditions()
        conditions.update([found], 0)
        (note,) = (
            held.note for subject, held in conditions.held.items() if subject.reason is EventReason.ONE_DOMAIN
        )

        assert 0 == _of_zone(families["evenkeel_workload_replicas_left"])
        assert 1 == _of_zone(families["evenkeel_workload_stops"])
        assert ("one-domain", 1) in {
            (sample.labels["risk"], sample.value) for sample in families["evenkeel_workloads_at_risk"].samples
        }
        assert _SENTENCE in note


def _of_zone(family: Metric) -> float:
    (value,) = (sample.value for sample in family.samples if sample.labels["topology_key"] == ZONE)
    return value


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_series_are_bounded(limit: int) -> None:
    """The worst are exported, the others counted."""
    exported = ExportedSkew.of([workload_skew(_entry([]), _CONTEXT)], limit)

    assert [ZONE, HOSTNAME][:limit] == [each.labels[3] for each in exported.losses]
    assert 2 - limit == exported.losses_left_out

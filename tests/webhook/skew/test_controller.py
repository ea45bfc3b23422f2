"""Skew is measured while this process leads, and what is exported is what an audit says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from planning.audit.audit import audit
from planning.audit.workload_audit import Risk
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from policies.scheduler.index import ClusterIndex
from tests.planning.audit.test_workload_skew import DEMO, a_random_cluster
from tests.waiting import PATIENCE_S, eventually
from tests.webhook.kube.api_server import FakeApiServer, serving
from tests.webhook.kube.test_informer import a_cluster
from webhook.fork_server import ChildProcesses, ForkServer, ToldStore
from webhook.forked import ResourceLimits
from webhook.http.held_cluster import HeldCluster
from webhook.http.state import HELD
from webhook.skew.controller import SkewController
from webhook.telemetry.metrics import Telemetry
from webhook.telemetry.skew_metrics import SkewExporter, SkewReport

#: Value by metric and labels.
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(telemetry: Telemetry) -> Samples:
    """Return the samples of a scrape."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(telemetry.render().decode())
        for sample in family.samples
        if sample.name.startswith("evenkeel_workload")
    }


def of_audit(objects: list[dict[str, Any]]) -> Samples:
    """Return the same as ``evenkeel audit`` has it of the objects."""
    index, workloads = ClusterIndex(), ClusterWorkloads(WorkloadKinds())
    for obj in objects:
        index.apply(obj)
        workloads(obj)
    context, found = AdmissionContext(policies=(), cluster=index), dict[Any, float]()
    for entry in filter(None, workloads.each()):
        whole = audit(entry, context)
        names = {("namespace", whole.namespace), ("kind", whole.kind), ("workload", whole.name)}
        risks = {problem.risk for problem in whole.problems}
        for skew in whole.constraints:
            constraint = skew.applied.constraint
            labels = frozenset(
                names
                | {
                    ("topology_key", constraint.topology_key),
                    ("when_unsatisfiable", constraint.when_unsatisfiable.value),
                }
            )
            found["evenkeel_workload_skew", labels] = skew.skew
            found["evenkeel_workload_max_skew", labels] = constraint.max_skew
            found["evenkeel_workload_domains", labels] = skew.domains
            pending = entry.pending if Risk.PENDING in risks else 0
            found["evenkeel_workload_pods_pending_on_spread", frozenset(names)] = pending
        for left in whole.survival:
            labels = frozenset(names | {("topology_key", left.topology_key)})
            found["evenkeel_workload_replicas_left", labels] = left.left
            found["evenkeel_workload_stops", labels] = left.stops
        for risk in (
            Risk.ONE_DOMAIN,
            Risk.VIOLATED,
            Risk.WOULD_VIOLATE,
            Risk.PENDING,
            Risk.UNEVEN,
            Risk.NEVER_BINDS,
            Risk.INVALID,
        ):
            key = "evenkeel_workloads_at_risk", frozenset({("risk", risk.value)})
            found[key] = found.get(key, 0) + (risk in risks)
    return found


@dataclass
class Election:
    """An election whose winner a test decides."""

    began: Callable[[], None] = lambda: None
    ended: Callable[[], None] = lambda: None
    resigned: list[bool] = field(default_factory=list)

    def __call__(self, began: Callable[[], None], ended: Callable[[], None]) -> Callable[[], None]:
        self.began, self.ended = began, ended
        return lambda: self.resigned.append(True)


@dataclass
class Sink:
    """Counts the reports that it takes."""

    taken: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    reports: list[SkewReport] = field(default_factory=list)
    cleared: int = 0
    full: bool = False
    #: Why the cluster cannot be measured; empty if it can.
    withheld: str = ""

    def take(self, report: SkewReport) -> None:
        self.reports.append(report)
        self.taken.release()
        if self.full:
            raise OSError(28, "No space left on device")

    def clear(self) -> None:
        self.cleared += 1

    def warnings(self) -> list[str]:
        return [f"{len(self.reports):,} taken"] if self.full else []


def a_telemetry() -> Telemetry:
    return Telemetry("1", registry=CollectorRegistry())


@pytest.fixture
def led() -> Iterator[tuple[SkewController, Election, Sink]]:
    """Return a controller that sweeps without a pause once it leads."""
    held = HeldCluster(
        AdmissionContext(policies=(), cluster=ClusterIndex(), live=True), ClusterWorkloads(WorkloadKinds())
    )
    election, sink = Election(), Sink()
    controller = SkewController(
        lambda work: work(held), lambda: sink.withheld, elect=election, sinks=[sink], every_s=0.001
    )
    yield controller, election, sink
    controller.stop()


@pytest.mark.parametrize(
    "objects", [pytest.param(DEMO, id="demo"), pytest.param(a_random_cluster(3), id="random")]
)
def test_a_scrape_has_what_an_audit_says(objects: list[dict[str, Any]], tmp_path: Path) -> None:
    """The same cluster, told to another process on one side and read as a snapshot on the other."""
    telemetry, election = a_telemetry(), Election()
    expected = of_audit(objects)
    with serving(FakeApiServer()) as server:
        for obj in objects:
            server.put(obj)
        forks, workloads = ForkServer(HELD), ClusterWorkloads(WorkloadKinds())
        cluster = a_cluster(tmp_path, server.url, workloads=workloads, told=ToldStore(forks.tell))
        context = AdmissionContext(policies=(), cluster=cluster.index, live=True)
        forks.hand_over(lambda: HeldCluster(context, workloads))
        exporter = SkewExporter(telemetry, 1000)
        ask = ChildProcesses(forks, ResourceLimits(timeout_s=PATIENCE_S, memory_bytes=1 << 30)).run
        controller = SkewController(
            ask, lambda: "; ".join(cluster.unsynced()), elect=election, sinks=[exporter], every_s=0.001
        )
        cluster.start()
        eventually(lambda: cluster.synced)
        before = samples(telemetry)
        controller.start()
        election.began()
        eventually(lambda: samples(telemetry) == expected)
        for obj in objects:
            if obj["kind"] in {"StatefulSet", "ReplicaSet"}:
                server.delete(obj)
        eventually(lambda: not [name for name, labels in samples(telemetry) if len(labels) > 1])
        controller.stop()
        cluster.stop()
        forks.end()

    assert 0 == cluster.index.node_count
    assert {} == before == samples(telemetry)
    assert len(expected) > 5


def test_only_the_leader_measures(led: tuple[SkewController, Election, Sink]) -> None:
    """Before and after there is nothing, and the Lease is given back."""
    controller, election, sink = led
    controller.start()
    before = controller.leading, len(sink.reports)
    election.began()
    sink.taken.acquire(timeout=PATIENCE_S)
    leading = controller.leading
    election.ended()
    eventually(lambda: sink.cleared > 1)
    count = len(sink.reports)
    election.began()
    eventually(lambda: len(sink.reports) > count)
    controller.stop()

    assert ((False, 0), True, [True]) == (before, leading, election.resigned)


def test_a_stale_cache_is_not_measured(led: tuple[SkewController, Election, Sink]) -> None:
    """Exported series are withdrawn: old values look like new ones."""
    controller, election, sink = led
    controller.start()
    election.began()
    sink.taken.acquire(timeout=PATIENCE_S)
    cleared = sink.cleared
    sink.withheld = "stale"

    eventually(lambda: sink.cleared > cleared)


def test_a_failure_is_logged_and_tried_again(
    led: tuple[SkewController, Election, Sink], caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing else would start the thread again; what stays wrong is logged once."""
    controller, election, sink = led
    sink.full = True
    controller.start()
    election.began()
    for _ in range(3):
        sink.taken.acquire(timeout=PATIENCE_S)

    assert ["skew_failed"] == [record.getMessage() for record in caplog.records]
    assert eventually(lambda: any("No space left on device" in text for text in controller.warnings()))
    assert any("taken" in text for text in controller.warnings())


def test_the_end_of_a_worker_that_never_led(led: tuple[SkewController, Election, Sink]) -> None:
    """It ends at once."""
    controller, _, sink = led
    controller.start()
    controller.stop()

    assert [] == sink.reports

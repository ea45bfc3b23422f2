"""Measuring the skew of a large cluster all the time, while its pods change.

Processor time: of one sweep beside an audit of as many workloads, and of the events with workloads beside
those without. The share of a core is that of both together at 1,000 pod events a second.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable
from random import Random
from typing import Any, Final

import orjson

from benchmarks.clusters import HOSTNAME, USUAL, ZONE, objects
from benchmarks.following import EVENTS_S, as_sent
from planning.audit.audit import audit
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from policies.scheduler.index import ClusterIndex
from webhook.component import Throttle
from webhook.fork_server import ChildProcesses, ForkServer
from webhook.forked import ResourceLimits
from webhook.http.held_cluster import HeldCluster
from webhook.http.state import HELD
from webhook.skew.controller import SHARE, SweepEndedError, sweep
from webhook.telemetry.metrics import Telemetry
from webhook.telemetry.skew_metrics import SkewExporter, SkewReport
from webhook.workload_store import WorkloadStore

#: The project's aim: share of a core at so many events a second, for so many workloads.
AIM_SHARE, AIM_WORKLOADS = 0.05, 10_000
#: Seconds for which events and the sweep run together.
_WATCHED_S: Final = 15.0
#: Different pod events; then they begin again. Arbitrary.
_EVENTS: Final = 3_000
#: Constraints that are exported: all of them.
_LIMIT: Final = 1_000_000
#: Workloads that are audited to compare. Arbitrary.
_AUDITED: Final = 500


def run() -> None:
    """Print what measuring takes."""
    index, workloads = ClusterIndex(), ClusterWorkloads(WorkloadKinds())
    store, events = WorkloadStore(index, workloads), _load(index, workloads)
    context = AdmissionContext(policies=(), cluster=index, live=True)
    held, parts = HeldCluster(context, workloads), list[float]()
    report, sweep_s = _timed(lambda: sweep(lambda work: work(held), lambda: None, parts.append))
    count = len(report.workloads)
    entries = Random(0).sample([each for each in store.workloads().each() if each], _AUDITED)
    _, audit_s = _timed(lambda: [audit(each, context) for each in entries])
    exporter = SkewExporter(Telemetry("1"), limit=_LIMIT)
    _, export_s = _timed(lambda: exporter.take(report))
    _, bare_s = _timed(lambda: _apply(events, index.apply))
    _, kept_s = _timed(lambda: _apply(events, store.apply))
    share, behind = _together(held, events, exporter)
    each_s = (sweep_s + export_s) / count
    extra = (kept_s - bare_s) / len(events) * EVENTS_S
    print(f"Skew, {USUAL.nodes:,} nodes, {USUAL.pods:,} pods, {count:,} workloads:")
    print(f"  one workload {each_s * 1e3:.2f} ms, {each_s / (audit_s / _AUDITED):.2f} x an audit of one;"
          f" of it to export all constraints {export_s / count * 1e3:.2f} ms")  # fmt: skip
    print(f"  a pod event with workloads {kept_s / bare_s:.2f} x one without")
    print(f"  share of a core at {EVENTS_S:,} events/s {share + extra:.1%} (aim {AIM_SHARE:.0%});"
          f" the events came {behind:.1%} late")  # fmt: skip
    whole = each_s * AIM_WORKLOADS / SHARE
    print(
        f"  {AIM_WORKLOADS:,} workloads are swept in {whole:.0f} s; no figure is older than {2 * whole:.0f} s"
    )


def _load(index: ClusterIndex, workloads: ClusterWorkloads) -> list[dict[str, Any]]:
    """Fill an index and workloads, and return events of pods."""
    store, events = WorkloadStore(index, workloads), list[dict[str, Any]]()
    for number, bare in enumerate(objects(USUAL)):
        obj = orjson.loads(orjson.dumps(as_sent(bare, number)))
        if obj["kind"] == "ReplicaSet":
            app = obj["metadata"]["labels"]["app"]
            obj["spec"]["template"]["spec"]["topologySpreadConstraints"] = list(_constraints(app))
        elif obj["kind"] == "Pod" and len(events) < _EVENTS:
            events.append(obj)
        store.apply(obj)
    return events


def _constraints(app: str) -> Iterable[dict[str, Any]]:
    for key, action in ((ZONE, "DoNotSchedule"), (HOSTNAME, "ScheduleAnyway")):
        yield {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": action,
            "labelSelector": {"matchLabels": {"app": app}},
        }


def _apply(events: Iterable[dict[str, Any]], apply: Callable[[dict[str, Any]], object]) -> None:
    for event in events:
        apply(event)


def _together(held: HeldCluster, events: list[dict[str, Any]], exporter: SkewExporter) -> tuple[float, float]:
    """Return the share of a core that sweeps take beside events, and how far those fell behind."""
    ended, used = threading.Event(), [0.0]
    forks = ForkServer(HELD)
    forks.hand_over(lambda: held)
    ask = ChildProcesses(forks, ResourceLimits(timeout_s=60.0, memory_bytes=2**30)).run
    throttle = Throttle(SHARE, ended.wait, used=lambda: used[0])

    def check() -> None:
        if ended.is_set():
            raise SweepEndedError

    def charge(seconds: float) -> None:
        used[0] += seconds
        throttle.rest()

    def measure() -> None:
        try:
            while not ended.is_set():
                exporter.take(SkewReport(*sweep(ask, check, charge)))
        except SweepEndedError:
            pass

    thread = threading.Thread(target=measure)
    began = time.perf_counter()
    thread.start()
    for sent, event in enumerate(itertools.cycle(events)):
        due = began + sent / EVENTS_S
        if due > began + _WATCHED_S:
            break
        time.sleep(max(0.0, due - time.perf_counter()))
        forks.tell("store.apply", event)
    wall = time.perf_counter() - began
    ended.set()
    thread.join()
    forks.end()
    return used[0] / wall, wall / _WATCHED_S - 1


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of some work, and its processor time."""
    began = time.process_time()
    found = work()
    return found, time.process_time() - began


if __name__ == "__main__":
    run()

"""One verdict on a large cluster, step by step, beside a numpy floor measured in the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson

from benchmarks.clusters import CROWDED, USUAL, ZONE, Cluster, objects, probe_pod
from planning.explain import score_json
from policies.config.context import AdmissionContext
from policies.pods.placement import evaluate_manifest
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.podtopologyspread import filtering, scoring

#: Calls of each kind; the kinds alternate, so that all meet the same noise. Arbitrary.
ROUNDS = 200
#: Pod events that are timed one by one. Arbitrary.
EVENTS = 20_000
#: Nodes of the small cluster that growth is measured from, and pods on each node.
FEWER_NODES, PODS_PER_NODE = 1_000, 30
#: The project's aims, in milliseconds but for the event, which is in microseconds.
AIMS = {"plugin": 1.0, "crowded": 3.0, "json": 12.0, "event": 25.0}


def run() -> None:
    """Print the medians, the floor and the aims."""
    print(f"One verdict, {USUAL.nodes:,} nodes, {USUAL.pods:,} pods (medians of {ROUNDS}, ms, x the floor):")
    pod = probe_pod()
    index = _index(USUAL)
    floor, plugin = _of_usual(pod, index)
    _events(index)
    fewer = Cluster(nodes=FEWER_NODES, pods=FEWER_NODES * PODS_PER_NODE)
    (small,) = _medians(_plugin(pod, _index(fewer)))
    times = USUAL.nodes // FEWER_NODES
    print(f"  {FEWER_NODES:,} nodes: {small:.3f}; {times} x the nodes: {plugin / small:.1f} x (aim {times})")
    (crowded,) = _medians(_plugin(pod, _index(CROWDED)))
    _line("filter, score, normalize; all pods match", crowded, floor, AIMS["crowded"])


def _of_usual(pod: dict[str, Any], index: ClusterIndex) -> tuple[float, float]:
    """Print what the verdicts cost; return the floor and the plugin's cost, in milliseconds."""
    column = index.nodes.label(ZONE)
    if column is None:
        raise RuntimeError("the nodes carry no zone")
    zones = column.column.view() + 1
    context = AdmissionContext(policies=(), cluster=index)
    floor, plugin, whole = _medians(
        lambda: np.bincount(zones), _plugin(pod, index), lambda: _answer(pod, context)
    )
    _line("floor: one bincount over the nodes", floor, floor)
    _line(f"filter, score, normalize; {USUAL.namespaces} namespaces", plugin, floor, AIMS["plugin"])
    _line("whole verdict with other filters and JSON", whole, floor, AIMS["json"])
    return floor, plugin


def _index(cluster: Cluster) -> ClusterIndex:
    index = ClusterIndex()
    for obj in objects(cluster):
        index.apply(obj)
    return index


def _plugin(pod: dict[str, Any], index: ClusterIndex) -> Callable[[], object]:
    """Return a function that runs PodTopologySpread: PreFilter, Filter, PreScore, Score, NormalizeScore."""
    request = evaluate_manifest(pod, AdmissionContext(policies=(), cluster=index)).result.request

    def plugin() -> object:
        with index.reading():
            view = NodeView(index, request.pod)
            feasible = filtering.filter_nodes(view, request).of_node == 0
            return scoring.score_nodes(view, request, feasible)

    return plugin


def _answer(pod: dict[str, Any], context: AdmissionContext) -> bytes:
    """Do what ``POST /v1/score`` does with the cluster of the server."""
    placement = evaluate_manifest(pod, context)
    return score_json.render(placement)


def _medians(*functions: Callable[[], object]) -> list[float]:
    """Return the median of each function, in milliseconds."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(ROUNDS):
        for function, seconds in zip(functions, times, strict=True):
            started = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - started)
    return [statistics.median(seconds) * 1000 for seconds in times]


def _events(index: ClusterIndex) -> None:
    """Time pods that move to another node, as events come from a watch: parsed, one after the other."""
    pods = [obj for obj in _some_pods() if obj["kind"] == "Pod"]
    names = index.nodes.names()
    seconds = []
    for number, pod in enumerate(pods):
        pod["spec"]["nodeName"] = names[number % len(names)]
        started = time.perf_counter()
        index.apply(pod)
        seconds.append(time.perf_counter() - started)
    event = statistics.median(seconds) * 1e6
    print(f"  {'one pod event (µs)':<48} {event:8.2f}              aim {AIMS['event']:g}")


def _some_pods() -> list[dict[str, Any]]:
    """Return pods that share nothing, as parsed JSON does not."""
    found = []
    for obj in objects(USUAL):
        if obj["kind"] == "Pod":
            found.append(orjson.loads(orjson.dumps(obj)))
            if len(found) == EVENTS:
                break
    return found


def _line(what: str, milliseconds: float, floor: float, aim: float | None = None) -> None:
    told = "" if aim is None else f"   aim {aim:g}"
    print(f"  {what:<48} {milliseconds:8.3f}   x {milliseconds / floor:6.0f}{told}")


if __name__ == "__main__":
    run()

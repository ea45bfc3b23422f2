"""Replicas scheduled one after another on a large cluster, and what it changes to look at some nodes alone.

Processor time, and ratios within one run: to one verdict on the same cluster, to half of the replicas, to
fewer nodes.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

from benchmarks.clusters import HOSTNAME, USUAL, ZONE, Cluster, nodes, objects, probe_pod
from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import (
    PLAIN,
    SimulatedQueue,
    SimulationSettings,
    simulate_queue,
)
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from policies.scheduler.evaluate import ADAPTIVE, evaluate
from policies.scheduler.index import ClusterIndex

#: Replicas that are scheduled.
REPLICAS: Final = 1_000
#: Verdicts of which the median is taken.
VERDICTS: Final = 100
#: Nodes of the clusters that are compared, with 30 pods each.
SIZES: Final = (300, 1_000, USUAL.nodes)
PODS_PER_NODE: Final = USUAL.pods // USUAL.nodes
#: Replicas by which the effect of looking at some nodes alone is measured: a large workload, and a small one.
MEASURED: Final = (30, 300)
#: How the names of nodes begin that are empty.
EMPTY: Final = "new-"
#: The project's aims: seconds for all replicas, milliseconds for one verdict.
AIM_S, AIM_MS = 2.0, 4.0


def run() -> None:
    """Print what replicas cost and how that grows, then the effect."""
    indexes = {size: _index(Cluster(nodes=size, pods=size * PODS_PER_NODE)) for size in SIZES}
    large = indexes[USUAL.nodes]
    print(f"Simulation, {USUAL.nodes:,} nodes, {USUAL.pods:,} pods, the whole default profile:")
    verdict = _verdict(large)
    print(f"  {'one verdict':<48} {verdict * 1000:8.2f} ms           aim {AIM_MS:g}")
    whole, _ = _timed(lambda: _simulate(large, REPLICAS, PLAIN))
    line = f"  {f'{REPLICAS:,} replicas':<48} {whole:8.2f} s            aim {AIM_S:g}"
    print(f"{line}; {whole / verdict / REPLICAS:.2f} x so many verdicts")
    half, _ = _timed(lambda: _simulate(large, REPLICAS // 2, PLAIN))
    print(f"  twice the replicas: {whole / half:.1f} x (aim 2)")
    small, _ = _timed(lambda: _simulate(indexes[SIZES[1]], REPLICAS, PLAIN))
    times = USUAL.nodes // SIZES[1]
    print(f"  {times} x the nodes: {whole / small:.1f} x (aim {times})")
    _effect(indexes)


def _effect(indexes: dict[int, ClusterIndex]) -> None:
    """Print how the replicas end up when the scheduler looks at some nodes alone, beside all nodes.

    One node in a hundred is new and empty, as an autoscaler adds them: few nodes that are better than others.
    """
    print("percentageOfNodesToScore adaptive, beside all nodes (random ties, seed 0), 1 % of them empty:")
    for size, index in indexes.items():
        for node in _empty_nodes(size // 100):
            index.apply(node)
        for replicas in MEASURED:
            every, some = (
                _simulate(index, replicas, SimulationSettings(seed=0, percentage=percentage))
                for percentage in (None, ADAPTIVE)
            )
            print(f"  {size:,} nodes, stops at {some.nodes_to_find}, {replicas} replicas:")
            figures = {"zone skew": _skew, "most on a node": _most, "on empty nodes": _on_empty}
            for what, told in figures.items():
                print(f"    {what:<16} {told(every):>4} -> {told(some)}")


def _empty_nodes(count: int) -> Iterator[dict[str, Any]]:
    for node in nodes(Cluster(nodes=3 * count)):
        name = node["metadata"]["name"]
        # The cordoned and tainted ones are left out.
        if not node["spec"].get("taints") and count:
            count -= 1
            node["metadata"]["name"] = f"{EMPTY}{name}"
            node["metadata"]["labels"][HOSTNAME] = f"{EMPTY}{name}"
            yield node


def _index(cluster: Cluster) -> ClusterIndex:
    index = ClusterIndex()
    for obj in objects(cluster):
        index.apply(obj)
    return index


def _workload() -> dict[str, Any]:
    """Return a Deployment of the probe with soft constraints alone, which other plugins may outvote."""
    pod = probe_pod()
    labels = {"app": "simulated"}
    constraints = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": labels},
        }
        for key in (ZONE, HOSTNAME)
    ]
    spec = pod["spec"] | {"topologySpreadConstraints": constraints}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "simulated", "namespace": pod["metadata"]["namespace"]},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def _simulate(index: ClusterIndex, replicas: int, settings: SimulationSettings) -> SimulatedQueue:
    queue = queue_replicas(
        _workload(), AdmissionContext(policies=(), cluster=index), UNREAD_PODS, count=replicas
    )
    if settings.seed is None:
        return simulate_queue(queue, settings)
    return simulate_queue(queue, settings, choose=Random(settings.seed).choice)


def _verdict(index: ClusterIndex) -> float:
    """Return the median time of one verdict, in seconds."""
    context = AdmissionContext(policies=(), cluster=index)
    queue = queue_replicas(_workload(), context, UNREAD_PODS, count=1)
    request = queue.pods[0].request
    return statistics.median(_timed(lambda: evaluate(request, index))[0] for _ in range(VERDICTS))


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    found = work()
    return time.process_time() - started, found


def _skew(simulated: SimulatedQueue) -> int:
    changes = simulated.simulation.domains
    return next(change.skew for change in changes if change.applied.constraint.topology_key == ZONE)


def _most(simulated: SimulatedQueue) -> int:
    """Return the most replicas on one node."""
    return max(Counter(step.node for step in simulated.simulation.steps).values())


def _on_empty(simulated: SimulatedQueue) -> int:
    """Return the replicas on nodes that were empty before."""
    return sum((step.node or "").startswith(EMPTY) for step in simulated.simulation.steps)


if __name__ == "__main__":
    run()

"""Nodes that autoscalers add for many pending pods, or remove, and the pods that the scheduler then places.

Processor time, and ratios within one run: to placing the same pods where the nodes are there already, to half
of the pods.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from planning.autoscaler.autoscaler import ClusterAutoscaler
from planning.autoscaler.node_group import ScaledGroup
from planning.autoscaler.sources import AutoscalerReader, deduce
from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.node_source import NodeSource
from planning.simulation.scale_down import scale_down
from planning.simulation.scheduling_queue import SchedulingQueue, queue_pods
from planning.simulation.simulated_queue import PLAIN, PlannedActions, SimulatedQueue, simulate_queue
from policies.config.context import AdmissionContext
from policies.config.node_groups import AutoscalerSettings
from policies.manifests.fields import FieldPath
from policies.model.node import Node
from policies.model.topology_keys import HOSTNAME, ZONE
from policies.pods.known_pods import UNREAD_PODS
from policies.pods.pod_objects import PodObjects
from policies.scheduler.index import ClusterIndex

_Found = TypeVar("_Found")
#: Pods that are pending, of which each workload has as many; nodes, all of them full; node groups.
PODS: Final = 1_000
WORKLOADS: Final = 20
NODES: Final = 500
GROUPS: Final = 20
ZONES: Final = ("a", "b", "c", "d")
#: The cpus of the nodes of each kind of group.
SIZES: Final = (4, 8, 16, 32, 48)
#: Nodes of which half are not needed, and pods on each of them.
UNDERUSED: Final = 50
PODS_OF_EACH: Final = 8
#: Which share of the workloads must spread: one of so many.
SHARES: Final = (4, 2)
#: The project's aim for all pods, in seconds.
AIM_S: Final = 3.0


def run() -> None:
    """Print what it costs, and how that grows."""
    print(f"Cluster Autoscaler, {PODS:,} pending pods, {NODES:,} full nodes, {GROUPS} node groups:")
    for balances, of in ((False, 4), (True, 4), (False, 2)):
        settings = AutoscalerSettings(balance_similar_node_groups=balances)
        autoscaler = ClusterAutoscaler(groups=_groups(), settings=settings)
        whole, found = _timed(partial(_simulate, _queue(PODS, of), autoscaler))
        half, _ = _timed(partial(_simulate, _queue(PODS // 2, of), autoscaler))
        scaled = found.simulation.autoscaled
        if scaled is None:
            raise RuntimeError("nothing was scaled")
        there, _ = _timed(partial(_simulate, _queue(PODS, of, _new(scaled.nodes)), None))
        what = f"{'balanced' if balances else 'not balanced'}, 1 of {of} spread"
        line = f"  {f'{what}: {len(scaled.nodes)} nodes in {len(scaled.loops)} loops':<56} {whole:8.2f} s"
        print(f"{line}            aim {AIM_S:g}; {found.pending} pending")
        print(f"    twice the pods: {whole / half:.1f} x; if the nodes were there: {there:.2f} s")
    _karpenter()
    _scale_down()


def _scale_down() -> None:
    """Print what the removal of underused nodes costs."""
    index, running = _underused()
    context = AdmissionContext(policies=(), cluster=index)
    work = partial(scale_down, [], ClusterSimulation.of(index), deduce(index), context, running=running)
    spent, removed = _timed(work)
    print(f"{len(removed.removed)} of {UNDERUSED} nodes removed in {removed.rounds} rounds: {spent:.2f} s")


def _karpenter() -> None:
    """Print what as many NodePools of Karpenter cost for the same pods."""
    karpenter = _node_pools()
    print(f"Karpenter, the same pods and nodes, {GROUPS} NodePools with {len(SIZES)} instance types:")
    for of in SHARES:
        whole, found = _timed(partial(_simulate, _queue(PODS, of), karpenter))
        half, _ = _timed(partial(_simulate, _queue(PODS // 2, of), karpenter))
        scaled = found.simulation.autoscaled
        if scaled is None:
            raise RuntimeError("nothing was scaled")
        line = f"  {f'1 of {of} spread: {len(scaled.nodes)} nodes':<56} {whole:8.2f} s"
        print(f"{line}            aim {AIM_S:g}; {found.pending} pending")
        print(f"    twice the pods: {whole / half:.1f} x")


def _node_pools() -> NodeSource:
    """Return Karpenter with NodePools by weight, each of one zone, and the sizes of the groups."""
    reader = AutoscalerReader(ClusterIndex())
    for number in range(GROUPS):
        zones = {"key": ZONE, "operator": "In", "values": [ZONES[number % len(ZONES)]]}
        errors = reader.take(
            {
                "apiVersion": "karpenter.sh/v1",
                "kind": "NodePool",
                "metadata": {"name": f"pool-{number}"},
                "spec": {"weight": 1 + number, "template": {"spec": {"requirements": [zones]}}},
            }
        )
        if errors:
            raise RuntimeError(errors)
    types = [
        {
            "name": f"cpu-{cpu}",
            "allocatable": {"cpu": str(cpu), "memory": f"{cpu * 4}Gi"},
            "offerings": [{"zones": list(ZONES), "price": cpu / 20}],
        }
        for cpu in SIZES
    ]
    errors = reader.take(
        {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "InstanceTypes", "instanceTypes": types}
    )
    autoscaler = reader.autoscaler()
    if errors or autoscaler is None:
        raise RuntimeError(errors)
    return autoscaler


def _underused() -> tuple[ClusterIndex, PodObjects]:
    """Return nodes of 4 CPUs, of which pods of twenty ReplicaSets request less than half."""
    index, running = ClusterIndex(), PodObjects(None)
    for number in range(UNDERUSED):
        index.nodes.put(_group("4", 4, ZONES[number % len(ZONES)]).node(f"n{number}"))
    for number in range(UNDERUSED * PODS_OF_EACH):
        app = f"app-{number % WORKLOADS}"
        pod = _pod(f"pod-{number}", app, {"nodeName": f"n{number % UNDERUSED}", **_spec(200)})
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "controller": True}
        pod["metadata"]["ownerReferences"] = [owner]
        index.apply(pod)
        running(pod)
    return index, running


def _groups() -> tuple[ScaledGroup, ...]:
    return tuple(
        _group(f"{cpu}-{zone}", cpu, zone) for cpu in SIZES[: GROUPS // len(ZONES)] for zone in ZONES
    )


def _group(name: str, cpu: int, zone: str) -> ScaledGroup:
    allocatable = {"cpu": cpu * 1000, "memory": cpu * 4 << 30, "pods": 110}
    labels = {ZONE: zone, "node.kubernetes.io/instance-type": f"cpu-{cpu}"}
    node = Node(name, labels, (), unschedulable=False, allocatable=allocatable)
    return ScaledGroup(name=name, template=node, capacity=allocatable, size=NODES // GROUPS, max_size=100)


def _new(nodes: Any) -> list[Node]:
    groups = {group.name: group for group in _groups()}
    return [groups[node.group].node(node.name) for node in nodes]


def _queue(pods: int, of: int, more: list[Node] | None = None) -> SchedulingQueue:
    index = ClusterIndex()
    for number in range(NODES):
        zone, name = ZONES[number % len(ZONES)], f"n{number}"
        index.nodes.put(_group(name, SIZES[number % len(SIZES)], zone).node(name))
        spec = {"nodeName": name, **_spec(SIZES[number % len(SIZES)] * 1000 - 50)}
        index.apply(_pod(f"full-{number}", "full", spec))
    for node in more or ():
        index.nodes.put(node)
    context = AdmissionContext(policies=(), cluster=index)
    of_workload = [
        queue_pods([(FieldPath(), _pod("pod", f"app-{number}", _workload(number, of)))], context, UNREAD_PODS)
        for number in range(WORKLOADS)
    ]
    entries = [
        replace(of_workload[number % WORKLOADS].pods[0], name=f"pod-{number}", owner=f"{number % WORKLOADS}")
        for number in range(pods)
    ]
    return replace(of_workload[0], pods=tuple(entries), cluster=index.fork(""))


def _workload(number: int, of: int) -> dict[str, Any]:
    """Return the spec of the pods of a workload: one of so many must spread, over zones, nodes or both."""
    spec, labels = _spec(200 + 97 * number), {"matchLabels": {"app": f"app-{number}"}}
    keys = {0: (ZONE,), 1: (HOSTNAME,), 2: (ZONE, HOSTNAME)}.get(number % (3 * of), ())
    constraint = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": labels}
    if keys:
        spec["topologySpreadConstraints"] = [{"topologyKey": key, **constraint} for key in keys]
    if number == WORKLOADS - 1:
        term = {"topologyKey": HOSTNAME, "labelSelector": labels}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return spec


def _spec(cpu: int) -> dict[str, Any]:
    requests = {"cpu": f"{cpu}m", "memory": f"{cpu}Mi"}
    return {"containers": [{"name": "app", "image": "app", "resources": {"requests": requests}}]}


def _pod(name: str, app: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "labels": {"app": app}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _simulate(queue: SchedulingQueue, autoscaler: NodeSource | None) -> SimulatedQueue:
    return simulate_queue(queue, PLAIN, planned=PlannedActions(autoscaler=autoscaler))


def _timed(work: Callable[[], _Found]) -> tuple[float, _Found]:
    started = time.process_time()
    found = work()
    return time.process_time() - started, found


if __name__ == "__main__":
    run()

"""The loss of one zone of a large cluster, after which every displaced pod is scheduled again.

Processor time, in one process: of the loss with what is known of pods that are alike followed from one to the
next, and as a ratio to the same pods with the whole verdict for each, of which the first are taken.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from benchmarks.clusters import ZONE, Cluster, objects
from planning.simulation.actions import apply_events
from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.events import Event, LostDomain, NodeEvent
from planning.simulation.play import play
from planning.simulation.pod_facts import PodFacts
from planning.simulation.rescheduling import Rescheduling
from planning.simulation.scenario import ClusterState, Scenario
from policies.config.context import AdmissionContext
from policies.manifests.fields import ErrorList
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from policies.pods.known_pods import KnownPods
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.repeated import BestNodes, RepeatedRequests
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import SchedulingResult

#: The project's aims, in seconds for the loss of one zone, by the cluster.
AIMS_S: Final = ((Cluster(nodes=500, pods=10_000, namespaces=20), 1.5), (Cluster(), 20.0))
#: Pods that are scheduled both ways.
COMPARED: Final = 2_000
_ZONE: Final = "eu-central-1b"


@dataclass(frozen=True, slots=True)
class _Read:
    """A cluster with its workloads and the objects of its pods."""

    context: AdmissionContext
    workloads: ClusterWorkloads
    known: KnownPods


def run(aims: Iterable[tuple[Cluster, float]] = AIMS_S) -> None:
    """Print what the loss of a zone takes of each cluster."""
    for cluster, aim in aims:
        read = _read(cluster)
        state = ClusterState(context=read.context, known=read.known, workloads=read.workloads)
        lose = Event(lose=LostDomain(topology_key=ZONE, value=_ZONE))
        began = time.process_time()
        outcome = play(Scenario(cluster=state, events=(lose,)))
        whole = time.process_time() - began
        plain, followed = (_compare(read, known) for known in (_NothingKnown(), RepeatedRequests()))
        displaced = sum(each.lost for each in outcome.workloads)
        print(f"Lose a zone, {cluster.nodes:,} nodes, {cluster.pods:,} pods, {displaced:,} displaced:")
        print(f"  the loss of one zone             {whole:6.1f} s (aim {aim:g})")
        print(f"  {COMPARED:,} pods, each by itself    {plain:6.1f} s")
        print(f"  the same, followed               {followed:6.1f} s, {followed / plain:.2f} x that")


def _read(cluster: Cluster) -> _Read:
    index, known = ClusterIndex(), KnownPods(None, now=0.0)
    workloads = ClusterWorkloads(WorkloadKinds(()), every_kind=True)
    for obj in objects(cluster):
        index.apply(obj)
        known(obj)
        workloads(obj)
    return _Read(AdmissionContext(policies=(), cluster=index), workloads, known)


class _NothingKnown(RepeatedRequests):
    """Leaves every pod to the verdict on all nodes."""

    def best(self, request: SchedulingRequest, index: ClusterIndex) -> BestNodes | None:
        del request, index
        return None

    def evaluate(self, request: SchedulingRequest, index: ClusterIndex) -> SchedulingResult:
        return evaluate(request, index)


def _compare(read: _Read, known: RepeatedRequests) -> float:
    """Return the processor time that the first displaced pods take, by name."""
    if read.context.cluster is None:
        raise ValueError("a cluster was read")
    simulation = ClusterSimulation.of(read.context.cluster)
    simulation.repeated = known
    facts = PodFacts(simulation.cluster, (), read.known.running, {})
    lose = NodeEvent(lose=LostDomain(topology_key=ZONE, value=_ZONE))
    gone = apply_events([lose], simulation, facts, ErrorList()).evicted
    gone.sort(key=lambda pod: (pod.namespace, pod.name))
    began = time.process_time()
    Rescheduling(simulation, facts, read.context).schedule(gone[:COMPARED])
    return time.process_time() - began


if __name__ == "__main__":
    run()

"""Clusters that are played, as the commands read them from a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planning.simulation.events import Event, LostDomain, ScaledWorkload, TargetWorkload
from planning.simulation.outcome import Outcome, WorkloadOutcome
from planning.simulation.play import play
from planning.simulation.scenario import ClusterState, Scenario
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from policies.pods.known_pods import KnownPods
from policies.scheduler.index import ClusterIndex


def a_state(objects: Iterable[Mapping[str, Any]], **context: Any) -> ClusterState:
    """Return a cluster with some objects."""
    index, known = ClusterIndex(), KnownPods(None, now=0.0)
    workloads = ClusterWorkloads(WorkloadKinds(()), every_kind=True)
    for obj in objects:
        index.apply(obj)
        known(obj)
        workloads(obj)
    return ClusterState(
        context=AdmissionContext(policies=(), cluster=index, **context), known=known, workloads=workloads
    )


def played(objects: Iterable[Mapping[str, Any]] | ClusterState, *events: Event, **fields: Any) -> Outcome:
    """Return the outcome of events."""
    state = objects if isinstance(objects, ClusterState) else a_state(objects)
    return play(Scenario(cluster=state, events=events, **fields))


def losing(value: str, key: str = "zone", **fields: Any) -> Event:
    """Return the loss of a domain."""
    return Event(lose=LostDomain(topology_key=key, value=value, **fields))


def scaling(name: str, namespace: str = "shop", kind: str = "Deployment", **number: int) -> Event:
    """Return the scale of a workload."""
    return Event(scale=ScaledWorkload(kind=kind, namespace=namespace, name=name, **number))


def restarting(name: str, namespace: str = "shop", kind: str = "Deployment") -> Event:
    """Return the restart of a workload."""
    return Event(restart=TargetWorkload(kind=kind, namespace=namespace, name=name))


def numbers(outcome: Outcome, name: str) -> tuple[int, int, int, int]:
    """Return how many pods of a workload run before, at least, at the end, and how many are pending."""
    found = of(outcome, name)
    return found.before, found.lowest, found.after, found.pending


def of(outcome: Outcome, name: str) -> WorkloadOutcome:
    """Return the outcome for a workload."""
    return next(each for each in outcome.workloads if each.ref.name == name)

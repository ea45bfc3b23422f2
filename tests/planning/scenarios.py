"""Clusters that are played, as the commands read them from a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
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
from tests.builders import a_constraint, a_node, a_pod


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


def an_ordered_set() -> tuple[ClusterState, dict[str, Any]]:
    """Return a StatefulSet whose last pod fits nowhere, and it corrected."""
    labels = {"app": "db"}
    constraint = a_constraint(topologyKey="kubernetes.io/hostname", labelSelector={"matchLabels": labels})
    template: dict[str, Any] = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "db"}], "topologySpreadConstraints": [constraint]},
    }
    stored: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "shop", "uid": "u1"},
        "spec": {
            "replicas": 3,
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": template,
        },
        "status": {"replicas": 3},
    }
    pods = [
        a_pod(
            name=f"db-{number}",
            namespace="shop",
            labels=labels | {"controller-revision-hash": "db-1"},
            owner=("apps/v1", "StatefulSet", "db"),
            spec=template["spec"] | ({"nodeName": f"n{number + 1}"} if number < 2 else {}),
        )
        for number in range(3)
    ]
    tainted = a_node("n3", "c", taints=[{"key": "control", "effect": "NoSchedule"}])
    state = a_state([a_node("n1", "a"), a_node("n2", "b"), tainted, stored, *pods])
    edited = deepcopy(stored)
    edited["spec"]["template"]["spec"]["topologySpreadConstraints"][0] |= {"nodeTaintsPolicy": "Honor"}
    return state, edited

"""Nodes that are drained, with whatever schedules again what is evicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.disruption_budgets import DisruptionBudgets
from planning.simulation.drain import Drain
from planning.simulation.pod_facts import PodFacts
from planning.simulation.rescheduling import Rescheduling
from policies.config.context import AdmissionContext
from policies.model.cluster_kinds import BUDGET
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from policies.model.workload_ref import WorkloadRef
from policies.scheduler.index import PodOnNode
from tests.planning.clusters import known_of
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]


class Drained(NamedTuple):
    """Nodes that were drained, and what was looked at."""

    drain: Drain
    budgets: DisruptionBudgets
    again: Rescheduling
    simulation: ClusterSimulation

    @property
    def evicted(self) -> list[str]:
        """The pods that were evicted, in order."""
        return [pod.name for pod in self.drain.evicted]

    @property
    def refused(self) -> Mapping[str, str]:
        """Why pods are not evicted in the end, by their names."""
        return {each.pod.name: each.why for each in self.drain.refused}


def drain_of(
    objects: Sequence[Object],
    *nodes: str,
    replicas: Mapping[str, int] | None = None,
    budgets_read: bool = True,
) -> Drained:
    """Return what becomes of a drain of nodes; without replicas each workload wants the pods that it has."""
    index = an_index(objects)
    if budgets_read:
        index.list_kinds((BUDGET,))
    known = known_of(objects)
    workloads = ClusterWorkloads(WorkloadKinds())
    for obj in objects:
        workloads(obj)

    def controller(pod: PodOnNode) -> WorkloadRef | None:
        found = known.running.find(pod.namespace, pod.name)
        if found is None or found.owner is None:
            return None
        return workloads.controller(WorkloadRef(pod.namespace, found.owner.kind, found.owner.name))

    def wanted(ref: WorkloadRef) -> int | None:
        return (replicas or {}).get(ref.name)

    simulation = ClusterSimulation.of(index)
    facts = PodFacts(simulation.cluster, (), known.running)
    context = AdmissionContext(policies=(), cluster=simulation.cluster)
    again = Rescheduling(simulation, facts, context)
    budgets = DisruptionBudgets(
        index, simulation.cluster, known, controller=controller, replicas_before=wanted, replicas=wanted
    )
    drain = Drain(simulation, facts, budgets, nodes)
    while moved := drain.round():
        again.schedule(moved)
    return Drained(drain, budgets, again, simulation)

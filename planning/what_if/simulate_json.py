"""A simulation as one JSON object: what becomes of each pod, and the domains before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from planning.simulation.autoscaled import Autoscaled
from planning.simulation.distribution import Distribution
from planning.simulation.domain_changes import DomainChange
from planning.simulation.recovery import DisplacedPod
from planning.simulation.replicas import ReplicaEnds
from planning.simulation.scheduling_queue import SchedulingQueue
from planning.simulation.simulated_queue import SimulatedQueue
from planning.simulation.what_if import WhatIf
from planning.text.autoscale_text import new_node_lines
from policies.manifests.wire import INLINE, Count, dumps
from policies.model.next_pod import PodRevision
from policies.model.replica_number import ReplicaNumber
from policies.model.version import KubernetesVersion
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.releases import judged_as


class SimulationRuns(NamedTuple):
    """The ends of many simulations."""

    wanted: Count | None  #: How many runs were requested.
    found: Annotated[Distribution, INLINE]  #: The ends.


class ReplicasBefore(NamedTuple):
    """The replicas of the workload before."""

    wanted: Count  #: Replicas that the workload wants.
    #: Where the number comes from; null where nothing says it.
    wanted_from: ReplicaNumber | None
    placed: Count  #: Those that had a node.


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateAnswer:
    """The outcome for pods that are scheduled one after another."""

    kubernetes_version: KubernetesVersion  #: The release that the scheduler behaves as.
    judged_as: str  #: The release that is used for it, with its patch: the newest known one for a newer one.
    nodes: Count  #: How many nodes there are, before any action.
    nodes_to_find: Count  #: How many feasible nodes are looked for, for each pod.
    #: The revision of the workload that the pods were scheduled as; null for what has none.
    revision: PodRevision | None
    #: The replicas of the workload before; null where their number is not known.
    replicas: ReplicasBefore | None
    #: The pods of the workload at the end; null where their number is not known.
    ends: ReplicaEnds | None
    seed: Count | None  #: Chose among nodes with the same total; null where the first by name was taken.
    steps: Sequence[SchedulingAttempt]  #: What becomes of each pod, in order.
    complete: bool = True  #: Whether all pods were tried.
    pending: Count  #: Pods that got no node.
    domains: Sequence[DomainChange]  #: Of each constraint in force.
    all_domains: bool = True  #: Whether ``domains`` are those of all pods; of many different only some are.
    #: What became of the pods every time; the rest is of the first. Null without runs.
    runs: SimulationRuns | None = None
    what_if: WhatIf | None = None  #: What the actions change, the first time; null without any.
    #: What the autoscaler does for the pods, the first time; null where that was not requested.
    autoscaled: Autoscaled | None = None
    #: Which nodes come for the pods, and why no node comes for others, a sentence each.
    new_nodes: Sequence[str] = ()
    #: The pods that were evicted for pods of higher priority, and what became of them; those that were
    #: evicted for displaced pods are among these, in ``whatIf``.
    evicted: Sequence[DisplacedPod]
    not_modeled: Sequence[str]  #: What else a scheduler looks at in these pods, which may refuse more nodes.
    not_looked_at: Sequence[str]  #: What may happen in a real cluster meanwhile.


def render(simulated: SimulatedQueue) -> bytes:
    """Return a simulation as one line of JSON, without its end."""
    queue, simulation, runs = simulated.queue, simulated.simulation, simulated.distribution
    answer = SimulateAnswer(
        kubernetes_version=queue.version,
        judged_as=judged_as(queue.version).exact,
        nodes=queue.cluster.node_count,
        nodes_to_find=simulated.nodes_to_find,
        revision=None if queue.prepared is None else queue.prepared.revision,
        replicas=_replicas(queue),
        ends=simulated.ends,
        seed=simulated.settings.used_seed,
        steps=simulation.steps,
        complete=simulation.complete,
        pending=simulation.pending,
        domains=simulation.domains,
        all_domains=simulation.all_counted,
        runs=None if runs is None else SimulationRuns(simulated.settings.runs, runs),
        what_if=simulated.what_if,
        autoscaled=simulation.autoscaled,
        new_nodes=list(new_node_lines(simulation.autoscaled)),
        evicted=simulation.evicted,
        not_modeled=simulated.unmodeled,
        not_looked_at=simulated.not_looked_at,
    )
    return dumps(answer)


def _replicas(queue: SchedulingQueue) -> ReplicasBefore | None:
    """Return how many replicas the workload wants, and how many had a node before; None if not known."""
    replicas = queue.replicas
    if replicas is None:
        return None
    wanted_from = None if queue.prepared is None else queue.prepared.workload.replica_number
    return ReplicasBefore(replicas.wanted, wanted_from, replicas.placed)

"""What becomes of a cluster to which a workload is applied, and whether that is the goal.

This is what ``what-if -f`` plays: the rollout from what runs, and then the loss of each domain of the goal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from planning.advise.goal import Goal
from planning.advise.goal_trial import Failure, FailureKind
from planning.advise.node_groups import NodeGroup
from planning.simulation.actions import domains_of
from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.events import Event, ScaledWorkload
from planning.simulation.node_source import NodeSource
from planning.simulation.outcome import ObjectChange, Outcome, WorkloadOutcome
from planning.simulation.play import play
from planning.simulation.scenario import ClusterState, Scenario
from policies.manifests.edits import Edit, apply_edits
from policies.model.workload import Workload
from policies.model.workload_ref import WorkloadRef, with_namespace

#: Pods of a cluster in which each domain of the goal is lost: all that a domain has are scheduled again.
MOST_LOST: Final = 10_000
#: What is done to a workload of which every pod is placed anew.
_ROLLED_OUT: Final = frozenset({ObjectChange.ADDED, ObjectChange.CHANGED, ObjectChange.REPLACED})
#: Domains that are lost: each on its own copy of the cluster.
MOST_DOMAINS: Final = 20


class PlayedGoal:
    """Plays a cluster to which copies of a workload are applied.

    Attributes:
        tried: How many were played.
    """

    def __init__(
        self,
        workload: Workload,
        state: ClusterState,
        replicas: range,
        groups: Sequence[NodeGroup],
        *,
        nodes_from: NodeSource | None,
        stop: Callable[[], bool],
    ) -> None:
        """Take the cluster as it runs.

        Args:
            workload: The workload; what is applied are copies with other constraints.
            state: The cluster, which stays as it is.
            replicas: With how many replicas it is played: its own number, or the least.
            groups: Nodes that may be added; without a source of nodes all of them are there.
            nodes_from: What adds nodes for pods that stay pending; None for nothing.
            stop: Whether to end early.
        """
        self._workload, self._nodes_from, self._stop = workload, nodes_from, stop
        self._scales = () if workload.replicas in replicas else (_scale(workload, replicas.start),)
        self._state = state if nodes_from is not None else _with_nodes(state, groups)
        self._played: list[tuple[Sequence[Edit], Outcome]] = []
        self.tried = 0

    def outcome(self, edits: Sequence[Edit]) -> Outcome:
        """Return what becomes of the cluster once the workload is applied with some edits."""
        known = next((outcome for of, outcome in self._played if of == edits), None)
        if known is None:
            self.tried += 1
            known = self._play(edits, each=None)
            self._played.append((edits, known))
        return known

    def with_losses(self, edits: Sequence[Edit], key: str) -> Outcome:
        """Return the same with the loss of each domain of a key, if these are not too many."""
        cluster = self._state.context.cluster
        if cluster is None or cluster.pod_count > MOST_LOST or self._stop():
            return self.outcome(edits)
        if not 0 < len(domains_of(cluster, key)) <= MOST_DOMAINS:
            return self.outcome(edits)
        return self._play(edits, each=key)

    def failure(self, edits: Sequence[Edit], goal: Goal) -> Failure | None:
        """Return where a goal is missed once the workload is applied with some edits; None if it is not.

        Where nothing changes, the pods that run now stay where they are.
        """
        found = of_workload(self.outcome(edits), self._workload)
        if found is None or found.change not in _ROLLED_OUT:
            return None
        if found.verdict.value is False:
            return Failure(
                kind=FailureKind.PLAYED, replicas=found.wanted or 0, message=found.verdict.sentence
            )
        survival = next((each for each in found.survival if each.topology_key == goal.key), None)
        if survival is None or found.after not in goal.range:
            return None
        count, allowed = found.after - survival.left, goal.allowed(found.after)
        if count <= allowed:
            return None
        return Failure(
            kind=FailureKind.PLAYED,
            replicas=found.after,
            domain=survival.fullest or "",
            count=count,
            allowed=allowed,
        )

    def _play(self, edits: Sequence[Edit], *, each: str | None) -> Outcome:
        edited = with_namespace(apply_edits(self._workload.obj, edits), self._workload.namespace)
        return play(
            Scenario(
                cluster=self._state,
                events=(Event(apply=dict(edited)), *self._scales),
                each=each,
                nodes_from=self._nodes_from,
                runs=1,
                stop=self._stop,
            )
        )


def of_workload(outcome: Outcome, workload: Workload) -> WorkloadOutcome | None:
    """Return what becomes of a workload; None where it is neither changed nor hit."""
    ref = WorkloadRef(workload.namespace, workload.kind.kind, workload.name)
    found = (each for each in outcome.workloads if each.ref._replace(kind=_short(each.ref.kind)) == ref)
    return next(found, None)


def _scale(workload: Workload, replicas: int) -> Event:
    target = ScaledWorkload(
        kind=workload.kind.kind, namespace=workload.namespace, name=workload.name, to=replicas
    )
    return Event(scale=target)


def _short(kind: str) -> str:
    return kind.partition(".")[0]


def _with_nodes(state: ClusterState, groups: Sequence[NodeGroup]) -> ClusterState:
    """Return a cluster with every node that may be added."""
    cluster = state.context.cluster
    if cluster is None or not groups:
        return state
    simulation = ClusterSimulation.of(cluster)
    for group in groups:
        for number in range(1, group.count + 1):
            simulation.put(group.node(number, simulation.cluster))
    return replace(state, context=replace(state.context, cluster=simulation.cluster))

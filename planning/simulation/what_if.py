"""Simulations of actions: they change a cluster, and the pods that lose their node are scheduled again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from planning.simulation.actions import Disruption, Where, apply_events, by_option
from planning.simulation.autoscaling import Autoscaling
from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.events import NodeEvent
from planning.simulation.pod_facts import PodFacts
from planning.simulation.recovery import Recovery
from planning.simulation.rescheduling import Rescheduling
from policies.manifests.errors import EvenkeelError
from policies.manifests.fields import ErrorList, FieldError
from policies.manifests.wire import INLINE, INTERNAL, Count, SentAs, sent
from policies.pods.placement import PreparedPod
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.skew import skew_of


class ActionError(EvenkeelError):
    """Actions that cannot happen in this cluster; holds every error."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        self.errors = errors
        super().__init__("\n".join(map(str, errors)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainStages:
    """The pods that a constraint counts, by domain: a domain without an eligible node is missing."""

    constraint: Count  #: Its position among those in force.
    applied: Annotated[AppliedConstraint, INLINE]  #: The constraint.
    before: Mapping[str, Count]  #: Before the actions.
    disrupted: Mapping[str, Count]  #: Right after them.
    recovered: Mapping[str, Count]  #: When all replacements were tried.

    @property
    @sent
    def skew_before(self) -> Count:
        """The skew before the actions."""
        return skew_of(self.applied, self.before)

    @property
    @sent
    def skew(self) -> Count:
        """The skew when all replacements were tried."""
        return skew_of(self.applied, self.recovered)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The effect of some actions."""

    actions: Annotated[tuple[NodeEvent, ...], INTERNAL]  #: The actions.
    recovery: Annotated[Recovery, INLINE]  #: The pods that lost their node.
    stayed: Count  #: How many pods kept theirs.
    own_stayed: Count | None  #: How many of them belong to the given workload; None without one.
    domains: tuple[DomainStages, ...]  #: Of each constraint in force for the given workload.

    @property
    @sent
    def action_count(self) -> Annotated[Count, SentAs("actions")]:
        """How many actions there were."""
        return len(self.actions)


def what_if(
    actions: Sequence[NodeEvent],
    simulation: ClusterSimulation,
    again: Rescheduling,
    scaling: Autoscaling | None = None,
    where: Where = by_option,
) -> WhatIf:
    """Let actions happen, one after another, and then schedule again what lost its node.

    Args:
        actions: The actions.
        simulation: The cluster, with the pods of all namespaces, which is afterwards as it would be.
        again: Schedules again what lost its node; knows the pods of the workload that is given, if one is.
        scaling: Adds nodes for those that stay pending; None for nothing.
        where: Returns where an action is that is wrong.

    Raises:
        ActionError: An action names something that the cluster does not have.
    """
    facts, found = again.facts, ErrorList()
    prepared = next(iter(facts.workloads), None)
    stages = [_counts(prepared, simulation)]
    disruption = apply_events(actions, simulation, facts, found, where)
    if found.errors:
        raise ActionError(tuple(found.errors))
    stages.append(_counts(prepared, simulation))
    stayed = simulation.cluster.pod_count
    own_stayed = None if prepared is None else _own_stayed(facts, disruption)
    again.schedule(disruption.evicted)
    if scaling is not None:
        scaling.schedule_again(again)
    recovery = Recovery(
        disruption=disruption,
        displaced=again.displaced,
        complete=facts.complete,
        unmodeled=again.unmodeled,
    )
    stages.append(_counts(prepared, simulation))
    gone = [entry for entry in recovery.displaced if entry.preemptor]
    constraints = () if prepared is None else prepared.request.constraints
    return WhatIf(
        actions=tuple(actions),
        recovery=recovery,
        stayed=stayed - len(gone),
        own_stayed=None if own_stayed is None else own_stayed - sum(entry.own for entry in gone),
        domains=tuple(
            DomainStages(constraint=number, applied=applied, before=was, disrupted=lost, recovered=now)
            for number, (applied, was, lost, now) in enumerate(zip(constraints, *stages, strict=True))
        ),
    )


def _counts(prepared: PreparedPod | None, simulation: ClusterSimulation) -> list[dict[str, int]]:
    return [] if prepared is None else simulation.count(prepared.request)


def _own_stayed(facts: PodFacts, disruption: Disruption) -> int:
    evicted = sum(facts.own(pod.namespace, pod.name) is not None for pod in disruption.evicted)
    return facts.own_count - evicted

"""Simulations of actions: they change a cluster, and the pods that lose their node are scheduled again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from policies.autoscaler.node_autoscaler import NodeAutoscaler
from policies.config.context import AdmissionContext
from policies.manifests.errors import EvenkeelError
from policies.manifests.fields import ErrorList, FieldError
from policies.manifests.wire import INLINE, INTERNAL, Count, SentAs, sent
from policies.placement.core.actions import Action, Disruption, apply_actions
from policies.placement.core.autoscaling import Autoscaled, autoscale_again
from policies.placement.core.cluster_simulation import ClusterSimulation
from policies.placement.core.placement import PreparedPod
from policies.placement.core.pod_facts import PodFacts
from policies.placement.core.pod_objects import PodObjects
from policies.placement.core.recovery import MOST_OTHERS, Recovery, Rescheduling, recover
from policies.scheduler.request import AppliedConstraint


class ActionError(EvenkeelError):
    """Actions that cannot happen in this cluster; holds every error."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        self.errors = errors
        super().__init__("\n".join(map(str, errors)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainStages:
    """The pods that a constraint counts, by domain: a domain without an eligible node is missing.

    Attributes:
        constraint: Its position among those in force.
        applied: The constraint.
        before: Before the actions.
        disrupted: Right after them.
        recovered: When all replacements were tried.
    """

    constraint: Count
    applied: Annotated[AppliedConstraint, INLINE]
    before: Mapping[str, Count]
    disrupted: Mapping[str, Count]
    recovered: Mapping[str, Count]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The effect of some actions.

    Attributes:
        actions: The actions.
        recovery: The pods that lost their node.
        stayed: How many pods kept theirs.
        own_stayed: How many of them belong to the given workload; None without one.
        domains: Of each constraint in force for the given workload.
        autoscaled: The nodes that an autoscaler added for what stayed pending; None for none.
    """

    actions: Annotated[tuple[Action, ...], INTERNAL]
    recovery: Annotated[Recovery, INLINE]
    stayed: Count
    own_stayed: Count | None
    domains: tuple[DomainStages, ...]
    autoscaled: Annotated[Autoscaled | None, INTERNAL] = None

    @property
    @sent
    def action_count(self) -> Annotated[Count, SentAs("actions")]:
        """How many actions there were."""
        return len(self.actions)


def what_if(
    actions: Sequence[Action],
    simulation: ClusterSimulation,
    context: AdmissionContext,
    *,
    prepared: PreparedPod | None = None,
    running: PodObjects | None = None,
    others: int = MOST_OTHERS,
    autoscaler: NodeAutoscaler | None = None,
) -> WhatIf:
    """Let actions happen, one after another, and then schedule again what lost its node.

    Args:
        actions: The actions.
        simulation: The cluster, with the pods of all namespaces, which is afterwards as it would be.
        context: What the pods of other workloads are prepared by.
        prepared: The given workload; its pods are replaced as it defines.
        running: The objects of the cluster's pods; None where only the index is known.
        others: How many pods of other workloads are scheduled again, too.
        autoscaler: What adds nodes for those that stay pending; None for nothing.

    Raises:
        ActionError: An action names something that the cluster does not have.
    """
    cluster, workloads = simulation.cluster, () if prepared is None else (prepared,)
    facts, found = PodFacts(cluster, workloads, running), ErrorList()
    stages = [_counts(prepared, simulation)]
    disruption = apply_actions(actions, simulation, facts, found)
    if found.errors:
        raise ActionError(tuple(found.errors))
    stages.append(_counts(prepared, simulation))
    stayed, own_stayed = cluster.pod_count, None if prepared is None else _own_stayed(facts, disruption)
    scaled: Autoscaled | None = None

    def add_nodes(again: Rescheduling) -> None:
        nonlocal scaled
        if autoscaler is not None:
            scaled = autoscale_again(again, simulation, autoscaler)

    recovery = recover(disruption, simulation, facts, workloads, context, others=others, then=add_nodes)
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
        autoscaled=scaled,
    )


def _counts(prepared: PreparedPod | None, simulation: ClusterSimulation) -> list[dict[str, int]]:
    return [] if prepared is None else simulation.count(prepared.request)


def _own_stayed(facts: PodFacts, disruption: Disruption) -> int:
    evicted = sum(facts.own(pod.namespace, pod.name) is not None for pod in disruption.evicted)
    return facts.own_count - evicted

"""What if: actions happen to a cluster, and the pods that lose their node are scheduled again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from policies.config.context import AdmissionContext
from policies.manifests.errors import EvenkeelError
from policies.manifests.fields import ErrorList, FieldError
from policies.placement.actions import Action, Disruption, apply_actions
from policies.placement.placement import PreparedPod
from policies.placement.pod_facts import PodFacts
from policies.placement.pod_objects import PodObjects
from policies.placement.recovery import MOST_OTHERS, Recovery, recover
from policies.placement.simulate import domain_counts
from policies.scheduler.binding import Step, schedule
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import AppliedConstraint, SchedulingRequest


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

    constraint: int
    applied: AppliedConstraint
    before: Mapping[str, int]
    disrupted: Mapping[str, int]
    recovered: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What some actions change.

    Attributes:
        actions: The actions.
        recovery: The pods that lost their node.
        stayed: How many pods kept theirs.
        own_stayed: How many of them belong to the given workload; None without one.
        domains: Of each constraint in force for the given workload.
    """

    actions: tuple[Action, ...]
    recovery: Recovery
    stayed: int
    own_stayed: int | None
    domains: tuple[DomainStages, ...]


def what_if(
    actions: Sequence[Action],
    cluster: ClusterIndex,
    context: AdmissionContext,
    *,
    prepared: PreparedPod | None = None,
    running: PodObjects | None = None,
    others: int = MOST_OTHERS,
    place: Callable[[SchedulingRequest, ClusterIndex, str], Step] = schedule,
    on_step: Callable[[Step], None] = lambda _step: None,
    stop: Callable[[], bool] = lambda: False,
) -> WhatIf:
    """Let actions happen, one after another, and then schedule again what lost its node.

    Args:
        actions: The actions.
        cluster: A fork with the pods of all namespaces, which is afterwards as it would be.
        context: What the pods of other workloads are prepared by.
        prepared: The given workload; its pods are replaced as it says.
        running: The objects of the cluster's pods; None where only the index is known.
        others: How many pods of other workloads are scheduled again, too.
        place: Schedules a pod; ``schedule``, or the same with other choices.
        on_step: Called after each pod that was scheduled again.
        stop: Whether to schedule no more pods.

    Raises:
        ActionError: An action names something that the cluster does not have.
    """
    workloads = () if prepared is None else (prepared,)
    facts, found = PodFacts(cluster, workloads, running), ErrorList()
    stages = [_counts(prepared, cluster)]
    disruption = apply_actions(actions, cluster, facts, found)
    if found.errors:
        raise ActionError(tuple(found.errors))
    stages.append(_counts(prepared, cluster))
    stayed, own_stayed = cluster.pod_count, None if prepared is None else _own_stayed(facts, disruption)
    recovery = recover(
        disruption,
        cluster,
        facts,
        workloads,
        context,
        others=others,
        place=place,
        on_step=on_step,
        stop=stop,
    )
    stages.append(_counts(prepared, cluster))
    constraints = () if prepared is None else prepared.request.constraints
    return WhatIf(
        actions=tuple(actions),
        recovery=recovery,
        stayed=stayed,
        own_stayed=own_stayed,
        domains=tuple(
            DomainStages(constraint=number, applied=applied, before=was, disrupted=lost, recovered=now)
            for number, (applied, was, lost, now) in enumerate(zip(constraints, *stages, strict=True))
        ),
    )


def _counts(prepared: PreparedPod | None, cluster: ClusterIndex) -> list[dict[str, int]]:
    return [] if prepared is None else domain_counts(prepared.request, cluster)


def _own_stayed(facts: PodFacts, disruption: Disruption) -> int:
    evicted = sum(facts.own(pod.namespace, pod.name) is not None for pod in disruption.evicted)
    return facts.own_count - evicted

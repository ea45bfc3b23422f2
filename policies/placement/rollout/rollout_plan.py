"""The state from which a rollout or a scale starts, and the course that the controllers take from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

from policies.model.scaling import rolling_update
from policies.model.workload import Workload
from policies.placement.core.cluster_simulation import ClusterSimulation
from policies.placement.rollout.choices import Choices, UsualChoices
from policies.placement.rollout.courses import Course, Courses, Outcome, Peak, find_courses
from policies.placement.rollout.deployment_controller import DeploymentController
from policies.placement.rollout.replica_pods import PodAction, ReplicaPods
from policies.placement.rollout.stateful_set_controller import StatefulSetController, stateful_update
from policies.placement.rollout.victims import Replica
from policies.scheduler.binding import TieBreaker
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest


class RolloutController(Protocol):
    """The controller of a workload."""

    def run(self) -> None:
        """Act until nothing changes any more."""

    @property
    def is_complete(self) -> bool:
        """Whether everything is as the object defines."""

    @property
    def is_deadlocked(self) -> bool:
        """Whether pods are left over that should be gone."""


class RolloutPlan(NamedTuple):
    """The state at the start, and the state to reach.

    Attributes:
        workload: The workload.
        cluster: The cluster; every course makes a fork of it.
        pods: The pods of the workload in it.
        requests: The pod of each revision.
        new: The revision that all pods are to have.
        old: The other ones, oldest first.
        replicas: How many pods there are to be.
        scaled: Whether only their number changes.
        now: When the cluster was as it is, in seconds since 1970; 0 if unknown.
    """

    workload: Workload
    cluster: ClusterIndex
    pods: tuple[Replica, ...]
    requests: Mapping[str, SchedulingRequest]
    new: str
    old: tuple[str, ...]
    replicas: int
    scaled: bool
    now: float


def scaled_first(plan: RolloutPlan, revision: str, replicas: int) -> tuple[RolloutPlan, int]:
    """Give one revision its number of pods; return what there is then, and how many pods changed."""
    own = tuple(pod for pod in plan.pods if pod.revision == revision)
    first = plan._replace(new=revision, old=(), replicas=replicas, scaled=True, pods=own)
    pods, _ = _run(first, UsualChoices())
    others = tuple(pod for pod in plan.pods if pod.revision != revision)
    return plan._replace(cluster=pods.cluster, pods=(*others, *pods)), sum(
        step.action is not PodAction.SCHEDULED for step in pods.steps
    )


def take_courses(plan: RolloutPlan, choose: TieBreaker) -> Courses:
    """Return how a plan can go; the tie breaker makes the choices of the likely course."""
    return find_courses(lambda choices: _course(plan, choices), plan.cluster.node_count, UsualChoices(choose))


def _run(plan: RolloutPlan, choices: Choices) -> tuple[ReplicaPods, RolloutController]:
    request = plan.requests[plan.new]
    pods = ReplicaPods(
        ClusterSimulation.of(plan.cluster, request),
        plan.requests,
        plan.new,
        choices,
        running=map(replace, plan.pods),
        now=plan.now,
    )
    controller = _controller(plan, pods)
    # The scheduler has tried what is pending before a controller acts.
    pods.retry()
    controller.run()
    return pods, controller


def _controller(plan: RolloutPlan, pods: ReplicaPods) -> RolloutController:
    workload, replicas = plan.workload, plan.replicas
    if workload.kind.kind != "StatefulSet":
        return DeploymentController(
            pods,
            replicas=replicas,
            update=None if plan.scaled else rolling_update(workload, replicas),
            new=plan.new,
            old=plan.old,
        )
    update = stateful_update(workload, replicas)
    return StatefulSetController(
        pods,
        name=plan.requests[plan.new].pod.name.rpartition("-")[0],
        replicas=replicas,
        update=update._replace(on_delete=True) if plan.scaled else update,
        new=plan.new,
        old=plan.old[0] if plan.old else plan.new,
    )


def _course(plan: RolloutPlan, choices: Choices) -> Course:
    pods, controller = _run(plan, choices)
    outcome = Outcome.DEADLOCK if controller.is_deadlocked else Outcome.PENDING
    return Course(
        outcome=Outcome.COMPLETE if controller.is_complete else outcome,
        steps=tuple(pods.steps),
        pending=tuple(pod.name for pod in pods.pending),
        message=pods.message,
        room=pods.room,
        old=sum(pod.revision != plan.new for pod in pods),
        old_pending=sum(pod.revision != plan.new for pod in pods.pending),
        running=sum(pod.node is not None for pod in pods),
        before=pods.before,
        peaks=tuple(Peak(skew=skew, step=step, counts=counts) for skew, step, counts in pods.peaks),
        after=pods.tally.counts(),
        skews=pods.tally.skews(),
        bounds=pods.bounds,
        cluster=pods.cluster,
    )

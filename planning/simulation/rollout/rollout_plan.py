"""The state from which a rollout or a scale starts, and the course that the controllers take from there.

Sources, Kubernetes 1.36: ``rolling.go`` and ``recreate.go`` (``pkg/controller/deployment``),
``NewRSNewReplicas`` (``deployment_util.go``) and ``manageReplicas`` (``pkg/controller/replicaset``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod, may_evict
from planning.simulation.pod_facts import PodFacts
from planning.simulation.recovery import DisplacedPod
from planning.simulation.rescheduling import MadeRequests, Rescheduling
from planning.simulation.rollout.choices import Choices, UsualChoices
from planning.simulation.rollout.courses import (
    Course,
    Courses,
    EndPod,
    PodAction,
    RolloutEnd,
    find_courses,
    one_course,
)
from planning.simulation.rollout.replica_pods import ReplicaPods
from planning.simulation.rollout.stateful_set_controller import StatefulSetController, stateful_update
from planning.simulation.rollout.victims import Replica
from policies.config.context import AdmissionContext
from policies.model.scaling import RollingUpdate, rolling_update
from policies.model.workload import Workload
from policies.scheduler.binding import TieBreaker
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest


class DeploymentController:
    """Rolls a Deployment out: its ReplicaSets have as many pods as their sizes after every step."""

    def __init__(
        self,
        pods: ReplicaPods,
        *,
        replicas: int,
        update: RollingUpdate | None,
        new: str,
        old: Sequence[str],
    ) -> None:
        """Start with the pods that run.

        Args:
            pods: The pods.
            replicas: How many the Deployment wants.
            update: The limits of a rolling update; None for the strategy Recreate.
            new: The new revision.
            old: The other ones, oldest first.
        """
        self._pods, self._replicas, self._update = pods, replicas, update
        self._new, self._old = new, old
        self._sizes = {revision: len(pods.of(revision)) for revision in (*old, new)}

    def run(self) -> None:
        """Reconcile until nothing changes any more; then let one pod become ready, and go on."""
        while self._reconcile() or self._pods.start_next():
            pass

    @property
    def is_complete(self) -> bool:
        """Whether all pods are of the new revision, and ready."""
        ready = self._ready(self._new)
        return not self._old_size and ready == self._sizes[self._new] == self._replicas

    @property
    def is_deadlocked(self) -> bool:
        """Whether old pods are left over; meaningful after ``run``."""
        return bool(self._old_size)

    @property
    def _old_size(self) -> int:
        return sum(self._sizes[revision] for revision in self._old)

    def _ready(self, revision: str) -> int:
        return sum(pod.ready for pod in self._pods.of(revision))

    def _reconcile(self) -> bool:
        if self._replace_evicted():
            return True
        if self._update is None:
            return self._recreate()
        return self._scale_up(self._update) or self._scale_down(self._update)

    def _replace_evicted(self) -> bool:
        """Let the controllers of ReplicaSets create pods in place of those that were evicted."""
        missing = {
            revision: size - len(self._pods.of(revision)) for revision, size in self._sizes.items() if size
        }
        for revision, count in missing.items():
            self._pods.create(revision, max(count, 0))
        return any(count > 0 for count in missing.values())

    def _recreate(self) -> bool:
        old = dict.fromkeys(self._old, 0)
        return self._resize(old) or self._resize({self._new: self._replicas})

    def _scale_up(self, update: RollingUpdate) -> bool:
        """Give the new ReplicaSet as many pods as the surge allows: ``reconcileNewReplicaSet``."""
        size, wanted = self._sizes[self._new], self._replicas
        if size < wanted:
            room = wanted + update.surge - sum(self._sizes.values())
            wanted = size + min(max(room, 0), wanted - size)
        return self._resize({self._new: wanted})

    def _scale_down(self, update: RollingUpdate) -> bool:
        """Take pods from the old ReplicaSets, the unavailable ones first: ``reconcileOldReplicaSets``."""
        sizes = {revision: self._sizes[revision] for revision in self._old}
        available = {revision: self._ready(revision) for revision in (*self._old, self._new)}
        least = self._replicas - min(update.unavailable, self._replicas)
        unavailable = self._sizes[self._new] - available[self._new]
        most = sum(self._sizes.values()) - least - unavailable
        if not self._old_size or most <= 0:
            return False
        for revision in self._old:
            count = min(most, sizes[revision] - available[revision])
            sizes[revision] -= count
            most -= count
        most = sum(available.values()) - least
        for revision in self._old:
            count = min(sizes[revision], max(most, 0))
            sizes[revision] -= count
            most -= count
        return self._resize(sizes)

    def _resize(self, sizes: dict[str, int]) -> bool:
        """Let the controllers of ReplicaSets create and delete pods; return whether any size changed."""
        changed = False
        with self._pods.together():
            for revision, size in sizes.items():
                pods = self._pods.of(revision)
                changed |= size != self._sizes[revision]
                self._sizes[revision] = size
                if size < len(pods):
                    self._pods.delete(self._pods.scale_down(pods, len(pods) - size))
                elif size > len(pods):
                    self._pods.create(revision, size - len(pods))
        return changed


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
    """The state at the start, and the state to reach."""

    workload: Workload  #: The workload.
    cluster: ClusterIndex  #: The cluster; every course makes a fork of it.
    pods: tuple[Replica, ...]  #: The pods of the workload in it.
    requests: Mapping[str, SchedulingRequest]  #: The pod of each revision.
    new: str  #: The revision that all pods are to have.
    old: tuple[str, ...]  #: The other ones, oldest first.
    replicas: int  #: How many pods there are to be.
    scaled: bool  #: Whether only their number changes.
    now: float  #: When the cluster was as it is, in seconds since 1970; 0 if unknown.
    facts: PodFacts  #: What is known of pods of other workloads, which may be evicted.
    context: AdmissionContext  #: What replaces those is prepared by.
    made: MadeRequests  #: What was prepared in place of them, for all courses.
    displaced: tuple[DisplacedPod, ...] = ()  #: Those that were evicted before.


def scaled_first(plan: RolloutPlan, revision: str, replicas: int) -> tuple[RolloutPlan, int]:
    """Give one revision its number of pods; return what there is then, and how many pods changed."""
    own = tuple(pod for pod in plan.pods if pod.revision == revision)
    first = plan._replace(new=revision, old=(), replicas=replicas, scaled=True, pods=own)
    pods, _ = _run(first, UsualChoices())
    names = pods.cluster.pod_names(plan.workload.namespace)
    # Those of other revisions that were evicted are created anew, and wait.
    others = tuple(
        pod if pod.name in names else replace(pod, node=None, ready=False)
        for pod in plan.pods
        if pod.revision != revision
    )
    changed = sum(step.action in {PodAction.CREATED, PodAction.DELETED} for step in pods.steps)
    return plan._replace(cluster=pods.cluster, pods=(*others, *pods), displaced=pods.displaced), changed


def take_courses(plan: RolloutPlan, choose: TieBreaker, *, search: bool = True) -> Courses:
    """Return how a plan can go.

    Args:
        plan: The plan.
        choose: Makes the choices of the likely course.
        search: Whether other courses are taken, too.
    """
    likely = UsualChoices(choose)
    if not search:
        return one_course(lambda choices: _course(plan, choices), likely)
    return find_courses(lambda choices: _course(plan, choices), plan.cluster.node_count, likely)


def _run(plan: RolloutPlan, choices: Choices) -> tuple[ReplicaPods, RolloutController]:
    request = plan.requests[plan.new]
    evicts = any(may_evict(each.pod, plan.cluster) for each in plan.requests.values())
    simulation = ClusterSimulation.of(plan.cluster, None if evicts else request)
    simulation.preempts = evicts
    again = None
    if evicts or plan.displaced:
        again = Rescheduling(simulation, plan.facts, plan.context, made=plan.made, displaced=plan.displaced)
    pods = ReplicaPods(
        simulation,
        plan.requests,
        plan.new,
        choices,
        again=again,
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
    workload = plan.workload
    owner = f"{workload.kind.kind}/{workload.name}"
    old = sum(pod.revision != plan.new for pod in pods)
    return Course(
        outcome=_outcome(plan, controller, old),
        steps=tuple(pods.steps),
        # They are there, whatever order they were created in.
        waiting=tuple(QueuedPod(pod.name, plan.requests[pod.revision], owner) for pod in pods.pending),
        message=pods.message,
        lost_volumes=pods.lost_volumes,
        evicted=pods.displaced,
        attempts=pods.attempts,
        unmodeled=pods.unmodeled,
        old=old,
        old_pending=sum(pod.revision != plan.new for pod in pods.pending),
        running=sum(pod.node is not None for pod in pods),
        pods=tuple(
            EndPod(pod.name, pod.node, pod.revision == plan.new, plan.requests[pod.revision]) for pod in pods
        ),
        before=pods.before,
        peaks=tuple(pods.peaks),
        after=pods.tally.counts(),
        skews=pods.tally.skews(),
        bounds=pods.bounds,
        cluster=pods.cluster,
        at_first_new=pods.at_first_new,
    )


def _outcome(plan: RolloutPlan, controller: RolloutController, old: int) -> RolloutEnd:
    if not controller.is_complete:
        return RolloutEnd.DEADLOCK if controller.is_deadlocked else RolloutEnd.PENDING
    workload = plan.workload
    if not old or plan.scaled or workload.kind.kind != "StatefulSet":
        return RolloutEnd.COMPLETE
    # Those below a partition are as the object defines.
    on_delete = stateful_update(workload, plan.replicas).on_delete
    return RolloutEnd.WAITS_FOR_DELETION if on_delete else RolloutEnd.COMPLETE

"""How a new revision of a workload is rolled out, or how a workload is scaled, in a cluster as it is now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from policies.config.context import AdmissionContext
from policies.manifests.fields import (
    FieldPath,
    invalid_value,
    member,
    unsupported_value,
)
from policies.model.scaling import ZERO_PODS, RollingUpdate, rolling_update
from policies.model.workload import Workload
from policies.placement.core.known_pods import KnownPods
from policies.placement.core.limits import MOST_ROLLED_OUT
from policies.placement.core.placement import PlacementError, PreparedPod, prepare, read_workload
from policies.placement.core.pod_facts import PodFacts
from policies.placement.rollout.courses import Course, Courses, Outcome
from policies.placement.rollout.rollout_plan import RolloutPlan, scaled_first, take_courses
from policies.placement.rollout.running_pods import (
    PREVIOUS,
    RunningPods,
    find_running,
    prepare_revision,
    prepare_sample,
)
from policies.placement.rollout.stateful_set_controller import StatefulUpdate, stateful_update
from policies.placement.rollout.victims import latest
from policies.scheduler.binding import TieBreaker, first_by_name
from policies.scheduler.request import SchedulingRequest

#: The rule that an object breaks which cannot be rolled out or scaled.
NOT_ROLLED_OUT: Final = "not-rolled-out"

_KIND, _REPLICAS = FieldPath(("kind",)), FieldPath(("spec", "replicas"))
_STRATEGY = FieldPath(("spec", "strategy"))
_DEPLOYMENT: Final = "Deployment"
_ROLLED_OUT: Final = (_DEPLOYMENT, "StatefulSet")
_SCALED: Final = (*_ROLLED_OUT, "ReplicaSet", "ReplicationController")
_GROUPS: Final = frozenset({"", "apps"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A rollout, or a scale, of a workload.

    Attributes:
        prepared: The workload, and the pod that is created.
        replicas: How many pods there are to be.
        scaled: Whether the number of pods is changed, and nothing else.
        running: How many pods of the workload run in the cluster.
        waited_for: The names of its pods that have no node there, as far as is known, oldest first.
        placed: How many pods were placed, and how many deleted, before the course begins: the old revision
            has as many as the workload wants then.
        known: Whether states and ages of its pods are known, and with them those without a node.
        assumed: Whether the template of an old revision is not known and taken to be that of the object.
        resized: Whether the number of replicas changes while a rollout is under way: that its ReplicaSets are
            scaled in proportion first is not simulated.
        now: When it was, in seconds since 1970; 0 if unknown.
        in_progress: How many of the pods that run are of the new revision already.
        restarted: Whether the template is the one that runs, so that it is rolled out as by a restart.
        update: The limits of a Deployment's rolling update; None for other kinds and Recreate.
        stateful: How a StatefulSet replaces its pods; None for other kinds.
        seed: What the likely course's choices were made of; None for the first by name.
        courses: How it can go.
    """

    prepared: PreparedPod
    replicas: int
    scaled: bool
    running: int
    waited_for: tuple[str, ...] = ()
    placed: int = 0
    known: bool = True
    assumed: bool = False
    resized: bool = False
    now: float = 0.0
    in_progress: int = 0
    restarted: bool = False
    update: RollingUpdate | None = None
    stateful: StatefulUpdate | None = None
    seed: int | None = None
    courses: Courses

    @property
    def outcome(self) -> Outcome:
        """How it ends where it ends worst."""
        return self.courses.worst.outcome

    @property
    def uneven(self) -> list[int]:
        """The hard constraints beyond whose ``maxSkew`` it may end."""
        return [
            position
            for position, applied in enumerate(self.prepared.request.constraints)
            if applied.is_hard and self.courses.worst_skews[position] > applied.constraint.max_skew
        ]

    @property
    def pending(self) -> int:
        """The most pods that stay pending in any course."""
        return max(len(course.pending) for course in self.ends)

    @property
    def ends(self) -> tuple[Course, Course]:
        """The likely course, and the one that ends worst."""
        return self.courses.likely, self.courses.worst

    @property
    def evicted(self) -> int:
        """The most pods of other workloads that are evicted in any course."""
        return max(len(course.evicted) for course in self.ends)

    @property
    def unmodeled(self) -> tuple[str, ...]:
        """The parts of the pods that a scheduler reads and that are not modeled, as the API names them."""
        others = (name for course in self.ends for name in course.unmodeled)
        return tuple(dict.fromkeys((*self.prepared.request.pod.unmodeled, *others)))

    @property
    def evicted_pending(self) -> int:
        """The most evicted pods of other workloads that stay pending in any course."""
        return max(course.evicted_pending for course in self.ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSettings:
    """How an object is rolled out.

    Attributes:
        scale: The number of replicas that the workload is scaled to, and nothing else; None for a rollout.
        known: What is known of pods of the cluster.
        others: What is known of pods of other workloads, which may be evicted; None for what ``known`` has.
        previous: The workload as it was, of whose template the old pods are where the cluster shows none;
            None if that is not known.
        without: The names of pods that are taken to be deleted first.
        choose: Makes the choices of the likely course.
        seed: What it was made of; None for the first by name.
        most: The most replicas.
    """

    scale: int | None = None
    known: KnownPods = field(default_factory=KnownPods)
    others: PodFacts | None = None
    previous: Workload | None = None
    without: frozenset[str] = frozenset()
    choose: TieBreaker = first_by_name
    seed: int | None = None
    most: int = MOST_ROLLED_OUT


#: A rollout with the first choices by name, in a cluster of whose pods nothing else is known.
PLAIN_ROLLOUT: Final = RolloutSettings()


def simulate_rollout(
    obj: Mapping[str, Any],
    context: AdmissionContext,
    settings: RolloutSettings = PLAIN_ROLLOUT,
    *,
    namespace: str = "",
) -> Rollout:
    """Roll out an object as the new revision of what runs in the cluster, or scale it.

    Args:
        obj: A Deployment or StatefulSet, or to be scaled a ReplicaSet or ReplicationController, of any shape.
        context: What its pods are placed by; its cluster must be there.
        settings: How it is rolled out.
        namespace: Where the object goes if it names no namespace itself.

    Raises:
        PlacementError: Kubernetes would refuse the object or its pods, or it is not rolled out; holds every
            error.
    """
    workload = _read(obj, context, namespace, _ROLLED_OUT if settings.scale is None else _SCALED)
    for replicas in (workload.replicas, settings.scale or 0):
        _check_replicas(replicas, settings.most)
    if settings.scale is None:
        _check_strategy(workload)
        return _roll_out(workload, context, settings)
    return _scale(workload, context, settings, settings.scale)


def _roll_out(workload: Workload, context: AdmissionContext, settings: RolloutSettings) -> Rollout:
    replicas = workload.replicas or 0
    with context.reading():
        prepared = prepare(workload, context)
        running = find_running(prepared, settings.known, settings.without)
        marked = None if prepared.revision is None else prepared.revision.hash
        if restarted := running.revisions == [marked]:
            prepared = prepare_revision(workload, context, None)
        new = _mark(prepared, running)
        old = _oldest_first(prepared, running, new) or (PREVIOUS,)
        requests, assumed = _old_requests(prepared, context, settings, old)
        requests = {**requests, new: prepared.request}
        plan = _plan(prepared, running, requests, context, settings, new=new, old=old)
    plan, placed = _with_old_pods(plan, settings)
    return Rollout(
        prepared=prepared,
        replicas=replicas,
        scaled=False,
        running=running.bound,
        waited_for=tuple(pod.name for pod in running.pods if pod.node is None),
        placed=placed,
        known=_is_known(running),
        assumed=assumed,
        resized=_is_resized(workload, running, settings),
        now=plan.now,
        in_progress=sum(pod.revision == new for pod in running.pods),
        restarted=restarted,
        update=rolling_update(workload, replicas),
        stateful=None if _is_deployment(workload) else stateful_update(workload, replicas),
        seed=settings.seed,
        courses=take_courses(plan, settings.choose),
    )


def _plan(
    prepared: PreparedPod,
    running: RunningPods,
    requests: Mapping[str, SchedulingRequest],
    context: AdmissionContext,
    settings: RolloutSettings,
    *,
    new: str,
    old: tuple[str, ...],
) -> RolloutPlan:
    """Return the plan of a rollout that starts from the pods that run."""
    workload = prepared.workload
    cluster = prepared.cluster.fork(workload.namespace)
    return RolloutPlan(
        workload=workload,
        cluster=cluster,
        pods=running.pods,
        requests=requests,
        new=new,
        old=old,
        replicas=workload.replicas or 0,
        scaled=False,
        now=_now(running, settings),
        facts=settings.others or PodFacts(cluster, (), settings.known.running),
        context=context,
        made={},
    )


def _with_old_pods(plan: RolloutPlan, settings: RolloutSettings) -> tuple[RolloutPlan, int]:
    """Return the plan with as many pods of older revisions as settings say, and how many were placed."""
    placed = 0
    for revision, size in _old_sizes(plan, settings).items():
        plan, changed = scaled_first(plan, revision, size)
        placed += changed
    return plan, placed


def _old_requests(
    prepared: PreparedPod,
    context: AdmissionContext,
    settings: RolloutSettings,
    old: Sequence[str],
) -> tuple[dict[str, SchedulingRequest], bool]:
    """Return the pod of each old revision, and whether one is taken to be like those of the object."""
    workload, found, assumed = prepared.workload, {}, False
    for revision in old:
        sample = prepare_sample(workload, context, settings.known, revision, prepared.request.pod.name)
        if sample is None:
            assumed = assumed or settings.previous is None
            sample = _prepare_previous(workload, context, settings, revision)
        found[revision] = sample.request
    return found, assumed


def _prepare_previous(
    workload: Workload,
    context: AdmissionContext,
    settings: RolloutSettings,
    revision: str,
) -> PreparedPod:
    """Return the pod of an old revision of which the cluster shows none."""
    if settings.previous is not None:
        try:
            return prepare_revision(settings.previous, context, revision)
        except PlacementError:
            # Kubernetes would refuse it now; it is like those of the object as far as is known.
            pass
    return prepare_revision(workload, context, revision)


def _old_sizes(plan: RolloutPlan, settings: RolloutSettings) -> dict[str, int]:
    """Return how many pods each old revision has before the rollout begins, where that is not what there are.

    A Deployment is scaled before it is rolled out, unless a rollout is under way that is as large as it: see
    ``isScalingEvent`` and ``scale``, ``pkg/controller/deployment/sync.go``.
    """
    counts = Counter(pod.revision for pod in plan.pods)
    if not plan.pods:
        return {plan.old[0]: plan.replicas}
    if not _is_deployment(plan.workload):
        return {}
    stored = settings.known.sizes(plan.workload.namespace, plan.workload.name)
    sizes = {size.revision: size.replicas for size in stored if size.revision in plan.old}
    if len(counts) == 1 and plan.new not in counts:
        (revision,) = counts
        desired = next((size.desired for size in stored if size.revision == revision), None)
        if desired is None or desired != plan.replicas:
            sizes[revision] = plan.replicas
    return {revision: size for revision, size in sizes.items() if size != counts[revision]}


def _is_resized(workload: Workload, running: RunningPods, settings: RolloutSettings) -> bool:
    stored = settings.known.sizes(workload.namespace, workload.name)
    return len(running.revisions) > 1 and any(
        size.desired not in (None, workload.replicas) for size in stored
    )


def _scale(
    workload: Workload,
    context: AdmissionContext,
    settings: RolloutSettings,
    replicas: int,
) -> Rollout:
    """Scale a workload; the pods that there are, are all taken for pods of one ReplicaSet."""
    with context.reading():
        prepared = prepare(workload, context)
        running = find_running(prepared, settings.known)
        if running.revisions:
            prepared = prepare_revision(workload, context, running.revisions[0])
        new = _mark(prepared, running)
        # The pods of a StatefulSet that wait stay as they are.
        old = () if workload.kind.revision_label is not None else _oldest_first(prepared, running, new)
        requests, _ = _old_requests(prepared, context, settings, old)
        requests = {**requests, new: prepared.request}
        plan = _plan(prepared, running, requests, context, settings, new=new, old=old)
        pods = tuple(pod if pod.revision in old else replace(pod, revision=new) for pod in running.pods)
        plan = plan._replace(pods=pods, replicas=replicas, scaled=True)
    plan, placed = (plan, 0) if plan.pods else scaled_first(plan, new, workload.replicas or 0)
    return Rollout(
        prepared=prepared,
        replicas=replicas,
        scaled=True,
        running=running.bound,
        waited_for=tuple(pod.name for pod in running.pods if pod.node is None),
        placed=placed,
        known=_is_known(running),
        now=plan.now,
        seed=settings.seed,
        courses=take_courses(plan, settings.choose),
    )


def is_rolled_out(workload: Workload) -> bool:
    """Return whether the workload is of a kind whose rollout can be simulated."""
    return _is_one_of(workload, _ROLLED_OUT)


def _is_one_of(workload: Workload, kinds: tuple[str, ...]) -> bool:
    return workload.kind.kind in kinds and workload.kind.group in _GROUPS


def _read(
    obj: Mapping[str, Any], context: AdmissionContext, namespace: str, kinds: tuple[str, ...]
) -> Workload:
    workload = read_workload(obj, context, namespace=namespace)
    if not _is_one_of(workload, kinds):
        raise PlacementError((unsupported_value(_KIND, workload.kind.name, kinds, NOT_ROLLED_OUT),))
    return workload


def _check_replicas(replicas: int | None, most: int) -> None:
    if replicas is None or not 0 <= replicas <= most:
        text = f"must be from 0 to {most:,} for a rollout or a scale"
        raise PlacementError((invalid_value(_REPLICAS, replicas, text, NOT_ROLLED_OUT),))


def _check_strategy(workload: Workload) -> None:
    strategy = member(member(workload.obj, "spec"), "strategy")
    if not _is_deployment(workload) or strategy.get("type") == "Recreate":
        return
    update = rolling_update(workload, workload.replicas or 0)
    if update is None or min(update) < 0:
        text = "must be Recreate, or RollingUpdate with numbers or percentages that are not negative"
        raise PlacementError((invalid_value(_STRATEGY, strategy, text, NOT_ROLLED_OUT),))
    # ValidateRollingUpdateDeployment, apis/apps/validation, Kubernetes 1.36.
    limits = member(strategy, "rollingUpdate")
    if all(limits.get(name) in ZERO_PODS for name in ("maxSurge", "maxUnavailable")):
        text = "may not be 0 when maxSurge is 0"
        path = _STRATEGY.child("rollingUpdate", "maxUnavailable")
        raise PlacementError((invalid_value(path, limits["maxUnavailable"], text, NOT_ROLLED_OUT),))


def _is_deployment(workload: Workload) -> bool:
    return workload.kind.kind == _DEPLOYMENT


def _mark(prepared: PreparedPod, running: RunningPods) -> str:
    """Return the value of the label that marks the revision of the pod that is created."""
    return "" if running.label is None else prepared.pod.template.labels.get(running.label, "")


def _oldest_first(prepared: PreparedPod, running: RunningPods, new: str) -> tuple[str, ...]:
    """Return the old revisions that run, by the age of their ReplicaSets where the cluster has these."""
    workload = prepared.workload
    stored = prepared.cluster.snapshot.revisions(workload.kind.name, workload.namespace, workload.name)
    created = {revision.hash: revision.created for revision in stored}
    old = (revision for revision in running.revisions if revision != new)
    return tuple(sorted(old, key=lambda revision: (created.get(revision, ""), revision)))


def _is_known(running: RunningPods) -> bool:
    return all(pod.facts is not None for pod in running.pods)


def _now(running: RunningPods, settings: RolloutSettings) -> float:
    """Return the time: that of the snapshot, and not before the times of its pods."""
    return max(settings.known.now, latest([pod.facts for pod in running.pods if pod.facts is not None]))

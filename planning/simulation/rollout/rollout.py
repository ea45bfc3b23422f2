"""How a new revision of a workload is rolled out, or how a workload is scaled, in a cluster as it is now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from planning.simulation.cluster_simulation import QueuedPod
from planning.simulation.rollout.courses import Course, Courses, RolloutEnd
from planning.simulation.rollout.rollout_plan import take_courses
from planning.simulation.rollout.rollout_start import RolloutSettings, find_start
from planning.simulation.rollout.running_pods import (
    RunningPods,
)
from planning.simulation.rollout.stateful_set_controller import StatefulUpdate, stateful_update
from policies.config.context import AdmissionContext
from policies.manifests.fields import (
    FieldPath,
    invalid_value,
    member,
    unsupported_value,
)
from policies.model.scaling import ZERO_PODS, RollingUpdate, rolling_update
from policies.model.workload import Workload
from policies.pods.placement import (
    Placement,
    PlacementError,
    PreparedPod,
    evaluate_pod,
    read_workload,
)
from policies.scheduler.binding import SchedulingAttempt

if TYPE_CHECKING:
    from planning.simulation.autoscaled import Autoscaled
    from planning.simulation.autoscaling import Autoscaling

#: The rule that an object breaks which cannot be rolled out or scaled.
NOT_ROLLED_OUT: Final = "not-rolled-out"

#: How often a rollout is simulated again with further nodes.
MOST_AGAIN: Final = 5
#: What differs from a cluster in which nodes come.
_FROM_THE_BEGINNING: Final = "nodes that come while a rollout is under way: they are there from its beginning"

_KIND, _REPLICAS = FieldPath(("kind",)), FieldPath(("spec", "replicas"))
_STRATEGY = FieldPath(("spec", "strategy"))
_DEPLOYMENT: Final = "Deployment"
_ROLLED_OUT: Final = (_DEPLOYMENT, "StatefulSet")
_SCALED: Final = (*_ROLLED_OUT, "ReplicaSet", "ReplicationController")
_GROUPS: Final = frozenset({"", "apps"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A rollout, or a scale, of a workload."""

    prepared: PreparedPod  #: The workload, and the pod that is created.
    replicas: int  #: How many pods there are to be.
    scaled: bool  #: Whether the number of pods is changed, and nothing else.
    running: int  #: How many pods of the workload run in the cluster.
    #: The names of its pods that have no node there, as far as is known, oldest first.
    waited_for: tuple[str, ...] = ()
    #: How many pods were placed, and how many deleted, before the course begins: the old revision has as many
    #: as the workload wants then.
    placed: int = 0
    known: bool = True  #: Whether states and ages of its pods are known, and with them those without a node.
    #: Whether the template of an old revision is not known and taken to be that of the object.
    assumed: bool = False
    #: Whether the number of replicas changes while a rollout is under way: that its ReplicaSets are scaled in
    #: proportion first is not simulated.
    resized: bool = False
    now: float = 0.0  #: When it was, in seconds since 1970; 0 if unknown.
    in_progress: int = 0  #: How many of the pods that run are of the new revision already.
    #: Whether the template is the one that runs, so that it is rolled out as by a restart.
    restarted: bool = False
    #: The limits of a Deployment's rolling update; None for other kinds and Recreate.
    update: RollingUpdate | None = None
    stateful: StatefulUpdate | None = None  #: How a StatefulSet replaces its pods; None for other kinds.
    seed: int | None = None  #: What the likely course's choices were made of; None for the first by name.
    courses: Courses  #: How it can go.

    @property
    def stuck(self) -> Placement:
        """Where a new pod could go when nothing goes on."""
        return evaluate_pod(self.prepared, self.courses.worst.cluster)

    @property
    def outcome(self) -> RolloutEnd:
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
        """The most pods that stay pending in any course, with those that were evicted."""
        return max(len(course.waiting) for course in self.ends) + self.evicted_pending

    @property
    def kept(self) -> int:
        """How many old pods stay until someone deletes them (``OnDelete``)."""
        return self.courses.likely.old if self.outcome is RolloutEnd.WAITS_FOR_DELETION else 0

    @property
    def succeeds(self) -> bool:
        """Whether no pod stays pending, and none waits for someone to delete it."""
        return not self.pending and not self.kept

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


def simulate_rollout(
    obj: Mapping[str, Any],
    context: AdmissionContext,
    settings: RolloutSettings,
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
    scaled = settings.scales
    workload = _read(obj, context, namespace, _SCALED if scaled else _ROLLED_OUT)
    replicas = workload.replicas or 0
    for number in (workload.replicas, settings.scale or 0):
        _check_replicas(number, settings.most)
    if not scaled:
        _check_strategy(workload)
    start = find_start(workload, context, settings)
    plan, pods = start.plan, start.running.pods
    return Rollout(
        prepared=start.prepared,
        replicas=plan.replicas,
        scaled=scaled,
        running=start.running.bound,
        waited_for=tuple(pod.name for pod in pods if pod.node is None),
        placed=start.placed,
        known=all(pod.facts is not None for pod in pods),
        assumed=start.assumed and not scaled,
        resized=not scaled and _is_resized(workload, start.running, settings),
        now=plan.now,
        in_progress=0 if scaled else sum(pod.revision == plan.new and pod.node is not None for pod in pods),
        restarted=start.restarted,
        update=None if scaled else rolling_update(workload, replicas),
        stateful=None if scaled or _is_deployment(workload) else stateful_update(workload, replicas),
        seed=settings.seed,
        courses=take_courses(plan, settings.choose, search=settings.search),
    )


def with_nodes(rollout: Rollout, play: Callable[[], Rollout], scaling: Autoscaling) -> Rollout:
    """Add nodes for the pods that a rollout leaves pending where it ends worst.

    The nodes are there from its beginning when it is simulated again, and its pending pods are taken to be of
    the new revision. Real nodes come while it is under way.

    Args:
        rollout: The rollout without them.
        play: Simulates it in the cluster as it is then.
        scaling: Adds nodes to the cluster before it.

    Returns:
        The rollout with the nodes.
    """
    for tries in range(MOST_AGAIN + 1):
        course = next((course for course in reversed(rollout.ends) if course.pending), None)
        if course is None:
            break
        before = scaling.scaled
        if before is not None and tries == MOST_AGAIN:
            scaling.scaled = replace(before, complete=False)
            break
        scaled = _add(course, rollout, scaling)
        # The pods are those of the repeat before.
        scaling.scaled = scaled if before is None else replace(before.then(scaled), unhelped=scaled.unhelped)
        if not scaled.nodes:
            break
        rollout = play()
    if scaling.scaled is not None and scaling.scaled.nodes:
        not_modeled = (*scaling.scaled.not_modeled, _FROM_THE_BEGINNING)
        scaling.scaled = replace(scaling.scaled, not_modeled=not_modeled)
    return rollout


def _add(course: Course, rollout: Rollout, scaling: Autoscaling) -> Autoscaled:
    """Give a cluster the nodes that are added at the end of a course; return them."""
    request, workload = rollout.prepared.request, rollout.prepared.workload
    queue = [QueuedPod(name, request, workload.title) for name in course.pending]
    pending = [
        SchedulingAttempt(namespace=workload.namespace, name=pod.name, message=course.message)
        for pod in queue
    ]
    return scaling.add_nodes_of(course.cluster, queue, pending)


def _is_resized(workload: Workload, running: RunningPods, settings: RolloutSettings) -> bool:
    stored = settings.known.sizes(workload.namespace, workload.name)
    return len(running.revisions) > 1 and any(
        size.desired not in (None, workload.replicas) for size in stored
    )


def is_rolled_out(workload: Workload) -> bool:
    """Return whether the workload is of a kind whose rollout can be simulated."""
    return _is_one_of(workload, _ROLLED_OUT)


def is_scaled(workload: Workload) -> bool:
    """Return whether the workload is of a kind of which it can be simulated how it is scaled."""
    return _is_one_of(workload, _SCALED)


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

"""The start of a rollout or a scale: the pods that run, what those of old revisions are like, and how many.

The old revision has as many pods as the workload wants before a rollout begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from planning.simulation.limits import MOST_ROLLED_OUT
from planning.simulation.pod_facts import PodFacts
from planning.simulation.rollout.rollout_plan import RolloutPlan, scaled_first
from planning.simulation.rollout.running_pods import (
    PREVIOUS,
    RunningPods,
    find_running,
    prepare_revision,
    prepare_sample,
)
from planning.simulation.rollout.victims import latest
from policies.config.context import AdmissionContext
from policies.model.workload import Workload
from policies.pods.known_pods import KnownPods
from policies.pods.placement import PlacementError, PreparedPod, prepare
from policies.scheduler.binding import TieBreaker, first_by_name
from policies.scheduler.request import SchedulingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSettings:
    """How an object is rolled out."""

    known: KnownPods  #: What is known of pods of the cluster.
    #: The number of replicas that the workload is scaled to, and nothing else; None for a rollout.
    scale: int | None = None
    #: What is known of pods of other workloads, which may be evicted; None for what ``known`` has.
    others: PodFacts | None = None
    #: The workload as it was, of whose template the old pods are where the cluster shows none; None if that
    #: is not known.
    previous: Workload | None = None
    without: frozenset[str] = frozenset()  #: The names of pods that are taken to be deleted first.
    #: Whether the rollout goes on from where it stood, so that old revisions have the pods that they have.
    under_way: bool = False
    choose: TieBreaker = first_by_name  #: Makes the choices of the likely course.
    seed: int | None = None  #: What it was made of; None for the first by name.
    most: int = MOST_ROLLED_OUT  #: The most replicas.
    search: bool = True  #: Whether other courses than the likely one are taken.

    @property
    def scales(self) -> bool:
        """Whether the number of pods is changed, and nothing else."""
        return self.scale is not None


class RolloutStart(NamedTuple):
    """The state from which a workload is rolled out or scaled."""

    prepared: PreparedPod  #: The workload, and the pod that is created.
    running: RunningPods  #: Its pods that run, or wait.
    restarted: bool  #: Whether the template is the one that runs, so that it is rolled out as by a restart.
    assumed: bool  #: Whether the template of an old revision is not known and taken to be that of the object.
    plan: RolloutPlan  #: The state to reach, from what runs once the old revision has its pods.
    placed: int  #: How many pods were placed or deleted for that.


def find_start(workload: Workload, context: AdmissionContext, settings: RolloutSettings) -> RolloutStart:
    """Return where the rollout or the scale of a workload starts.

    Raises:
        PlacementError: Kubernetes would refuse the object or its pods; holds every error.
    """
    with context.reading():
        prepared = prepare(workload, context)
        running = find_running(prepared, settings.known, settings.without)
        marked = None if prepared.revision is None else prepared.revision.hash
        restarted = not settings.scales and running.revisions == [marked]
        if restarted or (settings.scales and running.revisions):
            revision = None if restarted else running.revisions[0]
            prepared = prepare_revision(workload, context, revision)
        plan, assumed = _plan(prepared, running, context, settings)
    plan, placed = _with_old_pods(plan, settings)
    return RolloutStart(prepared, running, restarted, assumed, plan, placed)


def _plan(
    prepared: PreparedPod, running: RunningPods, context: AdmissionContext, settings: RolloutSettings
) -> tuple[RolloutPlan, bool]:
    """Return the plan from the pods that run, and whether the template of an old revision is assumed.

    Where a workload is scaled, the pods that there are, are all taken for pods of one ReplicaSet; those of a
    StatefulSet that wait stay as they are.
    """
    workload, pods = prepared.workload, running.pods
    new = "" if running.label is None else prepared.pod.template.labels.get(running.label, "")
    old = _oldest_first(prepared, running, new)
    if settings.scales:
        old = old if workload.kind.revision_label is None else ()
        pods = tuple(pod if pod.revision in old else replace(pod, revision=new) for pod in pods)
    elif not old:
        old = (PREVIOUS,)
    requests, assumed = _old_requests(prepared, context, settings, old)
    cluster = prepared.cluster.fork(workload.namespace)
    plan = RolloutPlan(
        workload=workload,
        cluster=cluster,
        pods=pods,
        requests={**requests, new: prepared.request},
        new=new,
        old=old,
        replicas=workload.replicas or 0 if settings.scale is None else settings.scale,
        scaled=settings.scales,
        # That of the snapshot, and not before the times of its pods.
        now=max(settings.known.now, latest([pod.facts for pod in pods if pod.facts is not None])),
        facts=settings.others or PodFacts(cluster, (), settings.known.running),
        context=context,
        made={},
    )
    return plan, assumed


def _with_old_pods(plan: RolloutPlan, settings: RolloutSettings) -> tuple[RolloutPlan, int]:
    """Return the plan with the pods that there are before it begins, and how many were placed or deleted."""
    if plan.scaled:
        sizes = {} if plan.pods else {plan.new: plan.workload.replicas or 0}
    else:
        sizes = _old_sizes(plan, settings)
    placed = 0
    for revision, size in sizes.items():
        plan, changed = scaled_first(plan, revision, size)
        placed += changed
    return plan, placed


def _old_requests(
    prepared: PreparedPod, context: AdmissionContext, settings: RolloutSettings, old: Sequence[str]
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
    if settings.under_way:
        return {}
    if not plan.pods:
        return {plan.old[0]: plan.replicas}
    if plan.workload.kind.kind != "Deployment":
        return {}
    stored = settings.known.sizes(plan.workload.namespace, plan.workload.name)
    sizes = {size.revision: size.replicas for size in stored if size.revision in plan.old}
    if len(counts) == 1 and plan.new not in counts:
        (revision,) = counts
        desired = next((size.desired for size in stored if size.revision == revision), None)
        if desired is None or desired != plan.replicas:
            sizes[revision] = plan.replicas
    return {revision: size for revision, size in sizes.items() if size != counts[revision]}


def _oldest_first(prepared: PreparedPod, running: RunningPods, new: str) -> tuple[str, ...]:
    """Return the old revisions that run, by the age of their ReplicaSets where the cluster has these."""
    workload = prepared.workload
    stored = prepared.cluster.snapshot.revisions(workload.kind.name, workload.namespace, workload.name)
    created = {revision.hash: revision.created for revision in stored}
    old = (revision for revision in running.revisions if revision != new)
    return tuple(sorted(old, key=lambda revision: (created.get(revision, ""), revision)))

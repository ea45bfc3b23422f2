"""What comes of a change of manifests: workloads removed first, then changed, then added, as one scenario.

All of them share the room of one copy of the cluster, each beside those that were applied before it. Builds
of one object that differ, such as overlays for several environments, come last, each on a copy of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Annotated, Any, Final

from planning.plan.constraint_changes import ConstraintChange, constraint_changes, in_force
from planning.plan.plan_differences import (
    NO_SOURCE,
    BuiltWorkload,
    PlanAction,
    Source,
    WorkloadPair,
    as_text,
    pair_workloads,
)
from planning.simulation.cluster_simulation import ClusterSimulation, never
from planning.simulation.events import Event, TargetWorkload
from planning.simulation.judge import rank
from planning.simulation.judge_all import judge_all
from planning.simulation.node_source import NodeSource
from planning.simulation.object_changes import ref_of, shown_ref
from planning.simulation.object_differences import Difference, differences, replaces
from planning.simulation.outcome import Outcome, Verdict, WorkloadOutcome
from planning.simulation.play import Stage, play_stages
from planning.simulation.scenario import ClusterState, Scenario
from policies.config.context import AdmissionContext
from policies.manifests.fields import FieldError, text_member
from policies.manifests.wire import INLINE, INTERNAL, Count
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.replica_sources import is_autoscaler
from policies.model.snapshot import kind_of
from policies.model.workload import Workload
from policies.model.workload_ref import WorkloadRef, with_namespace
from policies.pods.known_pods import UNREAD_PODS
from policies.pods.placement import PlacementError, PreparedPod, prepare
from policies.scheduler.index import ClusterIndex

#: Changes of one plan of which all ways are played; each may take half a second.
MOST_SEARCHED: Final = 50
#: The order in which workloads are applied.
_ORDER: Final = {action: position for position, action in enumerate(PlanAction)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSet:
    """A set of manifests, and what decides about it."""

    workloads: Sequence[Workload]  #: Its workloads, each with a namespace.
    sources: Sequence[Source] = ()  #: What each is built from; empty for those of a cluster.
    along: Sequence[Mapping[str, Any]] = ()  #: Its Services, Namespaces and autoscalers of pods.
    #: Policies, the scheduler's configuration and the release; a cluster of it is not looked at.
    context: AdmissionContext

    @property
    def built(self) -> list[BuiltWorkload]:
        """The workloads, each with what it is built from."""
        return list(zip(self.workloads, chain(self.sources, repeat(NO_SOURCE)), strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """A workload that something is done to."""

    ref: Annotated[WorkloadRef, INLINE]  #: Which it is; what becomes of it is in the outcome.
    action: PlanAction  #: What is done.
    differences: tuple[Difference, ...] = ()  #: What differs; empty for one that is added or removed.
    policy: str | None = None  #: The SpreadPolicy that gives its constraints; null if none does.
    constraints: tuple[ConstraintChange, ...] = ()  #: Which constraints are new, changed or gone.
    #: Why Kubernetes refuses the workload or its pods; nothing was placed then.
    errors: tuple[FieldError, ...] = ()
    #: The files that it is built from, such as the kustomizations of overlays that come to the same; empty
    #: for the cluster's own.
    builds: tuple[str, ...] = ()
    #: Where other builds describe the object otherwise: the position of its outcome among the outcomes; each
    #: is played without the others.
    alternative: Count | None = None
    found: Annotated[WorkloadOutcome | None, INTERNAL] = None  #: What becomes of it; None if not applied.
    pair: Annotated[WorkloadPair, INTERNAL]  #: The workload as it was and as it will be.


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPlan:
    """What comes of a change of manifests."""

    #: What is done, in order.
    changes: tuple[PlannedChange, ...]
    outcome: Outcome  #: What comes of it; the builds of which a cluster has one are its outcomes.
    unchanged: int  #: How many other workloads there are.
    #: Whether the cluster has no pods, so that those of the first set were placed there first.
    assumed: bool = False

    def count(self, action: PlanAction) -> int:
        """Return to how many workloads something is done."""
        return sum(change.action is action for change in self.changes)

    @property
    def stopped(self) -> tuple[WorkloadRef, ...]:
        """Workloads that were not applied, because the work was ended."""
        return tuple(change.ref for change in self.changes if change.found is None)

    @property
    def unplanned(self) -> tuple[WorkloadRef, ...]:
        """Workloads that something is done to of which it was not tried, or not to the end."""
        untried = (change.ref for change in self.changes if change.found and change.found.not_tried)
        return (*self.stopped, *untried)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the outcome, or of the way that ends worse."""
        branches = (each.branches for each in (self.outcome, *self.outcome.outcomes))
        return min((self.outcome.verdict, *(each.worst for each in branches if each is not None)), key=rank)


def make_plan(
    before: ManifestSet,
    after: ManifestSet,
    cluster: ClusterState,
    *,
    nodes_from: NodeSource | None = None,
    progress: Callable[[float], None] = lambda _share: None,
    stop: Callable[[], bool] = never,
) -> ManifestPlan:
    """Return the plan for a cluster where one set of manifests is applied in place of another.

    Args:
        before: What was applied.
        after: What is to be applied.
        cluster: The cluster as it is, which stays as it is; the sets say what decides about pods.
        nodes_from: What adds nodes for pods that would stay pending; None for nothing.
        progress: Called with the share of the work that is done.
        stop: Whether to end with what is done; called before each pod.
    """
    pairs = pair_workloads(before.built, after.built)
    index = cluster.context.cluster or ClusterIndex()
    old, new = (ClusterSimulation.of(index).cluster for _ in range(2))
    _apply_along(old, (), before.along)
    _apply_along(new, (), before.along)
    _apply_along(new, before.along, after.along)
    sources = cluster.context.replica_sources
    was = replace(before.context, cluster=old, replica_sources=sources)
    scaled = [*sources.autoscalers, *filter(is_autoscaler, after.along)]
    becomes = replace(after.context, cluster=new, replica_sources=replace(sources, autoscalers=scaled))
    changes = _changes(pairs, was, becomes)
    together = [change for change in changes if change.alternative is None]
    apart = changes[len(together) :]
    has_pods = index.pod_count or cluster.known.running.waiting()
    assumed = not has_pods and any(pair.before for pair in pairs)
    state = replace(cluster, context=becomes, before=was, known=UNREAD_PODS if assumed else cluster.known)
    work = Scenario(
        cluster=state, nodes_from=nodes_from, searches=MOST_SEARCHED, stop=stop, progress=progress
    )

    def stage(changed: Sequence[PlannedChange], there: Iterable[WorkloadPair]) -> Stage:
        olds = [pair.before for pair in there if pair.before is not None]
        if assumed:
            first = replace(
                work,
                cluster=replace(state, context=replace(was, cluster=new), before=None),
                events=tuple(map(_apply, olds)),
                searches=0,
                nodes_from=None,
            )
            return Stage(replace(work, events=_events(changed)), first)
        applied = {ref_of(workload): workload for workload in olds}
        return Stage(replace(work, cluster=replace(state, applied=applied), events=_events(changed)))

    common = stage(together, (pair for pair in pairs if not pair.alternative))
    others = (stage([change], [change.pair]) for change in apart if not stop())
    outcome, *outcomes = play_stages(common, others)
    found = {_key(each.ref): each for each in outcome.workloads}
    planned = [replace(change, found=found.get(_key(change.ref))) for change in together]
    builds = [_of_build(part, outcome, change) for part, change in zip(outcomes, apart, strict=False)]
    for change, part in zip(apart, builds, strict=False):
        own = next((each for each in part.workloads if _key(each.ref) == _key(change.ref)), None)
        planned.append(replace(change, found=own))
    planned += apart[len(builds) :]
    return ManifestPlan(
        changes=tuple(planned),
        outcome=_with_builds(outcome, builds, complete=len(builds) == len(apart)),
        unchanged=len(pairs) - len(changes),
        assumed=assumed,
    )


def _of_build(part: Outcome, common: Outcome, change: PlannedChange) -> Outcome:
    """Return the outcome of a build without workloads that are as they were before it."""
    as_before = {_key(each.ref): (each.after, each.pending) for each in common.workloads}
    workloads = tuple(
        each
        for each in part.workloads
        if _key(each.ref) == _key(change.ref)
        or each.evicted
        or as_before.get(_key(each.ref)) != (each.after, each.pending)
    )
    verdict = judge_all(workloads) if part.complete else part.verdict
    return replace(part, workloads=workloads, verdict=verdict, final=None)


def _with_builds(outcome: Outcome, builds: Sequence[Outcome], *, complete: bool) -> Outcome:
    """Return an outcome with those of builds that go on from it; its verdict is about all of them."""
    parts = (outcome, *builds)
    judged = judge_all([each for part in parts for each in part.workloads])
    return replace(
        outcome,
        complete=complete and all(part.complete for part in parts),
        verdict=min((judged, *(part.verdict for part in parts)), key=rank),
        outcomes=tuple(builds),
    )


def _key(ref: WorkloadRef) -> WorkloadRef:
    return ref._replace(kind=ref.kind.partition(".")[0])


def _events(changes: Iterable[PlannedChange]) -> tuple[Event, ...]:
    return tuple(
        Event(remove=TargetWorkload(**_key(change.ref)._asdict()))
        if change.pair.after is None
        else _apply(change.pair.after)
        for change in changes
    )


def _apply(workload: Workload) -> Event:
    return Event(apply=dict(with_namespace(workload.obj, workload.namespace)))


def _prepare(
    workload: Workload | None, context: AdmissionContext
) -> tuple[PreparedPod | None, tuple[FieldError, ...]]:
    """Return the next pod of a workload, or why Kubernetes refuses it."""
    if workload is None:
        return None, ()
    try:
        return prepare(workload, context), ()
    except PlacementError as error:
        return None, error.errors


def _applied(pair: WorkloadPair) -> Workload | None:
    """Return a workload of the new set as the API server takes it: of a stored one, as an update.

    Policies change what is created alone; what they injected then stays when a manifest is applied.
    """
    before, after = pair.before, pair.after
    if after is None or before is None or not before.stored or INJECTED_ANNOTATION in before.annotations:
        return after
    return replace(after, stored=True)


def _apply_along(
    fork: ClusterIndex, old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]
) -> None:
    """Put the Services and Namespaces of one set in the place of another's; broken ones are left out."""
    for obj in old:
        metadata = obj.get("metadata")
        if kind_of(obj) == ("v1", "Service"):
            fork.remove("v1", "Service", text_member(metadata, "namespace"), text_member(metadata, "name"))
    for obj in new:
        fork.apply(obj)


def _changes(
    pairs: Iterable[WorkloadPair], was: AdmissionContext, becomes: AdmissionContext
) -> list[PlannedChange]:
    """Return the changes in the order in which they are applied; builds that differ come last."""
    found = (_change(pair, was, becomes) for pair in pairs)
    changes = sorted(
        (change for change in found if change is not None),
        key=lambda change: (change.pair.alternative, _ORDER[change.action]),
    )
    together = sum(not change.pair.alternative for change in changes)
    return [
        replace(change, alternative=number - together) if number >= together else change
        for number, change in enumerate(changes)
    ]


def _change(pair: WorkloadPair, was: AdmissionContext, becomes: AdmissionContext) -> PlannedChange | None:
    """Return the change of a workload; None for one that stays as it is."""
    before, _ = _prepare(pair.before, was)
    after, errors = _prepare(_applied(pair), becomes)
    found: tuple[Difference, ...] = ()
    if pair.before is not None and pair.after is not None:
        found = differences(pair.before, pair.after)
        if before and after and in_force(before) != in_force(after):
            found += (Difference.CONSTRAINTS,)
        if not found:
            return None
        action = PlanAction.REPLACE if replaces(pair.after, found) else PlanAction.CHANGE
    else:
        action = PlanAction.REMOVE if pair.after is None else PlanAction.ADD
    prepared = after or before
    return PlannedChange(
        ref=shown_ref(ref_of(pair.any), pair.any),
        action=action,
        differences=found,
        policy=None if prepared is None else prepared.policy,
        constraints=constraint_changes(before, after),
        errors=errors,
        builds=pair.builds,
        pair=pair,
    )


@dataclass(frozen=True, slots=True)
class UnfinishedWorkload:
    """A workload that cannot be placed before another tool has filled in placeholders."""

    key: WorkloadRef  #: Which it is.
    changed: bool  #: Whether it was not so before, so that something of the change is not planned.


def unfinished_workloads(before: Iterable[Workload], after: Iterable[Workload]) -> list[UnfinishedWorkload]:
    """Return the workloads of both sets that are not complete, those that changed first."""
    old, new = (
        {(WorkloadRef.of(workload), as_text(workload)) for workload in workloads}
        for workloads in (before, after)
    )
    changed = {key for key, _ in old ^ new}
    keys = sorted({key for key, _ in old | new}, key=lambda key: (key not in changed, key))
    return [UnfinishedWorkload(key, key in changed) for key in keys]

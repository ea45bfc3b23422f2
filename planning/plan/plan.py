"""The effect of a change of manifests on where pods go: workloads removed first, then changed, then added.

All of them share the room of one copy of the cluster, each beside those that were applied before it. Builds
of one object that differ, such as overlays for several environments, come last, each on a copy of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, repeat
from typing import Any, Final

from planning.plan.placement_plan import PlacementPlan, PlannedWorkload, PodChange
from planning.plan.plan_differences import (
    NO_SOURCE,
    BuiltWorkload,
    PlanAction,
    Source,
    WorkloadPair,
    as_text,
    pair_workloads,
)
from planning.plan.plan_domains import (
    PlannedDomains,
    in_force,
    planned_domains,
    with_end,
)
from planning.plan.plan_pods import PodChanger
from planning.simulation.cluster_simulation import ClusterSimulation, never
from planning.simulation.node_source import NodeSource
from planning.simulation.object_differences import Difference, differences, replaces
from policies.config.context import AdmissionContext
from policies.manifests.fields import FieldError, text_member
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.snapshot import kind_of
from policies.model.workload import Workload
from policies.model.workload_ref import WorkloadRef
from policies.pods.known_pods import KnownPods
from policies.pods.placement import PlacementError, PreparedPod, prepare
from policies.scheduler.index import ClusterIndex

#: The order in which workloads are applied.
_ORDER: Final = {action: position for position, action in enumerate(PlanAction)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSet:
    """A set of manifests, and what decides about it."""

    workloads: Sequence[Workload]  #: Its workloads, each with a namespace.
    sources: Sequence[Source] = ()  #: What each is built from; empty for those of a cluster.
    along: Sequence[Mapping[str, Any]] = ()  #: Its Services and Namespaces.
    #: Policies, the scheduler's configuration and the release; a cluster of it is not looked at.
    context: AdmissionContext

    @property
    def built(self) -> list[BuiltWorkload]:
        """The workloads, each with what it is built from."""
        return list(zip(self.workloads, chain(self.sources, repeat(NO_SOURCE)), strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A workload that something is done to, before it is done."""

    pair: WorkloadPair
    action: PlanAction
    differences: tuple[Difference, ...]
    before: PreparedPod | None
    after: PreparedPod | None
    errors: tuple[FieldError, ...]


def make_plan(
    before: ManifestSet,
    after: ManifestSet,
    cluster: ClusterIndex,
    *,
    known: KnownPods,
    autoscaler: NodeSource | None = None,
    progress: Callable[[float], None] = lambda _share: None,
    stop: Callable[[], bool] = never,
) -> PlacementPlan:
    """Return the plan for a cluster where one set of manifests is applied in place of another.

    Args:
        before: What was applied.
        after: What is to be applied.
        cluster: The cluster as it is, which stays as it is.
        known: What is known of its pods besides.
        autoscaler: What adds nodes for pods that would stay pending; None for nothing.
        progress: Called with the share of the work that is done.
        stop: Whether to end with what is done; called before each pod.
    """
    pairs = pair_workloads(before.built, after.built)
    simulation = ClusterSimulation.of(cluster, stop=stop)
    fork = simulation.cluster
    _apply_along(fork, (), before.along)
    old = [_prepare(pair.before, before.context, fork) for pair in pairs]
    assumed = not cluster.pod_count and any(pair.before for pair in pairs)
    changer = PodChanger(simulation, after.context, known=known, autoscaler=autoscaler)
    if assumed:
        _assume(pairs, old, changer.unlimited())
    _apply_along(fork, before.along, after.along)
    changes = _changes(pairs, old, after.context, fork)
    together = [change for change in changes if not change.pair.alternative]
    now = [planned_domains(change.before, change.after, simulation) for change in together]
    pods: list[PodChange] = []
    for change in together:
        if stop():
            break
        pods.append(_apply(change, changer))
        progress(len(pods) / len(changes))
    pods = list(map(changer.latest, pods))
    done = (planned_domains(change.before, change.after, simulation) for change in together[: len(pods)])
    planned = list(map(_planned, together, pods, map(with_end, now, done)))
    for change in changes[len(together) :]:
        if stop():
            break
        planned.append(_alone(change, simulation.fork(), changer, assumed=assumed))
        progress(len(planned) / len(changes))
    return PlacementPlan(
        workloads=tuple(planned),
        unchanged=len(pairs) - len(changes),
        stopped=tuple(change.pair.key for change in changes[len(planned) :]),
        assumed=assumed,
        autoscaler=None if autoscaler is None else autoscaler.name,
    )


def _alone(
    change: _Change, simulation: ClusterSimulation, changer: PodChanger, *, assumed: bool
) -> PlannedWorkload:
    """Plan one of several builds of an object, in a cluster that has none of the others."""
    changer = changer.on(simulation)
    if assumed and change.before is not None:
        changer.assume(change.before)
    now = planned_domains(change.before, change.after, simulation)
    pods = _apply(change, changer)
    return _planned(change, pods, with_end(now, planned_domains(change.before, change.after, simulation)))


_Prepared = tuple[PreparedPod | None, tuple[FieldError, ...]]


def _prepare(workload: Workload | None, context: AdmissionContext, fork: ClusterIndex) -> _Prepared:
    """Return the next pod of a workload, or why Kubernetes refuses it."""
    if workload is None:
        return None, ()
    try:
        return prepare(workload, replace(context, cluster=fork)), ()
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


def _assume(pairs: list[WorkloadPair], old: list[_Prepared], placing: PodChanger) -> None:
    """Place the pods of what was applied, in a cluster without pods."""
    for pair, (prepared, _) in zip(pairs, old, strict=True):
        if prepared is not None and not pair.alternative:
            placing.assume(prepared)


def _changes(
    pairs: list[WorkloadPair], old: list[_Prepared], context: AdmissionContext, fork: ClusterIndex
) -> list[_Change]:
    """Return the changes in the order in which they are applied."""
    changes = [
        change
        for pair, was in zip(pairs, old, strict=True)
        if (change := _change(pair, was, _prepare(_applied(pair), context, fork)))
    ]
    return sorted(changes, key=lambda change: (change.pair.alternative, _ORDER[change.action]))


def _change(pair: WorkloadPair, old: _Prepared, new: _Prepared) -> _Change | None:
    """Return the change of a workload; None for one that stays as it is."""
    before, (after, errors) = old[0], new
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
    return _Change(pair=pair, action=action, differences=found, before=before, after=after, errors=errors)


def _apply(change: _Change, changer: PodChanger) -> PodChange:
    """Do what is to be done to a workload."""
    before = change.pair.before
    if change.errors:
        # The API server refuses it, so what runs stays as it is.
        return PodChange(running=0 if before is None else changer.count(before), stay=True)
    return changer.apply(before, change.after, partial(_change_pods, change, changer))


def _change_pods(change: _Change, changer: PodChanger) -> PodChange:
    before, after = change.pair.before, change.after
    if after is None:
        return changer.remove(change.pair.any)
    if before is None:
        return changer.add(after)
    if change.action is PlanAction.REPLACE:
        return changer.remove(before).then(changer.add(after))
    template = Difference.TEMPLATE in change.differences
    return changer.change(before, after, template=template)


def _planned(change: _Change, pods: PodChange, domains: tuple[PlannedDomains, ...]) -> PlannedWorkload:
    prepared = change.after or change.before
    return PlannedWorkload(
        key=change.pair.key,
        action=change.action,
        differences=change.differences,
        policy=None if prepared is None else prepared.policy,
        pods=pods,
        domains=domains,
        errors=change.errors,
        unmodeled=() if prepared is None else prepared.request.pod.unmodeled,
        builds=change.pair.builds,
        alternative=change.pair.alternative,
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

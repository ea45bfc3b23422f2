"""What a change of manifests does to where pods go: removed workloads first, then changed, then added ones.

All of them share the room of one copy of the cluster, each beside those that were applied before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from policies.config.context import AdmissionContext
from policies.manifests.fields import FieldError, text_member
from policies.model.snapshot import kind_of
from policies.model.workload import DEFAULT_NAMESPACE, Workload
from policies.placement.courses import Outcome
from policies.placement.placement import PlacementError, PreparedPod, prepare
from policies.placement.plan_differences import (
    Difference,
    PlanAction,
    WorkloadKey,
    WorkloadPair,
    differences,
    pair_workloads,
    replaces,
)
from policies.placement.plan_domains import (
    CountedConstraint,
    PlannedDomains,
    count_constraints,
    in_force,
    planned_domains,
)
from policies.placement.plan_pods import PodChange, PodChanger
from policies.scheduler.binding import Step
from policies.scheduler.index import ClusterIndex

#: Objects besides workloads that decide where pods go, by apiVersion and kind.
APPLIED_ALONG: Final = frozenset({("v1", "Service"), ("v1", "Namespace")})
#: The order in which workloads are applied.
_ORDER: Final = {action: position for position, action in enumerate(PlanAction)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSet:
    """A set of manifests, and what decides about it.

    Attributes:
        workloads: Its workloads, each with a namespace.
        along: Its Services and Namespaces.
        context: Policies, the scheduler's configuration and the release; a cluster of it is not looked at.
    """

    workloads: Sequence[Workload]
    along: Sequence[Mapping[str, Any]] = ()
    context: AdmissionContext


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWorkload:
    """What becomes of one workload.

    Attributes:
        key: Which it is.
        action: What is done.
        differences: What differs.
        policy: The SpreadPolicy that gives its constraints; None if none does.
        pods: What becomes of its pods.
        domains: Of each constraint that is in force, or was.
        errors: Why Kubernetes refuses the workload or its pods; nothing was placed then.
        unmodeled: What else a scheduler looks at in its pods, as the API names it.
    """

    key: WorkloadKey
    action: PlanAction
    differences: tuple[Difference, ...] = ()
    policy: str | None = None
    pods: PodChange
    domains: tuple[PlannedDomains, ...] = ()
    errors: tuple[FieldError, ...] = ()
    unmodeled: tuple[str, ...] = ()

    @property
    def pending(self) -> tuple[Step, ...]:
        """The pods that stay pending."""
        return tuple(step for step in self.pods.steps if step.node is None)

    @property
    def fails(self) -> bool:
        """Whether pods stay pending, a rollout may not complete, or Kubernetes refuses the workload."""
        return bool(self.pending or self.errors or self.outcome is not Outcome.COMPLETE)

    @property
    def outcome(self) -> Outcome:
        """How the rollout ends where it ends worst; complete where there is none."""
        return Outcome.COMPLETE if self.pods.rollout is None else self.pods.rollout.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPlan:
    """What a change of manifests does.

    Attributes:
        workloads: Those that are removed, replaced, changed or added, in the order in which it is done.
        unchanged: How many others there are.
        repeated: Workloads that several objects of a set describe: which of them is meant is not known.
        stopped: Workloads that were not applied, because the work was ended.
        assumed: Whether the cluster has no pods, so that those of the first set were placed there first.
    """

    workloads: tuple[PlannedWorkload, ...]
    unchanged: int
    repeated: tuple[WorkloadKey, ...] = ()
    stopped: tuple[WorkloadKey, ...] = ()
    assumed: bool = False

    def count(self, action: PlanAction) -> int:
        """Return to how many workloads something is done."""
        return sum(workload.action is action for workload in self.workloads)

    @property
    def pending(self) -> int:
        """How many pods stay pending."""
        return sum(len(workload.pending) for workload in self.workloads)

    @property
    def deadlocks(self) -> int:
        """How many rollouts may deadlock."""
        return sum(workload.outcome is Outcome.DEADLOCK for workload in self.workloads)

    @property
    def fails(self) -> bool:
        """Whether a workload fails."""
        return any(workload.fails for workload in self.workloads)


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
    progress: Callable[[float], None] = lambda _share: None,
    stop: Callable[[], bool] = lambda: False,
) -> PlacementPlan:
    """Return what becomes of a cluster if one set of manifests is applied in place of another.

    Args:
        before: What was applied.
        after: What is to be applied.
        cluster: The cluster as it is, which stays as it is.
        progress: Called with the share of the work that is done.
        stop: Whether to end with what is done; asked before each pod.
    """
    pairs, repeated = pair_workloads(before.workloads, after.workloads)
    fork = cluster.fork("")
    _apply_along(fork, (), before.along)
    old = {pair.key: _prepare(pair.before, before.context, fork) for pair in pairs if pair.before}
    assumed = not cluster.pod_count and bool(old)
    if assumed:
        changer = PodChanger(fork, after.context, stop)
        for prepared, _ in old.values():
            if prepared is not None:
                changer.assume(prepared)
    _apply_along(fork, before.along, after.along)
    new = {pair.key: _prepare(pair.after, after.context, fork) for pair in pairs if pair.after}
    changes = [change for pair in pairs if (change := _change(pair, old, new))]
    changes.sort(key=lambda change: _ORDER[change.action])
    now = [count_constraints(change.before, change.after, fork) for change in changes]
    changer, pods = PodChanger(fork, after.context, stop), []
    for change in changes:
        if stop():
            break
        pods.append(_apply(change, changer))
        progress(len(pods) / len(changes))
    applied = changes[: len(pods)]
    done = [count_constraints(change.before, change.after, fork) for change in applied]
    return PlacementPlan(
        workloads=tuple(map(_planned, applied, pods, now, done)),
        unchanged=len(pairs) - len(changes),
        repeated=tuple(repeated),
        stopped=tuple(change.pair.key for change in changes[len(pods) :]),
        assumed=assumed,
    )


_Prepared = tuple[PreparedPod | None, tuple[FieldError, ...]]


def _prepare(workload: Workload, context: AdmissionContext, fork: ClusterIndex) -> _Prepared:
    """Return the next pod of a workload, or why Kubernetes refuses it."""
    try:
        return prepare(workload, replace(context, cluster=fork)), ()
    except PlacementError as error:
        return None, error.errors


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


def _change(
    pair: WorkloadPair,
    old: Mapping[WorkloadKey, _Prepared],
    new: Mapping[WorkloadKey, _Prepared],
) -> _Change | None:
    """Return what is done to a workload; None for one that stays as it is."""
    before, _ = old.get(pair.key, (None, ()))
    after, errors = new.get(pair.key, (None, ()))
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
    before, after = change.pair.before, change.after
    if change.errors:
        # The API server refuses it, so what runs stays as it is.
        return PodChange(running=0 if before is None else changer.count(before), stay=True)
    if after is None:
        return changer.remove(change.pair.any)
    if before is None:
        return changer.add(after)
    if change.action is PlanAction.REPLACE:
        return changer.remove(before).then(changer.add(after))
    template = Difference.TEMPLATE in change.differences
    return changer.change(before, after, template=template)


def _planned(
    change: _Change, pods: PodChange, now: list[CountedConstraint], done: list[CountedConstraint]
) -> PlannedWorkload:
    prepared = change.after or change.before
    return PlannedWorkload(
        key=change.pair.key,
        action=change.action,
        differences=change.differences,
        policy=None if prepared is None else prepared.policy,
        pods=pods,
        domains=planned_domains(now, done),
        errors=change.errors,
        unmodeled=() if prepared is None else prepared.request.pod.unmodeled,
    )


def with_namespace(obj: Mapping[str, Any], namespace: str) -> Mapping[str, Any]:
    """Return an object in a namespace if it names none itself."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("namespace"):
        return obj
    return {**obj, "metadata": {**metadata, "namespace": namespace or DEFAULT_NAMESPACE}}

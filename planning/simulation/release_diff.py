"""The changes that an upgrade of Kubernetes makes for a workload, and which change of it is responsible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, NamedTuple

from policies.config.context import AdmissionContext
from policies.manifests.wire import INTERNAL, Count, SentAs, sent
from policies.model.cluster_workloads import ClusterWorkload
from policies.model.version import KubernetesVersion
from policies.pods.placement import PlacementError, evaluate_workload
from policies.scheduler.release_changes import CHANGES, ReleaseChange
from policies.scheduler.request import AppliedConstraint


class DiffKind(StrEnum):
    """The kinds of difference for a workload, the gravest first."""

    #: The API server refuses the object or its pods in one release alone.
    VALIDITY = "validity"
    #: Other nodes are feasible for the next pod.
    NODES = "nodes"
    #: Other nodes are the best ones.
    BEST = "best"
    #: Only scores differ: the best nodes stay the best.
    SCORES = "scores"
    #: The constraints in force differ, though not on this cluster.
    CONSTRAINTS = "constraints"
    #: The scheduler's message differs.
    MESSAGE = "message"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOutcome:
    """The outcome for a workload in one release."""

    errors: tuple[str, ...] = ()  #: Why the API server refuses it; empty if it does not.
    constraints: Annotated[tuple[AppliedConstraint, ...], INTERNAL] = ()  #: Those in force.
    feasible: Annotated[tuple[str, ...], INTERNAL] = ()  #: The feasible nodes for the next pod.
    best: tuple[str, ...] = ()  #: The best of them, by name.
    #: By how many points the total of each feasible node is above the lowest.
    leads: Annotated[tuple[int, ...], INTERNAL] = ()
    #: The condition of the next pod; empty if it fits somewhere.
    message: Annotated[str, SentAs("condition")] = ""

    @property
    @sent
    def feasible_nodes(self) -> Count:
        """How many nodes the next pod fits."""
        return len(self.feasible)

    def difference(self, later: ReleaseOutcome) -> DiffKind | None:
        """Return the gravest difference to what a later release makes of the workload."""
        pairs = (
            (DiffKind.VALIDITY, self.errors, later.errors),
            (DiffKind.NODES, self.feasible, later.feasible),
            (DiffKind.BEST, self.best, later.best),
            (DiffKind.SCORES, self.leads, later.leads),
            (DiffKind.CONSTRAINTS, self.constraints, later.constraints),
            (DiffKind.MESSAGE, self.message, later.message),
        )
        return next((kind for kind, before, after in pairs if before != after), None)


class ResponsibleChange(NamedTuple):
    """An entry of the table of releases."""

    since: str  #: The first release that does so.
    what: str  #: What changes.
    source: str  #: Where it is written.


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadDiff:
    """A workload for which two releases differ."""

    namespace: str  #: Its namespace.
    kind: str  #: Its kind; of a ReplicaSet, its owner's.
    name: str  #: Its name.
    difference: DiffKind  #: The gravest difference.
    before: ReleaseOutcome  #: What the earlier release makes of it.
    after: ReleaseOutcome  #: What the later release makes of it.
    #: The changes between the releases that make a difference as grave, in their order.
    responsible: tuple[ResponsibleChange, ...]

    @property
    @sent
    def breaks(self) -> bool:
        """Whether pods that the earlier release places are refused, or fit nowhere, in the later one."""
        refused = bool(self.after.errors) and not self.before.errors
        return refused or (bool(self.before.feasible) and not self.after.feasible)


def changes_between(before: KubernetesVersion, after: KubernetesVersion) -> list[ReleaseChange]:
    """Return the changes that an upgrade brings, in their order."""
    return [change for change in CHANGES if change.is_in(after) and not change.is_in(before)]


def diff_releases(
    entry: ClusterWorkload, context: AdmissionContext, before: KubernetesVersion, after: KubernetesVersion
) -> WorkloadDiff | None:
    """Compare what two releases make of a workload; None if that is the same.

    Args:
        entry: The workload.
        context: The cluster, which must be there, and what gives constraints.
        before: The earlier release.
        after: The later release.
    """
    with context.reading():
        first = _outcome(entry, replace(context, kubernetes_version=before))
        last = _outcome(entry, replace(context, kubernetes_version=after))
        difference = first.difference(last)
        if difference is None:
            return None
        gravest = list(DiffKind)[: list(DiffKind).index(difference) + 1]
        changes = [
            change
            for change in changes_between(before, after)
            if difference is DiffKind.MESSAGE or not change.message_only
        ]
        steps = _steps(entry, replace(context, kubernetes_version=before), changes, first)
        responsible = tuple(
            ResponsibleChange(change.after(before).exact, change.what, change.source)
            for change, kind in steps
            if kind in gravest
        )
    return WorkloadDiff(
        namespace=entry.workload.namespace,
        kind=entry.kind,
        name=entry.name,
        difference=difference,
        before=first,
        after=last,
        responsible=responsible,
    )


def _steps(
    entry: ClusterWorkload, context: AdmissionContext, changes: list[ReleaseChange], outcome: ReleaseOutcome
) -> Iterator[tuple[ReleaseChange, DiffKind | None]]:
    """Yield the difference that each change makes beside all those before it."""
    behavior = context.behavior
    for change in changes:
        behavior = replace(behavior, **{change.field: change.value})
        now = _outcome(entry, replace(context, judged_as=behavior))
        yield change, outcome.difference(now)
        outcome = now


def _outcome(entry: ClusterWorkload, context: AdmissionContext) -> ReleaseOutcome:
    try:
        result = evaluate_workload(replace(entry.workload, release=context.release), context).result
    except PlacementError as error:
        return ReleaseOutcome(errors=tuple(map(str, error.errors)))
    feasible = result.feasible.nonzero()[0]
    totals = result.total[feasible]
    return ReleaseOutcome(
        constraints=result.request.constraints,
        feasible=tuple(result.names[node] for node in feasible.tolist()),
        best=tuple(result.names[node] for node in result.best),
        # What a plugin gives all nodes alike decides nothing.
        leads=tuple((totals - totals.min()).tolist()) if len(totals) else (),
        message=result.condition,
    )

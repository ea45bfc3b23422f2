"""The pods that constraints count, now and after a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from policies.model.constraint import Constraint
from policies.placement.placement import PreparedPod
from policies.placement.simulate import domain_counts
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin
from policies.scheduler.workload_topology import REVISION_LABELS


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDomains:
    """The pods that a constraint counts, now and after the plan.

    Pods of all revisions count: ``matchLabelKeys`` keeps revisions apart while one replaces the other.

    Attributes:
        applied: The constraint.
        is_new: Whether it was not in force before, or not so.
        is_gone: Whether it is not in force any more.
        now: Matching pods of each domain that an eligible node has.
        after: The same after the plan.
    """

    applied: AppliedConstraint
    is_new: bool
    is_gone: bool
    now: Mapping[str, int]
    after: Mapping[str, int]

    @property
    def skew(self) -> int:
        """How many more pods the fullest domain has after the plan than the emptiest; 0 without domains."""
        return max(self.after.values(), default=0) - min(self.after.values(), default=0)


class CountedConstraint(NamedTuple):
    """A constraint, and the pods that it counts at one moment.

    Attributes:
        applied: The constraint.
        is_new: Whether it was not in force before a plan, or not so.
        is_gone: Whether it is not in force after it.
        counts: Matching pods of each domain.
    """

    applied: AppliedConstraint
    is_new: bool
    is_gone: bool
    counts: Mapping[str, int]


def count_constraints(
    before: PreparedPod | None, after: PreparedPod | None, cluster: ClusterIndex
) -> list[CountedConstraint]:
    """Return what each constraint counts that will be in force for a workload, or was.

    Args:
        before: The next pod of the workload as it was.
        after: The same as it will be.
        cluster: The cluster at one moment.
    """
    old = [] if before is None else list(before.request.constraints)
    new = [] if after is None else list(after.request.constraints)
    known = in_force(before)
    kept = {applied.constraint.topology_key for applied in new}
    gone = [
        applied
        for applied in old
        # kube-scheduler's own are in force wherever there are no others.
        if applied.constraint.topology_key not in kept
        and (after is None or applied.origin is not ConstraintOrigin.SCHEDULER_SYSTEM)
    ]
    return [
        *(
            CountedConstraint(
                applied, is_new=bool(old) and _asked(applied) not in known, is_gone=False, counts=counts
            )
            for applied, counts in _counted(after, new, cluster)
        ),
        *(
            CountedConstraint(applied, is_new=False, is_gone=after is not None, counts=counts)
            for applied, counts in _counted(before, gone, cluster)
        ),
    ]


def in_force(prepared: PreparedPod | None) -> list[tuple[Constraint, ConstraintOrigin]]:
    """Return what is in force for a pod, whatever its revision is."""
    return [] if prepared is None else list(map(_asked, prepared.request.constraints))


def _asked(applied: AppliedConstraint) -> tuple[Constraint, ConstraintOrigin]:
    """Return what a constraint asks for: only a pod's own says itself which pods it counts."""
    constraint, origin = applied.constraint, applied.origin
    if origin is ConstraintOrigin.POD:
        return constraint, origin
    return replace(constraint, selector=None), origin


def _counted(
    prepared: PreparedPod | None, listed: list[AppliedConstraint], cluster: ClusterIndex
) -> list[tuple[AppliedConstraint, dict[str, int]]]:
    if prepared is None or not listed:
        return []
    every = tuple(map(_of_every_revision, listed))
    counts = domain_counts(replace(prepared.request, constraints=every), cluster)
    return list(zip(listed, counts, strict=True))


def planned_domains(
    now: list[CountedConstraint], done: list[CountedConstraint]
) -> tuple[PlannedDomains, ...]:
    """Return what the same constraints count at two moments."""
    return tuple(
        PlannedDomains(
            applied=was.applied,
            is_new=was.is_new,
            is_gone=was.is_gone,
            now=was.counts,
            after=becomes.counts,
        )
        for was, becomes in zip(now, done, strict=True)
    )


def _of_every_revision(applied: AppliedConstraint) -> AppliedConstraint:
    """Return a constraint that counts the pods of all revisions of a workload."""
    selector = applied.selector
    if selector is None or not selector.keys & REVISION_LABELS:
        return applied
    return replace(
        applied,
        selector=replace(
            selector,
            match_labels=tuple(pair for pair in selector.match_labels if pair[0] not in REVISION_LABELS),
            match_expressions=tuple(
                entry for entry in selector.match_expressions if entry.key not in REVISION_LABELS
            ),
        ),
    )

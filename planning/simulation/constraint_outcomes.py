"""What becomes of the domains of a workload's constraints: counted before events and at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from planning.simulation.outcome import ConstraintOutcome
from planning.simulation.survival import DomainPods, most_populated
from policies.model.constraint import WhenUnsatisfiable
from policies.scheduler.evaluate import count_spread
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import AppliedConstraint, SchedulingRequest
from policies.scheduler.skew import skew


class CountedConstraint(NamedTuple):
    """A constraint in force, with the pods that it counts by domain."""

    position: int
    applied: AppliedConstraint
    pods: DomainPods
    skew: int


#: By topology key and whenUnsatisfiable.
CountedConstraints: TypeAlias = dict[tuple[str, WhenUnsatisfiable], CountedConstraint]


def constraint_outcomes(
    before: SchedulingRequest | None,
    after: SchedulingRequest | None,
    cluster_before: ClusterIndex,
    cluster_after: ClusterIndex,
    peaks: Mapping[int, int],
) -> tuple[ConstraintOutcome, ...]:
    """Return what becomes of each constraint: of those in force at the end, then of those that were.

    A list has one constraint for a topology key and whenUnsatisfiable: what an edit changes of it besides
    leaves it the same constraint.

    Args:
        before: The next pod of the workload before the events; None for a workload that is new.
        after: Its next pod at the end; None for a workload that is removed.
        cluster_before: The cluster before the events.
        cluster_after: The cluster at the end.
        peaks: The largest skew between them, by the position of the constraint among those at the end.
    """
    was = count_constraints(before, cluster_before)
    return compare_constraints(was, count_constraints(after, cluster_after), peaks)


def compare_constraints(
    was: CountedConstraints, now: CountedConstraints, peaks: Mapping[int, int]
) -> tuple[ConstraintOutcome, ...]:
    """Return the same of constraints that were counted before and at the end."""
    return tuple(_outcome(was.get(key), now.get(key), peaks) for key in {**now, **was})


def count_constraints(request: SchedulingRequest | None, cluster: ClusterIndex) -> CountedConstraints:
    """Return the constraints in force for a pod with what they count; none without a pod."""
    found: CountedConstraints = {}
    for position, result in enumerate(() if request is None else count_spread(request, cluster)):
        applied, domains = result.applied, result.domains
        pods = DomainPods(domains.eligible.existing_values, domains.held())
        matching = domains.matching[np.flatnonzero(domains.exists)]
        key = applied.constraint.topology_key, applied.constraint.when_unsatisfiable
        found[key] = CountedConstraint(position, applied, pods, skew(applied, matching))
    return found


def _outcome(
    was: CountedConstraint | None, now: CountedConstraint | None, peaks: Mapping[int, int]
) -> ConstraintOutcome:
    at_end = now or was
    if at_end is None:
        raise ValueError("a constraint is in force before or at the end")
    before, after, others = most_populated(was and was.pods, now and now.pods)
    # Before its edit it was another measure.
    same = [each.skew for each in (was, now) if each is not None and each.applied == at_end.applied]
    return ConstraintOutcome(
        applied=at_end.applied,
        before=before,
        after=after,
        other_domains=others,
        skew_before=None if was is None else was.skew,
        skew=None if now is None else now.skew,
        peak=max(*same, 0 if now is None else peaks.get(now.position, 0)),
    )

"""The pods that constraints count, now and after a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, NamedTuple

from planning.simulation.cluster_simulation import ClusterSimulation
from policies.manifests.wire import INLINE, Count, SentAs, document_name, sent
from policies.model.constraint import Constraint
from policies.pods.placement import PreparedPod
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin
from policies.scheduler.skew import skew_of
from policies.scheduler.workload_topology import REVISION_LABELS


class ConstraintChange(NamedTuple):
    """A changed field of a constraint."""

    field: str  #: The field.
    before: str  #: Its value before.
    after: str  #: Its value after.


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDomains:
    """The pods that a constraint counts, now and after the plan.

    Pods of all revisions count: ``matchLabelKeys`` keeps revisions apart while one replaces the other.
    """

    applied: Annotated[AppliedConstraint, INLINE]  #: The constraint.
    is_new: Annotated[bool, SentAs("new")]  #: Whether it was not in force before, or not so.
    is_gone: Annotated[bool, SentAs("gone")]  #: Whether it is not in force any more.
    #: How it differs from the one of the same key that was in force before; empty where there was none, or
    #: not one alone.
    changes: tuple[ConstraintChange, ...]
    now: Mapping[str, Count]  #: Matching pods of each domain that an eligible node has.
    after: Mapping[str, Count]  #: The same after the plan.

    @property
    @sent
    def skew_now(self) -> Count:
        """The skew now."""
        return skew_of(self.applied, self.now)

    @property
    @sent
    def skew(self) -> Count:
        """The skew after the plan."""
        return skew_of(self.applied, self.after)


def planned_domains(
    before: PreparedPod | None, after: PreparedPod | None, simulation: ClusterSimulation
) -> tuple[PlannedDomains, ...]:
    """Return the domains of each constraint that will be in force for a workload, or was, as they are now.

    Args:
        before: The next pod of the workload as it was.
        after: The same as it will be.
        simulation: The cluster, before the plan or after it.
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
    return (
        *(
            PlannedDomains(
                applied=applied,
                is_new=bool(old) and _compared_part(applied) not in known,
                is_gone=False,
                changes=_changes([each for each in old if _key(each) == _key(applied)], applied),
                now=counts,
                after=counts,
            )
            for applied, counts in _counted(after, new, simulation)
        ),
        *(
            PlannedDomains(
                applied=applied, is_new=False, is_gone=after is not None, changes=(), now=counts, after=counts
            )
            for applied, counts in _counted(before, gone, simulation)
        ),
    )


def in_force(prepared: PreparedPod | None) -> list[tuple[Constraint, ConstraintOrigin]]:
    """Return the constraints in force for a pod, whatever its revision is."""
    return [] if prepared is None else list(map(_compared_part, prepared.request.constraints))


def _key(applied: AppliedConstraint) -> str:
    return applied.constraint.topology_key


def _changes(before: list[AppliedConstraint], applied: AppliedConstraint) -> tuple[ConstraintChange, ...]:
    """Return how a constraint differs from the one before; nothing where there are several, or none."""
    if len(before) != 1:
        return ()
    (was, origin), (becomes, now) = _compared_part(before[0]), _compared_part(applied)
    if origin is not now:
        # Whose selector it is says nothing of what it selects.
        was, becomes = replace(was, selector=None), replace(becomes, selector=None)
    return tuple(
        ConstraintChange(
            "labelSelector" if entry.name == "selector" else document_name(entry.name), _said(old), _said(new)
        )
        for entry in fields(Constraint)
        if (old := getattr(was, entry.name)) != (new := getattr(becomes, entry.name))
    )


def _said(value: object) -> str:
    """Return the value of a constraint's field in a sentence."""
    if value is None:
        return "none"
    return ", ".join(map(str, value)) or "none" if type(value) is tuple else str(value)


def _compared_part(applied: AppliedConstraint) -> tuple[Constraint, ConstraintOrigin]:
    """Return the part of a constraint that is compared: only a pod's own constraints state a selector."""
    constraint, origin = applied.constraint, applied.origin
    if origin is ConstraintOrigin.POD:
        return constraint, origin
    return replace(constraint, selector=None), origin


def _counted(
    prepared: PreparedPod | None, listed: list[AppliedConstraint], simulation: ClusterSimulation
) -> list[tuple[AppliedConstraint, dict[str, int]]]:
    if prepared is None or not listed:
        return []
    every = tuple(map(_of_every_revision, listed))
    counts = simulation.count(replace(prepared.request, constraints=every))
    return [(applied, dict(sorted(each.items()))) for applied, each in zip(listed, counts, strict=True)]


def with_end(now: Iterable[PlannedDomains], done: Iterable[PlannedDomains]) -> tuple[PlannedDomains, ...]:
    """Return the domains of the same constraints before a plan with what they come to after it."""
    return tuple(replace(was, after=then.now) for was, then in zip(now, done, strict=True))


def _of_every_revision(applied: AppliedConstraint) -> AppliedConstraint:
    """Return a constraint that counts the pods of all revisions of a workload."""
    selector = applied.selector
    if selector is None or not selector.keys & REVISION_LABELS:
        return applied
    return applied._replace(
        selector=selector._replace(
            match_labels=tuple(pair for pair in selector.match_labels if pair[0] not in REVISION_LABELS),
            match_expressions=tuple(
                entry for entry in selector.match_expressions if entry.key not in REVISION_LABELS
            ),
        ),
    )

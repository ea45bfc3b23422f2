"""How the constraints in force for a workload differ between two sets of manifests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from policies.manifests.wire import document_name
from policies.model.constraint import Constraint
from policies.pods.placement import PreparedPod
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin


class ChangedField(NamedTuple):
    """A changed field of a constraint."""

    field: str  #: The field.
    before: str  #: Its value before.
    after: str  #: Its value after.


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintChange:
    """A constraint that is new, changed or no longer in force."""

    topology_key: str  #: Its topology key.
    #: What differs from the one of the same key that was in force before; empty where there was none, or
    #: not one alone.
    fields: tuple[ChangedField, ...] = ()
    gone: bool = False  #: Whether it is no longer in force.


def constraint_changes(before: PreparedPod | None, after: PreparedPod | None) -> tuple[ConstraintChange, ...]:
    """Return the constraints that are new or changed for the next pod of a workload, then those that go.

    Args:
        before: The next pod as it was; None without one.
        after: The same as it will be.
    """
    if before is None or after is None:
        return ()
    return tuple(_changes(list(before.request.constraints), list(after.request.constraints)))


def _changes(old: list[AppliedConstraint], new: list[AppliedConstraint]) -> Iterator[ConstraintChange]:
    known, kept = list(map(_compared_part, old)), {_key(each) for each in new}
    for applied in new:
        if _compared_part(applied) not in known:
            differs = _fields([each for each in old if _key(each) == _key(applied)], applied)
            yield ConstraintChange(topology_key=_key(applied), fields=differs)
    for applied in old:
        # kube-scheduler's own are in force wherever there are no others.
        if _key(applied) not in kept and applied.origin is not ConstraintOrigin.SCHEDULER_SYSTEM:
            yield ConstraintChange(topology_key=_key(applied), gone=True)


def in_force(prepared: PreparedPod | None) -> list[tuple[Constraint, ConstraintOrigin]]:
    """Return the constraints in force for a pod, whatever its revision is."""
    return [] if prepared is None else list(map(_compared_part, prepared.request.constraints))


def _key(applied: AppliedConstraint) -> str:
    return applied.constraint.topology_key


def _fields(before: list[AppliedConstraint], applied: AppliedConstraint) -> tuple[ChangedField, ...]:
    """Return how a constraint differs from the one before; nothing where there are several, or none."""
    if len(before) != 1:
        return ()
    (was, origin), (becomes, now) = _compared_part(before[0]), _compared_part(applied)
    if origin is not now:
        # Whose selector it is says nothing of what it selects.
        was, becomes = replace(was, selector=None), replace(becomes, selector=None)
    return tuple(
        ChangedField(
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

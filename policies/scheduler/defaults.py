"""Which constraints a pod really has, and where each comes from.

Source: ``buildDefaultConstraints``, ``podtopologyspread/common.go``, and ``DefaultSelector``,
``pkg/scheduler/framework/plugins/helper/spread.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum

from policies.model.constraint import Constraint
from policies.model.labels import LabelSelector, Operator, Requirement
from policies.model.snapshot import SELECTING_OWNERS, Snapshot
from policies.model.workload import Workload
from policies.scheduler.configuration import DefaultingType, SchedulerProfile
from policies.scheduler.release_changes import Behavior
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin, apply_constraint


class NoConstraints(StrEnum):
    """Why no constraint is in force for a pod."""

    NO_PROFILE = "its schedulerName has no profile in the configuration"
    NO_DEFAULTS = "the scheduler's configuration has no default constraints"
    NOT_RUN = "its scheduler's profile does not run PodTopologySpread, so its own have no effect"
    NO_SELECTOR = "no Service selects it and no known controller owns it, so the defaults do not apply"


def own_constraints(
    constraints: Iterable[Constraint],
    labels: Mapping[str, str],
    *,
    origin: ConstraintOrigin,
    behavior: Behavior,
) -> tuple[AppliedConstraint, ...]:
    """Return a pod's own constraints as a release applies them."""
    return tuple(apply_constraint(entry, labels, origin=origin, behavior=behavior) for entry in constraints)


def default_constraints(
    pod: Workload, profile: SchedulerProfile | None, snapshot: Snapshot, *, behavior: Behavior
) -> tuple[AppliedConstraint, ...] | NoConstraints:
    """Return the constraints that a scheduler's profile gives to a pod without any, or why it gives none."""
    if profile is None:
        return NoConstraints.NO_PROFILE
    if not profile.constraints:
        return NoConstraints.NO_DEFAULTS
    selector = deduce_selector(snapshot, pod)
    if selector is None:
        return NoConstraints.NO_SELECTOR
    is_system = profile.defaulting_type is DefaultingType.SYSTEM
    # The deduced selector takes the place of whatever matchLabelKeys would narrow.
    given = (replace(entry, selector=selector, match_label_keys=()) for entry in profile.constraints)
    origin = ConstraintOrigin.SCHEDULER_SYSTEM if is_system else ConstraintOrigin.SCHEDULER_LIST
    return own_constraints(given, pod.template.labels, origin=origin, behavior=behavior)


def deduce_selector(snapshot: Snapshot, pod: Workload) -> LabelSelector | None:
    """Return the selector of a pod's default constraints, or None when nothing can be deduced.

    The selectors of all services that match the pod are merged with that of its ReplicationController,
    ReplicaSet or StatefulSet, if the cluster has it. With an empty result the pod gets no defaults.
    """
    match_labels: dict[str, str] = {}
    for selector in snapshot.service_selectors(pod.namespace, pod.template.labels):
        match_labels |= selector
    expressions: tuple[Requirement, ...] = ()
    owned = _owner_selector(snapshot, pod)
    if pod.owner and owned:
        for key, value in owned.match_labels:
            if pod.owner.kind == "ReplicationController":
                match_labels[key] = value  # Merged as a map, where the last one wins.
            elif match_labels.setdefault(key, value) != value:
                # An owner that does not select its own pod: the scheduler requires both values.
                expressions += (Requirement(key, Operator.IN, (value,)),)
        expressions += owned.match_expressions
    deduced = LabelSelector(tuple(sorted(match_labels.items())), expressions)
    return None if deduced.empty else deduced


def _owner_selector(snapshot: Snapshot, pod: Workload) -> LabelSelector | None:
    owner = pod.owner
    if owner is None or (owner.api_version, owner.kind) not in SELECTING_OWNERS:
        return None
    if pod.owner_selector is not None:
        return pod.owner_selector
    controller = snapshot.controller(owner, pod.namespace)
    return None if controller is None else controller.selector

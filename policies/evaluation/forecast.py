"""What a person should hear before the next pod is made: that no node would take it, and by how much.

A false alarm is worse than a silence. So nothing is said where another scheduler or none decides, or where
pods that stand in the way may go: old ones in a rollout, or others that a pod of some priority may preempt.
What the engine does not model (other pods' affinity, volumes, ports) can only refuse more nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from policies.defaults.scheduler_config import DEFAULT_CONFIG
from policies.evaluation.context import AdmissionContext
from policies.evaluation.ownership import by_controller
from policies.evaluation.placement import PlacementError, place
from policies.evaluation.remarks import Remark
from policies.evaluation.shortfall import may_change, shortfalls
from policies.evaluation.subject import Subject
from policies.evaluation.upcoming import Upcoming, upcoming
from policies.fields import ErrorList
from policies.model.workload import descend

#: Constraints and requirements on nodes, together, that a judged pod may have. A requirement can cost 7 ms
#: with 5,000 nodes, and everybody waits for it. Arbitrary; people write a handful.
MAX_PARTS = 32
#: What a reason of the scheduler has in brackets: ``ErrReasonNodeLabelNotMatch``,
#: ``podtopologyspread/plugin.go``.
_BRACKETS = re.compile(r" \(([^()]*)\)(?=,|$)")
#: Where a person reads more.
HINT = "kubectl evenkeel explain -f FILE --live tells what would make it fit"


@dataclass(frozen=True, slots=True)
class Forecast:
    """The next pod would fit nowhere.

    Attributes:
        remark: For a person: the scheduler's reasons, those of most nodes first, and how far the pod is from
            fitting.
        details: The same for the audit log: the scheduler's sentence, and a line for each number.
    """

    remark: Remark
    details: str


#: Does some work if it can be done in time; else returns None.
Within = Callable[[Callable[[], Forecast | None]], Forecast | None]


def forecast(
    subject: Subject, old: Subject | None, context: AdmissionContext, *, within: Within
) -> Forecast | None:
    """Return what to say of the next pod that a change makes; None if it fits, or nothing is certain.

    Args:
        subject: The object as it would be stored.
        old: What is stored now, for an update.
        context: The cluster, and what gives constraints.
        within: Keeps to the time that is left.
    """
    # Nobody reads a warning on an object that a controller creates.
    if context.cluster is None or by_controller(subject, context.kinds):
        return None
    when = upcoming(subject, old)
    profiles = context.scheduler or DEFAULT_CONFIG
    if when is Upcoming.NONE or profiles.profile_for(subject.pod.scheduler_name) is None:
        return None
    if _count_parts(subject) > MAX_PARTS:
        return None
    return within(lambda: _judge(subject, context, when))


def _judge(subject: Subject, context: AdmissionContext, when: Upcoming) -> Forecast | None:
    cluster = context.cluster
    if cluster is None:
        return None
    with cluster.reading():
        if not cluster.node_count:
            return None  # Nothing is known of where the pod could go.
        try:
            placement = place(subject.obj, context, namespace=subject.namespace)
        except PlacementError:
            return None  # The API server says itself why there will be no pod.
        verdict = placement.verdict
        pod = verdict.question.pod
        if verdict.feasible.any() or pod.gated or pod.node_name:
            return None
        others_may_go = when is Upcoming.LATER or _may_preempt(placement.pod.get("spec") or {})
        if others_may_go and may_change(verdict):
            return None
        numbers = list(shortfalls(verdict, cluster))
    reasons = _largest_first(verdict.message.partition(": ")[2].rstrip("."))
    which = "this pod" if subject.kind.is_pod else "the next pod"
    head = f"{which} fits 0 of {len(verdict.names)} nodes: {reasons}"
    return Forecast(
        remark=Remark("; ".join((head, *numbers)), hint=HINT),
        details="\n".join((verdict.message, *numbers)),
    )


def _count_parts(subject: Subject) -> int:
    """Count what a verdict asks of every node."""
    way = (*subject.kind.template, "spec", "affinity", "nodeAffinity")
    required = descend(subject.obj, (*way, "requiredDuringSchedulingIgnoredDuringExecution"), ErrorList())
    count = _length(subject.pod.constraints)
    terms = required.get("nodeSelectorTerms")
    for term in terms if isinstance(terms, list) else ():
        if isinstance(term, dict):
            count += _length(term.get("matchExpressions")) + _length(term.get("matchFields"))
    return count


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def _may_preempt(spec: Mapping[str, Any]) -> bool:
    """Tell whether a pod may make others go: with a priority class, whose value is not known here."""
    if spec.get("preemptionPolicy") == "Never":
        return False
    priority = spec.get("priority")
    return bool(spec.get("priorityClassName")) or (type(priority) is int and priority > 0)


def _largest_first(reasons: str) -> str:
    """Sort the scheduler's reasons by their numbers of nodes, and leave out what the head has said.

    What a reason has in brackets tells it from another reason, so it must not give way to a short line.

    >>> _largest_first("1 node(s) were unschedulable, 12 Insufficient cpu")
    '12 Insufficient cpu, 1 were unschedulable'
    >>> _largest_first("2 node(s) didn't match pod topology spread constraints (missing required label)")
    "2 didn't match pod topology spread constraints: missing required label"
    """
    reasons = _BRACKETS.sub(r": \1", reasons)
    counted = [reason.replace(" node(s) ", " ", 1).partition(" ") for reason in reasons.split(", ")]
    counted.sort(key=lambda part: -int(part[0]) if part[0].isdecimal() else 0)
    return ", ".join(map("".join, counted))

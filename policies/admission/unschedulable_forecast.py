"""Warns that the next pod of a workload would be unschedulable: no node fits it, and by how much.

A false alarm is worse than no warning. So there is none where another scheduler decides, or where pods that
are in the way may end: old ones in a rollout, or those that a pod with a priority may preempt. What the
engine does not model (volumes, for example) can only reject more nodes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.admission.next_pod_timing import NextPodTiming, next_pod_timing
from policies.admission.rejection_summary import may_change, rejection_summaries
from policies.admission.review_cost import Costs, NoTime, NotJudged, Within
from policies.admission.warnings import MAX_LENGTH, PREFIX, AdmissionWarning
from policies.config.context import AdmissionContext
from policies.config.exemptions import UNSCHEDULABLE
from policies.config.ownership import by_controller
from policies.config.subject import Subject
from policies.manifests.sanitize import one_line
from policies.placement.placement import PlacementError, place
from policies.scheduler.configuration import DEFAULT_CONFIG

#: What a reason of the scheduler has in brackets: ``ErrReasonNodeLabelNotMatch``,
#: ``podtopologyspread/plugin.go``.
_BRACKETS = re.compile(r" \(([^()]*)\)(?=,|$)")
#: How a person reads more.
_SEE_ALL = "; see kubectl evenkeel explain"
#: Characters of the warning before that.
_TEXT_LENGTH = MAX_LENGTH - len(PREFIX) - len(_SEE_ALL)


@dataclass(frozen=True, slots=True)
class Forecast:
    """The next pod would fit nowhere.

    Attributes:
        warning: For a person: the scheduler's reasons, those of most nodes first, and how far the pod is from
            fitting.
        details: The same for the audit log: the scheduler's sentence, and a line for each number.
    """

    warning: AdmissionWarning
    details: str


def forecast(
    costs: Costs, old: Subject | None, context: AdmissionContext, *, within: Within
) -> Forecast | NotJudged | None:
    """Return what to say of the next pod that a change makes; None if it fits, or nothing is certain.

    Args:
        costs: The object as it would be stored, and what it costs to judge it.
        old: What is stored now, for an update.
        context: The cluster, and what gives constraints.
        within: Keeps to the time that is left.
    """
    subject = costs.subject
    # A warning on an object that a controller creates reaches no person.
    if context.cluster is None or by_controller(subject, context.kinds):
        return None
    when = next_pod_timing(subject, old)
    profiles = context.scheduler or DEFAULT_CONFIG
    if when is NextPodTiming.NONE or profiles.profile_for(subject.pod.scheduler_name) is None:
        return None
    table = context.cluster.pods_of(subject.namespace)
    pods = 0 if table is None else len(table)
    if why := costs.of_forecast(nodes=context.cluster.node_count, pods=pods):
        return NotJudged((UNSCHEDULABLE,), why)
    found = within(lambda: _judge(subject, context, when))
    return NotJudged((UNSCHEDULABLE,), found.value) if isinstance(found, NoTime) else found


def _judge(subject: Subject, context: AdmissionContext, when: NextPodTiming) -> Forecast | None:
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
        pod = verdict.request.pod
        if verdict.feasible.any() or pod.gated or pod.node_name:
            return None
        others_may_go = when is NextPodTiming.LATER or _may_preempt(placement.pod.get("spec") or {})
        if others_may_go and may_change(verdict):
            return None
        numbers = list(rejection_summaries(verdict, cluster))
    reasons = _largest_first(verdict.message.partition(": ")[2].rstrip("."))
    which = "this pod" if subject.kind.is_pod else "the next pod"
    head = f"{which} fits 0 of {len(verdict.names)} nodes: {reasons}"
    return Forecast(
        warning=AdmissionWarning(one_line("; ".join((head, *numbers)), _TEXT_LENGTH) + _SEE_ALL),
        details="\n".join((verdict.message, *numbers)),
    )


def _may_preempt(spec: Mapping[str, Any]) -> bool:
    """Tell whether a pod may make others go: with a priority class, whose value is not known here."""
    if spec.get("preemptionPolicy") == "Never":
        return False
    priority = spec.get("priority")
    return bool(spec.get("priorityClassName")) or (type(priority) is int and priority > 0)


def _largest_first(reasons: str) -> str:
    """Sort the scheduler's reasons by their numbers of nodes, and leave out what the head has said.

    What a reason has in brackets follows a colon, so that it reads as part of the reason.

    >>> _largest_first("1 node(s) were unschedulable, 12 Insufficient cpu")
    '12 Insufficient cpu, 1 were unschedulable'
    >>> _largest_first("2 node(s) didn't match pod topology spread constraints (missing required label)")
    "2 didn't match pod topology spread constraints: missing required label"
    """
    reasons = _BRACKETS.sub(r": \1", reasons)
    counted = [reason.replace(" node(s) ", " ", 1).partition(" ") for reason in reasons.split(", ")]
    counted.sort(key=lambda part: -int(part[0]) if part[0].isdecimal() else 0)
    return ", ".join(map("".join, counted))

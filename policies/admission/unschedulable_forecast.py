"""Whether a change makes a pod that no node would take, and by how much: to warn before it is pending.

A false alarm is worse than a silence. So nothing is reported where another scheduler or none decides, or
where pods that are in the way may go: old ones in a rollout, or others that a pod of some priority may
preempt. What the engine does not model (other pods' affinity, volumes, ports) can only refuse more nodes.

Sources, Kubernetes 1.36: ``sync.go``, ``rolling.go`` and ``util/deployment_util.go`` below
``pkg/controller/deployment``, and the API's descriptions of the fields that are read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from policies.admission.decision import (
    MAX_WARNING_LENGTH,
    WARNING_PREFIX,
    AdmissionWarning,
    SkipCause,
    SkippedRules,
)
from policies.admission.rejection_summary import may_change, rejection_summaries
from policies.admission.review_cost import NoTime, ReviewCost, TimeLimit
from policies.config.context import AdmissionContext
from policies.config.enforcement import UNSCHEDULABLE
from policies.manifests.fields import descend, member
from policies.manifests.sanitize import one_line
from policies.model.scaling import rolling_update
from policies.model.step_counter import StepCounter, TooManyStepsError
from policies.model.workload import Workload
from policies.pods.placement import PlacementError, prepare
from policies.scheduler.evaluate import evaluate_unless_feasible

#: The kinds whose next pod cannot be placed like others: a DaemonSet's pods each have their own node and are
#: not made where it is not suitable, and no controller makes pods of a PodTemplate.
NOT_PLACED = frozenset({"DaemonSet", "PodTemplate"})
#: The kinds that replace no running pod: a new template waits for pods that are made anyway.
WITHOUT_ROLLOUT = frozenset({"ReplicaSet", "ReplicationController", "Job", "CronJob"})


#: What a reason of the scheduler has in brackets: ``ErrReasonNodeLabelNotMatch``,
#: ``podtopologyspread/plugin.go``.
_BRACKETS = re.compile(r" \(([^()]*)\)(?=,|$)")
#: How a person reads more.
_SEE_ALL = "; see kubectl evenkeel explain"
#: Characters of the warning before that.
_TEXT_LENGTH = MAX_WARNING_LENGTH - len(WARNING_PREFIX) - len(_SEE_ALL)


class NextPodTiming(Enum):
    """When the next pod of an object is made."""

    #: No pod is made.
    NONE = "none"
    #: At once, beside all pods that run.
    NOW = "now"
    #: At another time, or only after some of the pods that run have gone.
    LATER = "later"


@dataclass(frozen=True, slots=True)
class Forecast:
    """The next pod would fit nowhere."""

    #: For a person: the scheduler's reasons, those of most nodes first, and how far the pod is from fitting.
    warning: AdmissionWarning
    details: str  #: The same for the audit log: the scheduler's sentence, and a line for each number.


def forecast(
    cost: ReviewCost, old: Workload | None, context: AdmissionContext, *, within: TimeLimit
) -> Forecast | SkippedRules | None:
    """Return the forecast for the next pod that a change makes; None if it fits, or nothing is certain.

    Args:
        cost: The object as it would be stored, and what it costs to run rules on it.
        old: What is stored now, for an update.
        context: The cluster, and what gives constraints.
        within: Keeps to the time that is left.

    Raises:
        UnknownSchedulerError: Its scheduler has no known profile.
    """
    workload = cost.workload
    # A warning on an object that a controller creates reaches no person.
    if context.cluster is None or context.made_by_controller(workload):
        return None
    when = next_pod_timing(workload, old)
    cluster = context.cluster
    if when is NextPodTiming.NONE or not cluster.node_count:
        return None  # Of a cluster without nodes it is not known where the pod could go.
    context.for_rules().profiles_of(workload)  # What a scheduler that is not known looks at is not either.
    table = cluster.pods_of(workload.namespace)
    pods = 0 if table is None else len(table)
    try:
        steps = cost.forecast_steps(nodes=cluster.node_count, pods=pods)
    except TooManyStepsError as error:
        return SkippedRules((UNSCHEDULABLE,), str(error), SkipCause.OBJECT)
    try:
        found = within(lambda: _evaluate(workload, context, when, steps))
    except TooManyStepsError as error:
        return SkippedRules((UNSCHEDULABLE,), str(error), SkipCause.CLUSTER)
    if isinstance(found, NoTime):
        return SkippedRules((UNSCHEDULABLE,), found.value, SkipCause.TIMEOUT)
    return found


def _evaluate(
    workload: Workload, context: AdmissionContext, when: NextPodTiming, steps: StepCounter
) -> Forecast | None:
    cluster = context.cluster
    if cluster is None:
        return None
    with cluster.reading(steps):
        try:
            prepared = prepare(workload, context)
        except PlacementError:
            return None  # The API server itself reports why there will be no pod.
        pod = prepared.request.pod
        if pod.gated or pod.node_name:
            return None
        result = evaluate_unless_feasible(prepared.request, prepared.cluster)
        if result is None:
            return None
        others_may_go = when is NextPodTiming.LATER or _may_preempt(prepared.pod.template.spec)
        if others_may_go and may_change(result):
            return None
        numbers = list(rejection_summaries(result, cluster))
    reasons = _largest_first(result.message.partition(": ")[2].rstrip("."))
    which = "this pod" if workload.kind.is_pod else "the next pod"
    head = f"{which} fits 0 of {len(result.names)} nodes: {reasons}"
    return Forecast(
        warning=AdmissionWarning(one_line("; ".join((head, *numbers)), _TEXT_LENGTH) + _SEE_ALL),
        details="\n".join((result.message, *numbers)),
    )


def next_pod_timing(workload: Workload, old: Workload | None) -> NextPodTiming:
    """Return when a change makes a pod.

    Args:
        workload: The object as it would be stored.
        old: What is stored now, for an update.
    """
    if (
        workload.kind.kind in NOT_PLACED
        or not workload.template.spec
        or _is_idle(workload)
        or _is_paused(workload)
    ):
        return NextPodTiming.NONE
    if workload.kind.is_pod:
        return NextPodTiming.NOW if old is None else NextPodTiming.NONE
    if old is None or _is_idle(old):
        return NextPodTiming.LATER if workload.kind.kind == "CronJob" else NextPodTiming.NOW
    # A Deployment may have got its template while it was paused.
    if _template(workload) != _template(old) or _is_paused(old):
        return NextPodTiming.NOW if _must_surge(workload, old) else NextPodTiming.LATER
    if _replicas(workload) <= _replicas(old):
        return NextPodTiming.NONE
    return NextPodTiming.LATER if _is_rolling(old) else NextPodTiming.NOW


def _is_idle(workload: Workload) -> bool:
    """Return whether an object keeps no pods at all."""
    spec = _spec(workload)
    return _replicas(workload) == 0 or spec.get("suspend") is True or spec.get("parallelism") == 0


def _is_paused(workload: Workload) -> bool:
    """Return whether no pod is made of a Deployment's or Rollout's present template."""
    return _spec(workload).get("paused") is True


def _must_surge(workload: Workload, old: Workload) -> bool:
    """Return whether a new template's first pod must run before any pod of the old one may go.

    With the default of 25 % that is so up to three replicas, for ``maxUnavailable`` is rounded down. Only
    Deployments are known well enough to say.
    """
    replicas = _replicas(workload)
    if replicas < _replicas(old) or _is_rolling(old):
        return False
    update = rolling_update(workload, replicas)
    return update is not None and update.unavailable == 0


def _is_rolling(workload: Workload) -> bool:
    """Return whether pods of an earlier template run, which will go."""
    if workload.kind.kind in WITHOUT_ROLLOUT:
        return False
    status = member(workload.obj, "status")
    # The API leaves out zeros.
    return bool(status.get("replicas", 0) != status.get("updatedReplicas", 0))


def _replicas(workload: Workload) -> int:
    """Return how many pods a workload keeps; 1 for kinds without a number, 0 where that is no number."""
    return 1 if workload.kind.replicas is None else workload.replicas or 0


def _template(workload: Workload) -> dict[str, Any]:
    return descend(workload.obj, workload.kind.template)


def _spec(workload: Workload) -> dict[str, Any]:
    return member(workload.obj, "spec")


def _may_preempt(spec: Mapping[str, Any]) -> bool:
    """Return whether a pod may make others go: with a priority class, whose value is not known here."""
    if spec.get("preemptionPolicy") == "Never":
        return False
    priority = spec.get("priority")
    return bool(spec.get("priorityClassName")) or (type(priority) is int and priority > 0)


def _largest_first(reasons: str) -> str:
    """Sort the scheduler's reasons by their numbers of nodes, and leave out what the head has.

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

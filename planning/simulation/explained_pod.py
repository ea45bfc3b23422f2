"""The pod by which an outcome is explained: the first that stays pending, or else the first new one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from planning.simulation.outcome import Did, Outcome, WorkloadOutcome
from policies.manifests.wire import Count
from policies.pods.placement import DAEMON_SET, Placement, PreparedPod, evaluate_pod

#: What is done to a pod that a workload gets.
_COMES: Final = frozenset({Did.BOUND, Did.PENDING})


class Moment(NamedTuple):
    """When a pod is explained."""

    step: Count  #: The position of its step: its last try if it stays pending, else when it gets its node.
    pod: str  #: Its name.
    number: Count  #: Which of the pods that the workload gets it is, from 1.
    replaced: Count  #: How many pods of the workload were deleted before.


def moment_of(outcome: Outcome, found: WorkloadOutcome) -> Moment | None:
    """Return the moment by which a workload that changes is explained; None for one that gets no pod.

    Args:
        outcome: The outcome.
        found: The workload.
    """
    own = [
        (position, step, name)
        for position, step in enumerate(outcome.steps)
        if step.pod is not None and (name := step.pod.partition("/")[2]) in found.pods
    ]
    comes = [(at, name) for at, step, name in own if step.did in _COMES and step.new is not False]
    shown = comes[:1]
    if found.stuck is not None:
        # One that has waited before the events may have no step.
        shown = [(at, name) for at, step, name in own if step.did in _COMES and name == found.stuck[0]][-1:]
    if not shown:
        return None
    at, pod = shown[0]
    before = {name for position, name in comes if position < at and name != pod}
    replaced = sum(step.did is Did.DELETED for position, step, _ in own if position < at)
    return Moment(at, pod, len(before) + 1, replaced)


def explained_pod(outcome: Outcome, found: WorkloadOutcome, prepared: PreparedPod) -> Placement:
    """Return where that pod could go then: in the cluster at the end if it stays pending.

    Args:
        outcome: The outcome.
        found: The workload.
        prepared: Its next pod.
    """
    if outcome.final is None:
        raise ValueError("an outcome that is explained has its cluster")
    if found.stuck is not None:
        return evaluate_pod(replace(prepared, request=found.stuck[1]), outcome.final)
    # A pod of a DaemonSet is evaluated without those that it replaces.
    is_daemon = prepared.workload.kind.kind == DAEMON_SET
    return evaluate_pod(prepared, found.at_first_new or (prepared.cluster if is_daemon else outcome.final))

"""What actions change, as fields of a simulation for programs."""

from __future__ import annotations

from policies.placement.recovery import DisplacedPod, PodOutcome
from policies.placement.what_if import DomainStages, WhatIf
from policies.reports import what_if_answer
from policies.reports.score_json import constraint_fields


def what_if_fields(happened: WhatIf) -> what_if_answer.WhatIfAnswer:
    """Return what becomes of every pod that lost its node, and of the domains."""
    recovery = happened.recovery
    return {
        "actions": len(happened.actions),
        "lostNodes": recovery.disruption.lost,
        "addedNodes": recovery.disruption.added,
        "stayed": happened.stayed,
        "ownStayed": happened.own_stayed,
        "recovered": recovery.count(PodOutcome.RECOVERED),
        "pending": recovery.count(PodOutcome.PENDING),
        "notRecreated": recovery.count(PodOutcome.NOT_RECREATED),
        "notTried": recovery.count(PodOutcome.NOT_TRIED),
        "podsKnown": recovery.complete,
        "displaced": list(map(_displaced_fields, recovery.displaced)),
        "domains": list(map(_domain_fields, happened.domains)),
    }


def _displaced_fields(entry: DisplacedPod) -> what_if_answer.DisplacedPodFields:
    pod: what_if_answer.DisplacedPodFields = {
        "name": entry.pod.name,
        "namespace": entry.pod.namespace,
        "lostNode": entry.pod.node,
        "own": entry.workload is not None,
        "owner": entry.owner,
        "priority": entry.priority,
        "outcome": entry.outcome,
    }
    step = entry.step
    if step is None:
        pod["why"] = entry.why
    elif step.node is None:
        pod |= {"message": step.message, "condition": step.condition}
    else:
        pod |= {"node": step.node, "feasible": step.feasible, "tied": list(step.tied)}
        if step.score is not None:
            pod["score"] = step.score
    return pod


def _domain_fields(stages: DomainStages) -> what_if_answer.DisruptedDomains:
    return {
        **constraint_fields(stages.applied),
        "constraint": stages.constraint,
        "before": dict(stages.before),
        "disrupted": dict(stages.disrupted),
        "recovered": dict(stages.recovered),
    }

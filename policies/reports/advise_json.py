"""Advice as one JSON object for programs: ``advise.schema.json`` says its form."""

from __future__ import annotations

from typing import Any, Final

import orjson

from policies.model.workload import Workload
from policies.placement.advise import Advice
from policies.placement.constraint_sets import Others
from policies.placement.domain_losses import DomainLoss
from policies.placement.goal import Goal
from policies.placement.goal_trial import Failure, PlacedReplicas, RolledOut
from policies.reports.advise_answer import (
    SCHEMA,
    AdviseAnswer,
    AdviseFailure,
    AdviseGoal,
    AdviseLoss,
    AdvisePatch,
    AdviseProof,
    AdviseRollout,
    PlacedCount,
)
from policies.reports.advise_words import NOT_PROVEN, constraint_reasons, failure_text, goal_text, others_text
from policies.reports.explain_json import edit_fields
from policies.reports.policy_json import encodable

#: The groups of the kinds whose API server knows how to merge lists of constraints.
_MERGED: Final = frozenset({"", "apps", "batch"})


def render(advice: Advice) -> bytes:
    """Return advice as one line of JSON, without its end."""
    return orjson.dumps(fields(advice))


def fields(advice: Advice) -> AdviseAnswer:
    """Return advice as JSON has it."""
    goal, workload, prepared = advice.goal, advice.workload, advice.trial.prepared
    chosen = () if advice.chosen is None else advice.chosen.wanted
    return {
        "schema": SCHEMA,
        "kubernetesVersion": str(prepared.version),
        "object": {
            "kind": encodable(workload.kind.name),
            "namespace": encodable(workload.namespace),
            "name": encodable(workload.name),
        },
        "goal": _goal(goal),
        "reached": True if advice.is_met else False if advice.complete else None,
        "reachedNow": advice.is_met_now,
        "asItIs": _failure(advice.as_is.failure(goal), goal),
        "missed": _failure(advice.trial.failure(goal), goal),
        "domains": sorted(map(encodable, advice.domains)),
        "constraints": [
            {
                "constraint": constraint.to_dict(),
                "reasons": [
                    {"field": field, "text": encodable(text)}
                    for field, text in constraint_reasons(constraint, advice)
                ],
            }
            for constraint in chosen
        ],
        "others": Others.KEPT if advice.chosen is None else advice.chosen.others,
        "othersText": encodable(others_text(advice)),
        "givenUp": [
            {
                "topologyKey": encodable(each.key),
                "field": each.field,
                "before": each.before,
                "after": each.after,
            }
            for each in advice.given_up
        ],
        "edits": list(map(edit_fields, advice.edits)),
        "patch": _patch(workload, advice),
        "now": None if advice.now is None else _placed(advice.now, goal),
        "proof": _proof(advice),
        "tried": advice.tried,
        "considered": advice.considered,
        "complete": advice.complete,
        "notModeled": [encodable(name) for name in prepared.request.unmodeled],
    }


def _goal(goal: Goal) -> AdviseGoal:
    least, most, source = goal.replicas
    limit = goal.limit
    return {
        "text": encodable(goal_text(goal)),
        "topologyKey": encodable(goal.key),
        "loseAtMost": None if limit is None else str(limit),
        "oneANode": goal.one_a_node,
        "enforced": goal.enforced,
        "allowSoft": goal.allow_soft,
        "replicas": {"least": least, "most": most, "source": encodable(source)},
    }


def _failure(failure: Failure | None, goal: Goal) -> AdviseFailure | None:
    if failure is None:
        return None
    return {
        "kind": failure.kind,
        "text": encodable(failure_text(failure, goal)),
        "replicas": failure.replicas,
        "domain": encodable(failure.domain),
        "count": failure.count,
        "allowed": failure.allowed,
    }


def _patch(workload: Workload, advice: Advice) -> AdvisePatch | None:
    """Return a patch that sets the whole list of constraints."""
    if not advice.edits:
        return None
    strategic = workload.kind.group in _MERGED
    new = advice.trial.prepared.workload.template.constraints
    if isinstance(new, list) and workload.template.constraints and strategic:
        # Otherwise the API server merges the lists by topologyKey.
        new = [{"$patch": "replace"}, *new]
    body: Any = new or None
    for name in reversed(workload.kind.constraints_path.segments):
        body = {name: body}
    return {"type": "strategic" if strategic else "merge", "body": body}


def _placed(placed: PlacedReplicas, goal: Goal) -> PlacedCount:
    return {
        "replicas": placed.replicas,
        "domain": encodable(placed.domain),
        "count": placed.count,
        "allowed": goal.allowed(placed.replicas),
    }


def _proof(advice: Advice) -> AdviseProof:
    trial = advice.trial
    return {
        "placed": [_placed(placed, advice.goal) for placed in trial.placed],
        "everyTie": trial.exact,
        "fitting": trial.fitting,
        "addedNodes": trial.added,
        "rollouts": list(map(_rollout, trial.rollouts)),
        "losses": list(map(_loss, advice.losses)),
        "notLookedAt": list(NOT_PROVEN),
    }


def _rollout(rollout: RolledOut) -> AdviseRollout:
    return {
        "replicas": rollout.replicas,
        "outcome": rollout.outcome,
        "domain": encodable(rollout.domain),
        "count": rollout.count,
        "courses": rollout.courses,
        "exact": rollout.exact,
    }


def _loss(loss: DomainLoss) -> AdviseLoss:
    return {
        "replicas": loss.replicas,
        "domain": encodable(loss.domain),
        "lost": loss.lost,
        "fitElsewhere": loss.back,
        "fitInOutage": loss.back_in_outage,
    }

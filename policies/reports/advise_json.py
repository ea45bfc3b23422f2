"""Advice as one JSON object for programs, whose form ``advise.schema.json`` says."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypedDict

import orjson

from policies.config.type_schema import Count, Keywords
from policies.model.workload import Workload
from policies.placement.advise import Advice
from policies.placement.constraint_sets import Others
from policies.placement.courses import Outcome
from policies.placement.domain_losses import DomainLoss
from policies.placement.goal import Goal
from policies.placement.goal_trial import Failure, FailureKind, PlacedReplicas, RolledOut
from policies.reports.advise_words import NOT_PROVEN, constraint_reasons, failure_text, goal_text, others_text
from policies.reports.explain_json import edit_fields
from policies.reports.policy_json import encodable
from policies.reports.suggestion_answer import FieldEdit

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/advise/v1"
#: The groups of the kinds whose API server knows how to merge lists of constraints.
_MERGED: Final = frozenset({"", "apps", "batch"})


class AdviseObject(TypedDict):
    """The workload.

    Attributes:
        kind: Its kind, with its group.
        namespace: Its namespace.
        name: Its name.
    """

    kind: str
    namespace: str
    name: str


class AdviseReplicas(TypedDict):
    """A range of replicas.

    Attributes:
        least: The smallest number.
        most: The largest number.
        source: The autoscaler that says so; empty where the workload or the command does.
    """

    least: Count
    most: Count
    source: str


class AdviseGoal(TypedDict):
    """What is wanted.

    Attributes:
        text: The same in words.
        topologyKey: Of the domains of which one goes.
        loseAtMost: A share of the replicas such as "1/3", or a number of them; null for any number.
        oneANode: Whether no node may have two replicas more than another that could take one.
        enforced: Whether a DoNotSchedule constraint must reach it.
        replicas: At which numbers of replicas.
    """

    text: str
    topologyKey: str
    loseAtMost: str | None
    oneANode: bool
    enforced: bool
    replicas: AdviseReplicas


class AdviseFailure(TypedDict):
    """Where the goal is first missed.

    Attributes:
        kind: How.
        text: The same in words.
        replicas: With how many replicas.
        domain: The domain that has too many; empty where it is not about one.
        count: How many it has.
        allowed: How many it may have.
    """

    kind: FailureKind
    text: str
    replicas: Count
    domain: str
    count: Count
    allowed: Count


class AdviseReason(TypedDict):
    """Why a field of a constraint is as it is.

    Attributes:
        field: The field.
        text: What fails if it were softer, or what it is for.
    """

    field: str
    text: str


class AdvisedConstraint(TypedDict):
    """A constraint to write.

    Attributes:
        constraint: The constraint, as the API has it.
        reasons: Why it is as it is.
    """

    constraint: dict[str, Any]
    reasons: list[AdviseReason]


class AdvisePatch(TypedDict):
    """What makes the object have the constraints.

    Attributes:
        type: How to merge it, as kubectl patch --type takes it.
        body: The patch.
    """

    type: Literal["strategic", "merge"]
    body: dict[str, Any]


class PlacedCount(TypedDict):
    """Where so many replicas are, in the worst of what was placed.

    Attributes:
        replicas: How many.
        domain: The domain with most of them; empty for nodes without the topology key.
        count: How many it has.
        allowed: How many it may have.
    """

    replicas: Count
    domain: str
    count: Count
    allowed: Count


class AdviseRollout(TypedDict):
    """What a rollout of so many replicas comes to.

    Attributes:
        replicas: How many.
        outcome: How it ends where it ends worst.
        domain: The domain with most replicas at the end.
        count: How many it has.
        courses: How many courses were taken.
        exact: Whether these are all.
    """

    replicas: Count
    outcome: Outcome
    domain: str
    count: Count
    courses: Count
    exact: bool


class AdviseLoss(TypedDict):
    """What the loss of a domain takes.

    Attributes:
        replicas: How many run before.
        domain: The domain.
        lost: How many are lost at once.
        fitElsewhere: How many of them fit once its nodes are removed.
        fitInOutage: The same while its nodes are still there, tainted as unreachable.
    """

    replicas: Count
    domain: str
    lost: Count
    fitElsewhere: Count
    fitInOutage: Count


class AdviseProof(TypedDict):
    """What was simulated with the constraints, or without any to write.

    Attributes:
        placed: At each number of replicas.
        everyTie: Whether every way was taken to choose among equally good nodes; else one that fills a domain
            and the first by name.
        fitting: How many replicas got a node.
        addedNodes: How many nodes were added for them.
        rollouts: At the ends of the range, where the goal is reached until then.
        losses: Of the domains with most replicas, at the ends of the range.
        notLookedAt: What may change the course of a real cluster.
    """

    placed: list[PlacedCount]
    everyTie: bool
    fitting: Count
    addedNodes: Count
    rollouts: list[AdviseRollout]
    losses: list[AdviseLoss]
    notLookedAt: list[str]


class AdviseReport(TypedDict):
    """The constraints with which a workload reaches a goal.

    Attributes:
        schema: The form's name; its number changes when a field is renamed, goes away or means something
            else.
        kubernetesVersion: The release of the scheduler.
        object: The workload.
        goal: What is wanted.
        reached: Whether it is reached with the constraints; null if not, and the search ended early.
        asItIs: Where the workload misses it as it is; null if it does not.
        missed: Where it is missed even with the constraints; null if it is not.
        domains: The domains that can take its pods.
        constraints: What to write; empty if the workload is best as it is, or without constraints.
        others: What becomes of the manifest's constraints for other topology keys.
        othersText: The same in words, with the reason; empty if they are kept.
        edits: Of the manifest.
        patch: The same as a patch; null if there is nothing to change.
        now: Where the replicas are that run now; null if none does.
        proof: What was simulated.
        tried: How many sets of constraints were tried.
        considered: How many there are.
        complete: Whether none was left out that could be preferred.
        notModeled: What else kube-scheduler checks for these pods.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)]
    kubernetesVersion: str
    object: AdviseObject
    goal: AdviseGoal
    reached: bool | None
    asItIs: AdviseFailure | None
    missed: AdviseFailure | None
    domains: list[str]
    constraints: list[AdvisedConstraint]
    others: Others
    othersText: str
    edits: list[FieldEdit]
    patch: AdvisePatch | None
    now: PlacedCount | None
    proof: AdviseProof
    tried: Count
    considered: Count
    complete: bool
    notModeled: list[str]


def render(advice: Advice) -> bytes:
    """Return advice as one line of JSON, without its end."""
    return orjson.dumps(fields(advice))


def fields(advice: Advice) -> AdviseReport:
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

"""Advice as one JSON object for programs, of the form ``advise.schema.json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, NamedTuple

from planning.advise.advise import Advice
from planning.advise.constraint_sets import Others
from planning.advise.goal import Goal
from planning.advise.goal_trial import Failure, PlacedReplicas, Trial
from planning.advise.words import (
    constraint_reasons,
    failure_text,
    goal_text,
    not_proven,
    others_text,
)
from planning.simulation.outcome import Outcome
from planning.simulation.suggestions.given_up import GivenUp
from policies.manifests.edits import Edit
from policies.manifests.wire import INLINE, Count, Keywords, dumps
from policies.model.version import KubernetesVersion
from policies.model.workload import Workload
from policies.model.workload_kinds import BUILT_IN_GROUPS

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/advise/v1"


class AdviseGoal(NamedTuple):
    """The goal, with its words."""

    text: str  #: The same in words.
    goal: Annotated[Goal, INLINE]  #: The goal.


class AdviseFailure(NamedTuple):
    """Where the goal is first missed."""

    text: str  #: The same in words.
    failure: Annotated[Failure, INLINE]  #: How it is missed.


class AdviseReason(NamedTuple):
    """Why a field of a constraint is as it is."""

    field: str  #: The field.
    text: str  #: What fails if it were softer, or what it is for.


class AdvisedConstraint(NamedTuple):
    """A constraint to write."""

    constraint: dict[str, Any]  #: The constraint, as the API has it.
    reasons: Sequence[AdviseReason]  #: Why it is as it is.


class AdvisePatch(NamedTuple):
    """A patch that makes the object have the constraints."""

    type: Literal["strategic", "merge"]  #: How to merge it, as kubectl patch --type takes it.
    body: dict[str, Any]  #: The patch.


class PlacedCount(NamedTuple):
    """Where the replicas of one number are, in the worst of what was placed."""

    placed: Annotated[PlacedReplicas, INLINE]  #: Where they are.
    allowed: Count  #: How many of them one domain may have.

    @classmethod
    def of(cls, placed: PlacedReplicas, goal: Goal) -> PlacedCount:
        """Return replicas with what a goal allows."""
        return cls(placed, goal.allowed(placed.replicas))


class AdviseProof(NamedTuple):
    """The simulations with the constraints, or without any to write."""

    placed: Sequence[PlacedCount]  #: At each number of replicas.
    trial: Annotated[Trial, INLINE]  #: What it came to.
    not_looked_at: Sequence[str]  #: What may change the course of a real cluster.


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseAnswer:
    """The constraints with which a workload reaches a goal."""

    #: The form's name; its number changes when a field is renamed, goes away or means something else.
    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA
    kubernetes_version: KubernetesVersion  #: The release of the scheduler.
    object: Workload  #: The workload.
    goal: AdviseGoal  #: What is wanted.
    #: Whether it is reached with the constraints; null if not, and the search ended early.
    reached: bool | None
    evicts: Count  #: How many pods of other workloads are evicted at most, for its replicas or in a rollout.
    reached_now: bool  #: Whether the pods that run now are within the limit; true if none runs.
    as_it_is: AdviseFailure | None  #: Where the workload misses it as it is; null if it does not.
    missed: AdviseFailure | None  #: Where it is missed even with the constraints; null if it is not.
    domains: Sequence[str]  #: The domains that can take its pods.
    #: What to write; empty if the workload is best as it is, or without constraints.
    constraints: Sequence[AdvisedConstraint]
    others: Others  #: What becomes of the manifest's constraints for other topology keys.
    others_text: str  #: The same in words, with the reason; empty if they are kept.
    given_up: Sequence[GivenUp]  #: What is weakened or removed of what the manifest has.
    edits: Sequence[Edit]  #: Of the manifest.
    patch: AdvisePatch | None  #: The same as a patch; null if there is nothing to change.
    now: PlacedCount | None  #: Where the replicas are that run now; null if none does.
    proof: AdviseProof  #: What was simulated.
    #: What becomes of the cluster once the workload is applied, and in one of up to 10,000 pods of the loss
    #: of each domain of the goal; null where that was ended early.
    outcome: Outcome | None
    tried: Count  #: How many sets of constraints were tried.
    considered: Count  #: How many there are.
    complete: bool  #: Whether none was left out that could be preferred.
    not_modeled: Sequence[str]  #: What else kube-scheduler checks for these pods.


def render(advice: Advice) -> bytes:
    """Return advice as one line of JSON, without its end."""
    goal, workload, trial = advice.goal, advice.workload, advice.trial
    answer = AdviseAnswer(
        kubernetes_version=trial.prepared.version,
        object=workload,
        goal=AdviseGoal(goal_text(goal), goal),
        reached=True if advice.is_met else False if advice.complete else None,
        evicts=trial.evicts,
        reached_now=advice.is_met_now,
        as_it_is=_failure(advice.as_is, goal),
        missed=_failure(trial, goal),
        domains=sorted(advice.domains),
        constraints=[
            AdvisedConstraint(
                constraint.to_dict(), [AdviseReason(*each) for each in constraint_reasons(constraint, advice)]
            )
            for constraint in (() if advice.chosen is None else advice.chosen.wanted)
        ],
        others=Others.KEPT if advice.chosen is None else advice.chosen.others,
        others_text=others_text(advice),
        given_up=advice.given_up,
        edits=advice.edits,
        patch=_patch(workload, advice),
        now=None if advice.now is None else PlacedCount.of(advice.now, goal),
        proof=AdviseProof(
            [PlacedCount.of(placed, goal) for placed in trial.placed],
            trial,
            not_proven(advice),
        ),
        outcome=advice.outcome,
        tried=advice.tried,
        considered=advice.considered,
        complete=advice.complete,
        not_modeled=trial.prepared.request.unmodeled,
    )
    return dumps(answer)


def _failure(trial: Trial, goal: Goal) -> AdviseFailure | None:
    failure = trial.failure(goal)
    return None if failure is None else AdviseFailure(failure_text(failure, goal), failure)


def _patch(workload: Workload, advice: Advice) -> AdvisePatch | None:
    """Return a patch that sets the whole list of constraints."""
    if not advice.edits:
        return None
    strategic = workload.kind.group in BUILT_IN_GROUPS
    new = advice.trial.prepared.workload.template.constraints
    if isinstance(new, list) and workload.template.constraints and strategic:
        # Otherwise the API server merges the lists by topologyKey.
        new = [{"$patch": "replace"}, *new]
    body: Any = new or None
    for name in reversed(workload.kind.constraints_path.segments):
        body = {name: body}
    return AdvisePatch("strategic" if strategic else "merge", body)

"""The form of advice in JSON: ``advise.schema.json`` is made from these types."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypedDict

from policies.config.type_schema import Count, Keywords
from policies.placement.constraint_sets import Others
from policies.placement.courses import Outcome
from policies.placement.goal_trial import FailureKind
from policies.reports.suggestion_answer import FieldEdit
from policies.reports.survive_answer import NamedWorkload

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/advise/v1"


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
        allowSoft: Whether DoNotSchedule constraints that are there may be weakened.
        replicas: At which numbers of replicas.
    """

    text: str
    topologyKey: str
    loseAtMost: str | None
    oneANode: bool
    enforced: bool
    allowSoft: bool
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


class AdviseGivenUp(TypedDict):
    """What the advice weakens or removes of the constraints that a workload has.

    Attributes:
        topologyKey: The key of the constraint.
        field: The field that becomes weaker; empty where all of the constraint goes.
        before: What it is.
        after: What it becomes.
    """

    topologyKey: str
    field: str
    before: str
    after: str


class AdviseAnswer(TypedDict):
    """The constraints with which a workload reaches a goal.

    Attributes:
        schema: The form's name; its number changes when a field is renamed, goes away or means something
            else.
        kubernetesVersion: The release of the scheduler.
        object: The workload.
        goal: What is wanted.
        reached: Whether it is reached with the constraints; null if not, and the search ended early.
        reachedNow: Whether the pods that run now are within the limit; true if none runs.
        asItIs: Where the workload misses it as it is; null if it does not.
        missed: Where it is missed even with the constraints; null if it is not.
        domains: The domains that can take its pods.
        constraints: What to write; empty if the workload is best as it is, or without constraints.
        others: What becomes of the manifest's constraints for other topology keys.
        othersText: The same in words, with the reason; empty if they are kept.
        givenUp: What is weakened or removed of what the manifest has.
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
    object: NamedWorkload
    goal: AdviseGoal
    reached: bool | None
    reachedNow: bool
    asItIs: AdviseFailure | None
    missed: AdviseFailure | None
    domains: list[str]
    constraints: list[AdvisedConstraint]
    others: Others
    othersText: str
    givenUp: list[AdviseGivenUp]
    edits: list[FieldEdit]
    patch: AdvisePatch | None
    now: PlacedCount | None
    proof: AdviseProof
    tried: Count
    considered: Count
    complete: bool
    notModeled: list[str]

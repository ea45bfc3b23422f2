"""The form of a simulation in JSON; the OpenAPI document is made from these types."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from policies.config.type_schema import Count
from policies.reports.rollout_answer import RolloutFields
from policies.reports.score_answer import AppliedFields, ReplicasFrom, UsedRevision
from policies.reports.what_if_answer import WhatIfAnswer


class BoundStep(TypedDict):
    """A pod that got a node.

    Attributes:
        name: The pod's name.
        namespace: Its namespace.
        node: The node.
        feasible: How many nodes were feasible.
        tied: The feasible nodes with the highest total, by name.
        score: That total; absent if only one node was feasible.
    """

    name: str
    namespace: str
    node: str
    feasible: Count
    tied: list[str]
    score: NotRequired[Count]


class PendingStep(TypedDict):
    """A pod that got none; the next was tried.

    Attributes:
        name: The pod's name.
        namespace: Its namespace.
        message: The scheduler's FitError.
        condition: The message of its PodScheduled condition.
    """

    name: str
    namespace: str
    message: str
    condition: str


class SimulatedDomains(AppliedFields, TypedDict):
    """The domains of a constraint in force.

    Attributes:
        pod: The first pod that has the constraint.
        constraint: Its position among those in force for that pod.
        before: Matching pods of each domain that an eligible node has, before.
        after: The same at the end.
        skew: How many more pods the fullest domain has at the end than the emptiest.
    """

    pod: str
    constraint: Count
    before: dict[str, Count]
    after: dict[str, Count]
    skew: Count


class PendingRuns(TypedDict):
    """Runs in which equally many pods stayed pending.

    Attributes:
        pods: How many pods.
        runs: How many runs.
    """

    pods: Count
    runs: Count


class SkewRuns(TypedDict):
    """Runs that ended with the same skew.

    Attributes:
        skew: The skew.
        runs: How many runs.
    """

    skew: Count
    runs: Count


class DomainRange(TypedDict):
    """Matching pods of each domain at the ends of all runs.

    Attributes:
        least: The fewest.
        median: The median, the lower one of two.
        most: The most.
        skews: In how many runs each skew came out.
    """

    least: dict[str, Count]
    median: dict[str, Count]
    most: dict[str, Count]
    skews: list[SkewRuns]


class SimulationRuns(TypedDict):
    """The ends of many simulations.

    Attributes:
        wanted: How many runs were asked for.
        done: How many were made.
        pending: In how many runs each number of pods stayed pending.
        domains: In the order of the domains of the first run.
    """

    wanted: Count | None
    done: Count
    pending: list[PendingRuns]
    domains: list[DomainRange]


class ReplicasBefore(TypedDict):
    """The replicas of the workload before.

    Attributes:
        wanted: Replicas that the workload wants.
        wantedFrom: What says so; null for a scale, whose number is asked for.
        placed: Those that had a node.
    """

    wanted: Count
    wantedFrom: ReplicasFrom | None
    placed: Count


class SimulateAnswer(TypedDict):
    """What becomes of pods that are scheduled one after another.

    Attributes:
        kubernetesVersion: The release that the scheduler behaves as.
        nodes: How many nodes there are, before any action.
        nodesToFind: How many feasible nodes are looked for, for each pod.
        revision: The revision of the workload that the pods were scheduled as; null for what has none.
        replicas: The replicas of the workload before; null where their number is not known.
        seed: Chose among nodes with the same total; null where the first by name was taken.
        steps: What becomes of each pod, in order.
        complete: Whether all pods were tried.
        pending: Pods that got no node.
        domains: Of each constraint in force.
        allDomains: Whether ``domains`` are those of all pods; of many different only some are.
        runs: What became of the pods every time; the rest is of the first. Null without runs.
        whatIf: What the actions change, the first time; null without any.
        rollout: How the workload was rolled out or scaled, the rest being of the likely course; null if
            neither was requested.
        notModeled: What else a scheduler looks at in these pods, which may refuse more nodes.
        notLookedAt: What may happen in a real cluster meanwhile.
    """

    kubernetesVersion: str
    nodes: Count
    nodesToFind: Count
    revision: UsedRevision | None
    replicas: ReplicasBefore | None
    seed: Count | None
    steps: list[BoundStep | PendingStep]
    complete: bool
    pending: Count
    domains: list[SimulatedDomains]
    allDomains: bool
    runs: SimulationRuns | None
    whatIf: WhatIfAnswer | None
    rollout: RolloutFields | None
    notModeled: list[str]
    notLookedAt: list[str]

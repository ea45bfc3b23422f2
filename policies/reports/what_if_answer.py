"""The form of what actions change in JSON; the OpenAPI document is made from these types."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from policies.config.type_schema import Count
from policies.placement.recovery import PodOutcome
from policies.reports.score_answer import AppliedFields


class DisplacedPodFields(TypedDict):
    """A pod that lost its node. If it was scheduled again it has the fields of a step, otherwise ``why``.

    Attributes:
        name: Its name.
        namespace: Its namespace.
        lostNode: The node that it lost.
        own: Whether it belongs to the workload of the request.
        owner: Its controller; empty if there is none or that is not known.
        priority: Its priority.
        outcome: What became of it.
        node: Its new node.
        feasible: How many nodes were feasible.
        tied: The feasible nodes with the highest total, by name.
        score: That total; absent if only one node was feasible.
        message: The scheduler's FitError.
        condition: The message of its PodScheduled condition.
        why: Why it was not scheduled again.
    """

    name: str
    namespace: str
    lostNode: str
    own: bool
    owner: str
    priority: int
    outcome: PodOutcome
    node: NotRequired[str]
    feasible: NotRequired[Count]
    tied: NotRequired[list[str]]
    score: NotRequired[Count]
    message: NotRequired[str]
    condition: NotRequired[str]
    why: NotRequired[str]


class DisruptedDomains(AppliedFields, TypedDict):
    """The domains of a constraint; one without an eligible node is missing.

    Attributes:
        constraint: Its position among those in force.
        before: Matching pods before the actions.
        disrupted: The same right after them.
        recovered: The same when displaced pods were scheduled again.
    """

    constraint: Count
    before: dict[str, Count]
    disrupted: dict[str, Count]
    recovered: dict[str, Count]


class WhatIfAnswer(TypedDict):
    """What actions change.

    Attributes:
        actions: How many actions there were.
        lostNodes: The nodes that are gone or unreachable.
        addedNodes: The new nodes.
        stayed: Pods that kept their node.
        ownStayed: Those of the workload; null without one.
        recovered: Pods that got a node again.
        pending: Pods that got none.
        notRecreated: Pods that nothing recreates: bare and static ones, and those of DaemonSets.
        notTried: Pods that were not scheduled again, mostly since their objects are not known.
        podsKnown: Whether the objects of all displaced pods are known.
        displaced: In the order in which they were scheduled again.
        domains: Of each constraint in force for the workload.
    """

    actions: Count
    lostNodes: list[str]
    addedNodes: list[str]
    stayed: Count
    ownStayed: Count | None
    recovered: Count
    pending: Count
    notRecreated: Count
    notTried: Count
    podsKnown: bool
    displaced: list[DisplacedPodFields]
    domains: list[DisruptedDomains]

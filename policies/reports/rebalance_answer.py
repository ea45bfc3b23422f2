"""The form of a plan of evictions in JSON: ``rebalance.schema.json`` is made from these types."""

from __future__ import annotations

from typing import Annotated, Final, TypedDict

from policies.config.type_schema import Count, Keywords
from policies.placement.rebalance import NoPlan
from policies.reports.score_answer import AppliedFields
from policies.reports.simulate_answer import BoundStep, PendingStep
from policies.reports.survive_answer import NamedWorkload

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/rebalance/v1"


class PlannedEviction(TypedDict):
    """One eviction.

    Attributes:
        pod: The pod.
        node: The node that it is on.
        replacement: What becomes of the pod that the controller makes in its place.
    """

    pod: str
    node: str
    replacement: BoundStep | PendingStep


class RebalancedConstraint(AppliedFields, TypedDict):
    """A constraint that the plan brings within maxSkew.

    Attributes:
        before: Matching pods of each domain, before.
        after: The same after the evictions.
    """

    before: dict[str, Count]
    after: dict[str, Count]


class RebalanceAnswer(TypedDict):
    """The fewest evictions that bring a workload back within maxSkew.

    Later releases may add fields; within v1 none is renamed or goes away.

    Attributes:
        schema: The form's name and version.
        object: The workload.
        whyNoPlan: Why there is no plan; null if there is one.
        evictions: The evictions in order; without a plan, those that were found before the search ended.
        fewest: No plan has fewer evictions.
        proven: Whether no shorter plan exists, with ties broken by name.
        certainty: The same in words; null without a plan.
        stuck: Where there is no plan because of it: where the replacement of a pod in excess would go.
        constraints: The constraints that are looked at.
        commands: What evicts the pods; nothing was executed.
        budgets: How many evictions each PodDisruptionBudget allows now that selects the pods.
        notModeled: What else a scheduler looks at in these pods, which may refuse more nodes.
        notes: Why PodDisruptionBudgets could not be read, if so; ``budgets`` then has none.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)]
    object: NamedWorkload
    whyNoPlan: NoPlan | None
    evictions: list[PlannedEviction]
    fewest: Count
    proven: bool
    certainty: str | None
    stuck: PlannedEviction | None
    constraints: list[RebalancedConstraint]
    commands: list[str]
    budgets: dict[str, int]
    notModeled: list[str]
    notes: list[str]

"""The evictions for a workload within maxSkew, as one JSON object of the form ``rebalance.schema.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from policies.manifests.wire import INLINE, Count, Keywords, dumps
from policies.model.workload import Workload
from policies.placement.core.placement import PreparedPod
from policies.placement.core.scale_down import ScaledDown
from policies.placement.rebalance.rebalance import Eviction, NoPlan, RebalancePlan
from policies.reports.rebalance.text import certainty, commands
from policies.scheduler.request import AppliedConstraint, SchedulingRequest

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/rebalance/v1"


class RebalancedConstraint(NamedTuple):
    """A constraint that is brought within maxSkew.

    Attributes:
        applied: The constraint.
        before: Matching pods of each domain, before.
        after: The same afterwards.
    """

    applied: Annotated[AppliedConstraint, INLINE]
    before: Mapping[str, Count]
    after: Mapping[str, Count]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceAnswer:
    """The fewest evictions that bring a workload back within maxSkew.

    Later releases may add fields; within v1 none is renamed or goes away.

    Attributes:
        schema: The form's name and version.
        object: The workload.
        why_no_plan: Why there is no plan; null if there is one.
        evictions: The evictions in order; without a plan, those that were found before the search ended.
        fewest: No plan has fewer evictions.
        proven: Whether no shorter plan exists, with ties broken by name.
        certainty: The same in words; null without a plan.
        stuck: Where there is no plan because of it: where the replacement of a pod in excess would go.
        constraints: The constraints that are looked at.
        commands: What evicts the pods; nothing was executed.
        budgets: How many evictions each PodDisruptionBudget allows now that selects the pods.
        not_modeled: What else a scheduler looks at in these pods, which may refuse more nodes.
        notes: Why PodDisruptionBudgets could not be read, if so; ``budgets`` then has none.
        scaled_down: The nodes that an autoscaler removes after the evictions, and whether that undoes them;
            null where that was not requested.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA
    object: Workload
    why_no_plan: NoPlan | None
    evictions: Sequence[Eviction]
    fewest: Count
    proven: bool
    certainty: str | None
    stuck: Eviction | None
    constraints: Sequence[RebalancedConstraint]
    commands: Sequence[str]
    budgets: Mapping[str, int]
    not_modeled: Sequence[str]
    notes: Sequence[str]
    scaled_down: ScaledDown | None = None


def render(
    prepared: PreparedPod,
    plan: RebalancePlan,
    unread: Sequence[str] = (),
    scaled: ScaledDown | None = None,
) -> bytes:
    """Return a plan as one line of JSON, without its end; what could not be read for it is in its notes."""
    answer = RebalanceAnswer(
        object=prepared.workload,
        why_no_plan=plan.why_none,
        evictions=plan.evictions,
        fewest=plan.least,
        proven=plan.proven,
        certainty=None if plan.why_none is not None else certainty(plan),
        stuck=plan.stuck,
        constraints=rebalanced(prepared.request, plan.before, plan.after),
        commands=commands(prepared, plan),
        budgets=plan.budgets,
        not_modeled=prepared.request.pod.unmodeled,
        notes=unread,
        scaled_down=scaled,
    )
    return dumps(answer)


def rebalanced(
    request: SchedulingRequest,
    before: Mapping[int, Mapping[str, int]],
    after: Mapping[int, Mapping[str, int]],
) -> list[RebalancedConstraint]:
    """Return the constraints whose pods are counted before and after, by position."""
    return [
        RebalancedConstraint(request.constraints[position], counts, after[position])
        for position, counts in before.items()
    ]

"""The evictions for a workload within maxSkew: JSON of the form ``evictions.schema.json``, or text.

The text has the commands that would do them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

import orjson
from rich.console import RenderableType
from rich.text import Text

from planning.audit.rebalance import Eviction, NoPlan, RebalancePlan
from planning.text.domains import domain_counts
from policies.manifests.sanitize import one_line
from policies.manifests.wire import INLINE, Count, Keywords, dumps
from policies.manifests.words import plural
from policies.model.workload import Workload
from policies.pods.placement import PreparedPod
from policies.reports.terminal import indented, item, print_all
from policies.scheduler.request import AppliedConstraint, SchedulingRequest

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/evictions/v1"


def render_text(prepared: PreparedPod, plan: RebalancePlan, *, width: int, color: bool) -> str:
    """Return the report as text, as ``print_all`` does."""
    return print_all(_parts(prepared, plan), width=width, color=color)


def commands(prepared: PreparedPod, plan: RebalancePlan) -> list[str]:
    """Return a command for each eviction; the API server refuses it where a budget does."""
    namespace = prepared.workload.namespace
    return [_command(namespace, eviction.pod) for eviction in plan.evictions]


def certainty(plan: RebalancePlan) -> str:
    """Return how certain it is that no shorter plan exists."""
    count = len(plan.evictions)
    if plan.proven:
        return "no plan has fewer, with ties broken by name"
    return f"a plan may have fewer than {count:,}, but none has fewer than {plan.least:,}"


def _parts(prepared: PreparedPod, plan: RebalancePlan) -> Iterator[RenderableType]:
    workload = prepared.workload
    title = one_line(f"{workload.kind.name} {workload.namespace}/{workload.name}")
    count = plural(len(plan.evictions), "eviction")
    if plan.why_not is None:
        verdict, style = f"{count}; {certainty(plan)}", ""
    elif plan.why_not is NoPlan.BALANCED:
        verdict, style = str(plan.why_not), ""
    elif plan.evictions:
        verb = "brings" if len(plan.evictions) == 1 else "bring"
        verdict, style = f"{count} {verb} it closer to maxSkew, but not within: {plan.why_not}", "yellow"
    else:
        verdict, style = f"there is no plan: {plan.why_not}", "red"
    yield Text.assemble((title, "bold"), ": ", (verdict, style))
    if plan.refusing:
        yield indented(Text(plan.refusing), 2)
    if plan.stuck is not None:
        yield indented(Text(f"such as {_line(plan.stuck)}"), 2)
    yield from domain_changes(prepared, plan.before, plan.after)
    if plan.evictions:
        yield ""
    for number, eviction in enumerate(plan.evictions, start=1):
        yield item(number, Text(_line(eviction)))
    yield from _notes(prepared, plan)


def domain_changes(
    prepared: PreparedPod, before: Mapping[int, Mapping[str, int]], after: Mapping[int, Mapping[str, int]]
) -> Iterator[RenderableType]:
    """Yield a line for each constraint: how many pods its domains have before and after, by its position."""
    for position, counts in before.items():
        constraint = prepared.request.constraints[position].constraint
        key = f"{one_line(constraint.topology_key)} ({constraint.when_unsatisfiable})"
        yield indented(
            Text(f"{key}, maxSkew {constraint.max_skew}: {domain_counts(counts, after[position])}"), 2
        )


def _line(eviction: Eviction) -> str:
    pod, node = one_line(eviction.pod), one_line(eviction.node)
    step = eviction.replacement
    where = "stays pending" if step.node is None else f"goes to {one_line(step.node)}"
    ties = f", one of {len(step.tied):,} nodes with the same score" if len(step.tied) > 1 else ""
    return f"evict {pod} on {node}: its replacement {where}{ties}"


def _notes(prepared: PreparedPod, plan: RebalancePlan) -> Iterator[RenderableType]:
    if listed := commands(prepared, plan):
        yield ""
        yield Text("Nothing was executed. Wait after each command until the replacement is ready:")
        for command in listed:
            yield Text(command, no_wrap=True)
    if any(len(eviction.replacement.tied) > 1 for eviction in plan.evictions):
        yield ""
        yield Text("The scheduler breaks ties at random: after each eviction, run this again.")
    for budget, allowed in plan.budgets.items():
        yield Text(f"PodDisruptionBudget {one_line(budget)}: {allowed:,} allowed at once")
    if not plan.budgets:
        yield Text("No PodDisruptionBudget that selects its pods was read.")
    if prepared.request.pod.unmodeled:
        listed = list(prepared.request.pod.unmodeled)
        yield Text(f"Not modeled: {', '.join(listed)}; the replacement may fit fewer nodes")


def _command(namespace: str, pod: str) -> str:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
    text = shlex.quote(orjson.dumps(body).decode())
    path = shlex.quote(f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction")
    return f"echo {text} | kubectl create --raw {path} -f -"


class RebalancedConstraint(NamedTuple):
    """A constraint that is brought within maxSkew."""

    applied: Annotated[AppliedConstraint, INLINE]  #: The constraint.
    before: Mapping[str, Count]  #: Matching pods of each domain, before.
    after: Mapping[str, Count]  #: The same afterwards.


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceAnswer:
    """The fewest evictions that bring a workload back within maxSkew.

    Later releases may add fields; within v1 none is renamed or goes away.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA  #: The form's name and version.
    object: Workload  #: The workload.
    why_not: NoPlan | None  #: Why the evictions do not bring it within maxSkew; null if they do.
    #: The evictions in order; where they do not bring it within maxSkew, those that bring it closer.
    evictions: Sequence[Eviction]
    fewest: Count  #: No plan has fewer evictions.
    proven: bool  #: Whether no shorter plan exists, with ties broken by name.
    certainty: str | None  #: The same in words; null where they do not bring it within maxSkew.
    #: Where no eviction helps: where the replacement of a pod in excess would go.
    stuck: Eviction | None
    refusing: str  #: What keeps pods out of the emptiest domains then, in words; empty where nothing does.
    constraints: Sequence[RebalancedConstraint]  #: The constraints that are looked at.
    commands: Sequence[str]  #: What evicts the pods; nothing was executed.
    #: How many evictions each PodDisruptionBudget allows now that selects the pods.
    budgets: Mapping[str, int]
    not_modeled: Sequence[str]  #: What else a scheduler looks at in these pods, which may refuse more nodes.
    notes: Sequence[str]  #: Why PodDisruptionBudgets could not be read, if so; ``budgets`` then has none.


def render_json(prepared: PreparedPod, plan: RebalancePlan, unread: Sequence[str] = ()) -> bytes:
    """Return a plan as one line of JSON, without its end; what could not be read for it is in its notes."""
    answer = RebalanceAnswer(
        object=prepared.workload,
        why_not=plan.why_not,
        evictions=plan.evictions,
        fewest=plan.least,
        proven=plan.proven,
        certainty=None if plan.why_not is not None else certainty(plan),
        stuck=plan.stuck,
        refusing=plan.refusing,
        constraints=rebalanced(prepared.request, plan.before, plan.after),
        commands=commands(prepared, plan),
        budgets=plan.budgets,
        not_modeled=prepared.request.pod.unmodeled,
        notes=unread,
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

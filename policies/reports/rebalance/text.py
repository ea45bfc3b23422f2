"""The evictions for a workload within maxSkew, as text, with the commands that would do them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from itertools import chain

import orjson
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from policies.manifests.sanitize import one_line
from policies.placement.core.placement import PreparedPod
from policies.placement.core.scale_down import ScaledDown
from policies.placement.rebalance.rebalance import Eviction, NoPlan, RebalancePlan
from policies.reports.domains import domain_counts
from policies.reports.simulate.scale_down_text import scaled_down_text
from policies.reports.words import item, print_all


def render(
    prepared: PreparedPod, plan: RebalancePlan, scaled: ScaledDown | None = None, *, width: int, color: bool
) -> str:
    """Return the report as text, no line longer than the width but commands.

    Args:
        prepared: The next pod of the workload.
        plan: The plan.
        scaled: The nodes that an autoscaler removes after it; None where that is not asked for.
        width: Columns of the terminal.
        color: Whether to use the terminal's colors.
    """
    removal = () if scaled is None else scaled_down_text(scaled)
    return print_all(chain(_parts(prepared, plan), removal), width=width, color=color)


def commands(prepared: PreparedPod, plan: RebalancePlan) -> list[str]:
    """Return a command for each eviction of a whole plan; the API server refuses it where a budget does."""
    namespace = prepared.workload.namespace
    if plan.why_none is not None:
        return []
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
    if plan.why_none is NoPlan.BALANCED:
        yield Text.assemble((title, "bold"), f": {plan.why_none}")
    elif plan.why_none is not None:
        yield Text.assemble((title, "bold"), ": ", ("there is no plan", "red"), f": {plan.why_none}")
        yield from _stuck(plan)
    else:
        count = len(plan.evictions)
        noun = "eviction" if count == 1 else "evictions"
        yield Text.assemble((title, "bold"), f": {count:,} {noun}; {certainty(plan)}")
    yield from domain_changes(prepared, plan.before, plan.after)
    if plan.evictions:
        yield ""
    for number, eviction in enumerate(plan.evictions, start=1):
        yield item(number, Text(_line(eviction)))
    yield from _notes(prepared, plan)


def _stuck(plan: RebalancePlan) -> Iterator[RenderableType]:
    if plan.stuck is not None:
        yield Padding(Text(f"such as {_line(plan.stuck)}"), (0, 0, 0, 2))


def domain_changes(
    prepared: PreparedPod, before: Mapping[int, Mapping[str, int]], after: Mapping[int, Mapping[str, int]]
) -> Iterator[RenderableType]:
    """Yield a line for each constraint: how many pods its domains have before and after, by its position."""
    for position, counts in before.items():
        constraint = prepared.request.constraints[position].constraint
        key = f"{one_line(constraint.topology_key)} ({constraint.when_unsatisfiable})"
        yield Padding(
            Text(f"{key}, maxSkew {constraint.max_skew}: {domain_counts(counts, after[position])}"),
            (0, 0, 0, 2),
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

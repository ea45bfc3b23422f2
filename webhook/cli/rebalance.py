"""``evenkeel rebalance``: the fewest evictions that bring a workload back within maxSkew; executes none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import click

from policies.config.context import AdmissionContext
from policies.manifests.errors import DocumentError
from policies.model.eviction_budget import EvictionBudget, read_eviction_budget
from policies.placement.placement import PreparedPod, prepare, read_workload
from policies.placement.rebalance import NoPlan, RebalancePlan, rebalance
from policies.reports import rebalance_json, rebalance_text
from webhook.cli.answers import BAD_INPUT, format_option, print_answer
from webhook.cli.live import list_objects
from webhook.cli.placement import evaluate_object
from webhook.cli.placement_options import PlacementOptions, note, placement_options, show

#: Exit codes: nothing to do or a plan, no plan.
PLANNED, NO_PLAN = 0, 1
#: Columns of the text where there is no terminal.
PIPED: Final = 100

#: Shown below the options as it stands: click wraps everything else.
_EXAMPLES = """\b
evenkeel rebalance deploy/web -n shop
evenkeel rebalance sts/db --cluster cluster.json --soft
kubectl get nodes,pods,services,rc,rs,sts,ns,deploy,pdb -A -o json > cluster.json
"""


@dataclass(slots=True)
class _Budgets:
    """The PodDisruptionBudgets among the objects of a cluster, which pass by once."""

    found: list[EvictionBudget] = field(default_factory=list)

    def __call__(self, obj: dict[str, Any]) -> None:
        """Look at an object."""
        if (budget := read_eviction_budget(obj)) is not None:
            self.found.append(budget)

    def allowing(self, prepared: PreparedPod) -> Iterator[tuple[str, int]]:
        """Yield the name of each budget that selects a workload's pods, and what it allows now."""
        pod, workload = prepared.request.pod, prepared.workload
        for budget in self.found:
            if budget.namespace == pod.namespace and budget.selector.matches(pod.labels):
                running = prepared.cluster.count_pods(pod.namespace, budget.selector)
                expected = running if workload.replicas is None else max(running, workload.replicas)
                yield budget.name, budget.evictions(running, expected)


@click.command(epilog=_EXAMPLES)
@placement_options
@click.option("--soft", is_flag=True, help="Bring ScheduleAnyway constraints within maxSkew, too.")
@format_option
@click.pass_context
def command(context: click.Context, /, *, soft: bool, form: str, **values: Any) -> None:  # the common options
    """Show the fewest evictions that bring a workload back within maxSkew.

    Each eviction is tried on the model with all plugins of kube-scheduler: its replacement must go to another
    domain. The commands that would evict the pods are printed; nothing is executed. Where there is no plan,
    the reason is shown.

    PodDisruptionBudgets are respected if they are in the snapshot, or may be read in the live cluster.

    Exit codes: 0 nothing to do or a plan, 1 there is no plan, 2 bad usage or input, 3 could not run.
    """
    options = PlacementOptions(**values).with_default_cluster()
    budgets = _Budgets()

    def judge(
        obj: dict[str, Any], judged_by: AdmissionContext, /, *, namespace: str
    ) -> tuple[PreparedPod, RebalancePlan]:
        prepared = prepare(read_workload(obj, judged_by, namespace=namespace), judged_by)
        if options.live:
            _fetch(options, prepared.request.pod.namespace, budgets)
        return prepared, rebalance(prepared, soft=soft, budgets=dict(budgets.allowing(prepared)))

    try:
        (prepared, plan), *_ = evaluate_object(options, judge, budgets)
    except DocumentError as error:
        click.echo("\n".join(error.problems), err=True)
        context.exit(BAD_INPUT)
    if form == "text":
        show(
            context,
            lambda width, color: rebalance_text.render(prepared, plan, width=width, color=color),
            piped=PIPED,
        )
    else:
        print_answer(rebalance_json.render(prepared, plan), form)
    context.exit(PLANNED if plan.why_none in (None, NoPlan.BALANCED) else NO_PLAN)


def _fetch(options: PlacementOptions, namespace: str, budgets: _Budgets) -> None:
    """Read the budgets of a namespace of the live cluster; that they may not be read is reported."""
    for obj in list_objects(options.context, "policy/v1", "PodDisruptionBudget", namespace, note):
        budgets(obj)

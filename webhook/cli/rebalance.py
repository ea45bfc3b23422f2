"""``evenkeel rebalance``: evictions that bring a workload back within maxSkew, and deletion costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from policies.manifests.fields import ErrorList
from webhook.cli.answers import print_answer
from webhook.cli.autoscale_option import DEDUCED, Autoscale
from webhook.cli.command import Command
from webhook.cli.options import answer_option
from webhook.cli.placement_options import PlacementOptions, placement_options
from webhook.cli.terminal import LINES, ExitCode, finish, note_and_keep, show

if TYPE_CHECKING:
    from planning.audit import deletion_costs as rebalance_deletion_costs
    from planning.audit import rebalance as rebalance_rebalance
    from planning.simulation import autoscaled
    from policies.config.context import AdmissionContext
    from policies.model import scaling
    from policies.pods import placement
    from policies.pods.known_pods import KnownPods


_EXAMPLES = """\
evenkeel rebalance deploy/web -n shop
evenkeel rebalance sts/db --cluster cluster.json --soft
evenkeel rebalance deploy/web -n shop --autoscale node-groups.yaml
kubectl get nodes,pods,services,rc,rs,sts,ns,deploy,pdb -A -o json > cluster.json
"""


@dataclass(slots=True)
class _Budgets:
    """The PodDisruptionBudgets among the objects of a cluster, which pass by once."""

    found: list[scaling.EvictionBudget] = field(default_factory=list)

    def __call__(self, obj: dict[str, Any]) -> None:
        """Look at an object."""
        from policies.model import cluster_kinds

        if obj.get("kind") != cluster_kinds.BUDGET[1] or not str(obj.get("apiVersion")).startswith("policy/"):
            return
        from policies.model import scaling

        errors = ErrorList()
        budget = scaling.read_eviction_budget(obj, errors)
        if not errors.errors:
            self.found.append(budget)

    def allowing(self, prepared: placement.PreparedPod) -> Iterator[tuple[str, int]]:
        """Yield the name of each budget that selects a workload's pods, and what it allows now."""
        pod, workload = prepared.request.pod, prepared.workload
        for budget in self.found:
            selector = budget.selector
            if selector is not None and budget.namespace == pod.namespace and selector.matches(pod.labels):
                running = prepared.cluster.count_pods(pod.namespace, selector)
                expected = running if workload.replicas is None else max(running, workload.replicas)
                yield budget.name, budget.evictions(running, expected)


@click.command(cls=Command, examples=_EXAMPLES)
@placement_options
@click.option("--soft", is_flag=True, help="Bring ScheduleAnyway constraints within maxSkew, too.")
@click.option(
    "--autoscale",
    metavar=f"FILE|{DEDUCED}",
    help="Remove nodes that are not needed after the evictions, as the autoscaler of a file, or of the "
    "cluster's nodes, does, and say whether that undoes them.",
)
@answer_option()
def command(*, soft: bool, autoscale: str | None, form: str, **values: Any) -> None:  # the common options
    """Show the fewest evictions that bring a workload back within maxSkew.

    Each of the fewest evictions is tried on the model with all plugins of kube-scheduler: its replacement
    must go to another domain. PodDisruptionBudgets are respected if they are in the snapshot, or may be read
    in the live cluster.

    Which pods a scale-down should delete, evenkeel scale --deletion-costs says.

    The commands are printed; nothing is executed. Where there is no plan, the reason is shown.

    Exit codes: 0 nothing to do or a plan, 1 there is no plan, 2 bad usage or input, 3 could not run.
    """
    options = PlacementOptions(**values).with_default_cluster()
    finish(print_answer_of(_evict(options, Autoscale(autoscale), soft=soft), form))


class RebalanceOutput(NamedTuple):
    """The output of the command, and whether there is a plan, or nothing to do."""

    text: Callable[[int, bool], str]
    json: bytes
    is_planned: bool


def print_answer_of(answer: RebalanceOutput, form: str) -> ExitCode:
    """Print an answer; return the exit code."""
    if form == "text":
        show(answer.text, piped=LINES)
    else:
        print_answer(answer.json, form)
    return ExitCode.of(clean=answer.is_planned)


def _evict(options: PlacementOptions, autoscale: Autoscale, *, soft: bool) -> RebalanceOutput:
    """Return the fewest evictions, and which nodes an autoscaler removes after them.

    Raises:
        DocumentError: The object cannot be placed, or the file of the autoscaler is not what it should be.
    """
    from planning.audit import evictions_text as evictions
    from planning.audit import rebalance as rebalance_rebalance
    from policies.model import cluster_kinds
    from policies.pods import placement
    from webhook.cli import live
    from webhook.cli import placement as cli_placement

    budgets, unread = _Budgets(), list[str]()

    def place(
        obj: dict[str, Any], context: AdmissionContext, known: KnownPods, /, *, namespace: str
    ) -> tuple[placement.PreparedPod, rebalance_rebalance.RebalancePlan, autoscaled.ScaledDown | None]:
        prepared = placement.prepare(placement.read_workload(obj, context, namespace=namespace), context)
        if options.live and not prepared.cluster.knows(cluster_kinds.BUDGET):
            # Whoever may not list them in all namespaces may still in this one.
            where = prepared.request.pod.namespace
            warn = partial(note_and_keep, unread)
            for budget in live.list_objects(options.context, "policy/v1", "PodDisruptionBudget", where, warn):
                budgets(budget)
        plan = rebalance_rebalance.rebalance(prepared, soft=soft, budgets=dict(budgets.allowing(prepared)))
        autoscaler = autoscale.read(prepared.cluster)
        if autoscaler is None:
            return prepared, plan, None
        return (
            prepared,
            plan,
            rebalance_rebalance.scale_down_after(prepared, plan, autoscaler, context, known.running),
        )

    (prepared, plan, scaled), *_ = cli_placement.evaluate_object(options, place, budgets)
    return RebalanceOutput(
        lambda width, color: evictions.render_text(prepared, plan, scaled, width=width, color=color),
        evictions.render_json(prepared, plan, unread, scaled),
        plan.why_none in (None, rebalance_rebalance.NoPlan.BALANCED),
    )


def rank(options: PlacementOptions, replicas: int, *, soft: bool) -> RebalanceOutput:
    """Return the deletion costs for a scale-down.

    Raises:
        DocumentError: The object cannot be placed.
    """
    from planning.audit import deletion_costs as rebalance_deletion_costs
    from planning.audit import deletion_costs_text as deletion_costs_report
    from policies.pods import placement
    from webhook.cli import placement as cli_placement

    def place(
        obj: dict[str, Any], context: AdmissionContext, known: KnownPods, /, *, namespace: str
    ) -> rebalance_deletion_costs.DeletionCosts:
        workload = placement.read_workload(obj, context, namespace=namespace)
        return rebalance_deletion_costs.deletion_costs(workload, context, replicas, known, soft=soft)

    found, *_ = cli_placement.evaluate_object(options, place, keeps=True)
    return RebalanceOutput(
        lambda width, color: deletion_costs_report.render_text(found, width=width, color=color),
        deletion_costs_report.render_json(found),
        found.why_none in (None, rebalance_deletion_costs.NoCosts.BALANCED),
    )

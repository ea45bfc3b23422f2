"""``evenkeel audit`` of one workload: evictions that bring it within maxSkew, and deletion costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from policies.manifests.fields import ErrorList
from webhook.cli.answers import print_answer
from webhook.cli.placement_options import PlacementOptions
from webhook.cli.terminal import LINES, ExitCode, note_and_keep, show

if TYPE_CHECKING:
    from planning.audit import deletion_costs as rebalance_deletion_costs
    from planning.audit import rebalance as rebalance_rebalance
    from policies.config.context import AdmissionContext
    from policies.model import scaling
    from policies.pods import placement
    from policies.pods.known_pods import KnownPods


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


def evictions(options: PlacementOptions, form: str, *, soft: bool) -> ExitCode:
    """Print the fewest evictions that bring a workload within maxSkew; return the exit code.

    Raises:
        DocumentError: The object cannot be placed.
    """
    from planning.audit import evictions_text
    from planning.audit import rebalance as rebalance_rebalance
    from policies.model import cluster_kinds
    from policies.pods import placement
    from webhook.cli import live
    from webhook.cli import placement as cli_placement

    budgets, unread = _Budgets(), list[str]()

    def place(
        obj: dict[str, Any], context: AdmissionContext, _known: KnownPods, /, *, namespace: str
    ) -> tuple[placement.PreparedPod, rebalance_rebalance.RebalancePlan]:
        prepared = placement.prepare(placement.read_workload(obj, context, namespace=namespace), context)
        if options.live and not prepared.cluster.knows(cluster_kinds.BUDGET):
            # Whoever may not list them in all namespaces may still in this one.
            where = prepared.request.pod.namespace
            warn = partial(note_and_keep, unread)
            for budget in live.list_objects(options.context, "policy/v1", "PodDisruptionBudget", where, warn):
                budgets(budget)
        allowed = dict(budgets.allowing(prepared))
        return prepared, rebalance_rebalance.rebalance(prepared, soft=soft, budgets=allowed)

    (prepared, plan), *_ = cli_placement.evaluate_object(options, place, budgets)
    _print(
        form,
        lambda width, color: evictions_text.render_text(prepared, plan, width=width, color=color),
        evictions_text.render_json(prepared, plan, unread),
    )
    return ExitCode.of(clean=plan.why_not in (None, rebalance_rebalance.NoPlan.BALANCED))


def _print(form: str, text: Callable[[int, bool], str], body: bytes) -> None:
    if form == "text":
        show(text, piped=LINES)
    else:
        print_answer(body, form)


def deletion_costs(options: PlacementOptions, replicas: int, form: str, *, soft: bool) -> ExitCode:
    """Print the deletion costs for a scale-down; return the exit code.

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
    _print(
        form,
        lambda width, color: deletion_costs_report.render_text(found, width=width, color=color),
        deletion_costs_report.render_json(found),
    )
    return ExitCode.of(clean=found.why_none in (None, rebalance_deletion_costs.NoCosts.BALANCED))

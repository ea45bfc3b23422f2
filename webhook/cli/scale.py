"""``evenkeel scale``: a workload at another number of replicas, and which pods a scale-down should delete."""

from __future__ import annotations

from typing import Any

import click

from planning.simulation.limits import MOST_ROLLED_OUT
from policies.manifests.errors import UsageError
from webhook.cli.autoscale_option import Autoscale, autoscale_option
from webhook.cli.command import Command
from webhook.cli.options import HTML, HTML_NOTE, answer_option
from webhook.cli.placement_options import PlacementOptions, placement_options
from webhook.cli.terminal import finish

_EXAMPLES = """\
evenkeel scale deploy/web -n shop --replicas 3
evenkeel scale deploy/web -n shop --replicas 3 --deletion-costs
"""


@click.command(cls=Command, examples=_EXAMPLES)
@placement_options
@click.option(
    "--replicas",
    type=click.IntRange(0, MOST_ROLLED_OUT),
    metavar="N",
    required=True,
    help="The number of replicas to scale to, from those that run, or that it wants where none runs.",
)
@click.option(
    "--deletion-costs",
    is_flag=True,
    help="Print the commands that rank the pods so that a scale-down leaves the workload within maxSkew.",
)
@click.option(
    "--soft",
    is_flag=True,
    help="With --deletion-costs: bring ScheduleAnyway constraints within maxSkew, too.",
)
@autoscale_option
@answer_option(HTML, text=HTML_NOTE)
def command(
    *,
    replicas: int,
    deletion_costs: bool,
    soft: bool,
    autoscale: str | None,
    form: str,
    **values: Any,
) -> None:  # the common options
    """Scale a workload up or down on paper: where new replicas go, which pods are deleted, what the skew is.

    A Deployment's pods are deleted in the order of the ReplicaSet's controller, which does not look at
    constraints. With --deletion-costs pods are chosen whose deletion leaves the workload within maxSkew: the
    annotations make the controller delete just these. The commands are printed; nothing is executed.

    Exit codes: 0 every pod got a node, or there are costs or nothing to do, 1 otherwise, 2 bad usage or
    input, 3 could not run.
    """
    options = PlacementOptions(**values).with_default_cluster()
    if not deletion_costs:
        if soft:
            raise UsageError("--soft may only be set with --deletion-costs")
        from webhook.cli import simulation
        from webhook.cli.node_actions import Happening
        from webhook.requests.simulate import SimulateRequest

        asked = SimulateRequest(scale=replicas)
        finish(simulation.report(options, asked, Happening(autoscale=Autoscale(autoscale)), form=form))
    if autoscale is not None:
        raise UsageError("--autoscale and --deletion-costs exclude each other")
    if form == HTML:
        raise UsageError("--deletion-costs has no page: -o text, json or yaml")
    from webhook.cli import rebalance

    finish(rebalance.print_answer_of(rebalance.rank(options, replicas, soft=soft), form))

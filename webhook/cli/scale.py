"""``evenkeel scale``: a workload at another number of replicas."""

from __future__ import annotations

from typing import Any

import click

from planning.simulation.limits import MOST_ROLLED_OUT
from webhook.cli.autoscale_option import Autoscale, autoscale_option
from webhook.cli.command import Command
from webhook.cli.options import HTML, HTML_NOTE, answer_option
from webhook.cli.placement_options import PlacementOptions, placement_options
from webhook.cli.terminal import finish

_EXAMPLES = """\
evenkeel scale deploy/web -n shop --replicas 3
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
@autoscale_option
@answer_option(HTML, text=HTML_NOTE)
def command(
    *,
    replicas: int,
    autoscale: str | None,
    form: str,
    **values: Any,
) -> None:  # the common options
    """Scale a workload up or down on paper: where new replicas go, which pods are deleted, what the skew is.

    Exit codes: 0 every pod got a node, 1 otherwise, 2 bad usage or
    input, 3 could not run.
    """
    options = PlacementOptions(**values).with_default_cluster()
    from webhook.cli import simulation
    from webhook.cli.node_actions import Happening
    from webhook.requests.simulate import SimulateRequest

    asked = SimulateRequest(scale=replicas)
    finish(simulation.report(options, asked, Happening(autoscale=Autoscale(autoscale)), form=form))

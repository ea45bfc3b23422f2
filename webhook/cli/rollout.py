"""``evenkeel rollout``: the new revision of a workload, rolled out step by step."""

from __future__ import annotations

from typing import Any

import click

from webhook.cli.autoscale_option import Autoscale, autoscale_option
from webhook.cli.command import Command
from webhook.cli.options import HTML, HTML_NOTE, answer_option
from webhook.cli.placement_options import PlacementOptions, placement_options
from webhook.cli.terminal import finish

_EXAMPLES = """\
evenkeel rollout -f web.yaml --live
evenkeel rollout -f web.yaml --cluster cluster.json
evenkeel rollout -f web.yaml --live --autoscale node-groups.yaml
"""


@click.command(cls=Command, examples=_EXAMPLES)
@placement_options
@autoscale_option
@answer_option(HTML, text=HTML_NOTE)
def command(*, autoscale: str | None, form: str, **values: Any) -> None:  # the common options
    """Roll a Deployment or StatefulSet out as the new revision of what runs, as its controller would.

    Shows every step, the domains before, at the worst moment and after, whether the rollout deadlocks, and
    what would make it complete. With --autoscale nodes are added for the pods that its end leaves pending,
    and it is rolled out again with them.

    Exit codes: 0 every pod got a node and the rollout completes, 1 some stay pending, or old ones stay until
    someone deletes them (OnDelete), 2 bad usage or input, 3 could not run.
    """
    from webhook.cli import simulation
    from webhook.cli.node_actions import Happening
    from webhook.requests.simulate import SimulateRequest

    options = PlacementOptions(**values).with_default_cluster()
    asked = SimulateRequest(rollout=True)
    finish(simulation.report(options, asked, Happening(autoscale=Autoscale(autoscale)), form=form))

"""``evenkeel what-if``: what becomes of pods when nodes are lost, drained, cordoned, tainted or added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from policies.manifests.errors import UsageError
from webhook.cli.action_options import Happening, action_options
from webhook.cli.autoscale_option import Autoscale, autoscale_option
from webhook.cli.command import Command
from webhook.cli.options import HTML, HTML_NOTE, answer_option
from webhook.cli.placement_options import PlacementOptions, placement_options
from webhook.cli.simulate import pods_option, report
from webhook.cli.terminal import finish
from webhook.late_imports import late_imports

with late_imports():
    from webhook.requests import simulate


_EXAMPLES = """\
evenkeel what-if deploy/web -n shop --lose zone=a
evenkeel what-if deploy/web -n shop --drain n1
evenkeel what-if -f web.yaml --cluster cluster.json --lose zone=a --add 3 like n1
evenkeel what-if deploy/web -n shop --live --lose zone=a --autoscale node-groups.yaml
evenkeel what-if deploy/web -n shop --uncordon n1 --untaint n2 team
"""


@click.command(cls=Command, examples=_EXAMPLES)
@placement_options
@action_options
@pods_option
@autoscale_option
@answer_option(HTML, text=HTML_NOTE)
@click.pass_context
def command(
    context: click.Context, /, *, replicas: int | None, autoscale: str | None, form: str, **values: Any
) -> None:  # the common options
    """Show what becomes of pods when nodes are lost, drained, cordoned, tainted or added.

    That happens to the nodes first, in the order given. Pods that lose their node are then scheduled again,
    the highest priority first, and after them the replicas of the workload. With --live the cluster is read
    with your own permissions, to know those pods. With --autoscale Cluster Autoscaler or Karpenter then adds
    nodes for what is pending.

    Exit codes: 0 every pod got a node, 1 some stay pending, 2 bad usage or input, 3 could not run, 130 ended
    by Ctrl-C, after which the report has what was done until then.
    """
    happening = replace(Happening.read(context, values), autoscale=Autoscale(autoscale))
    if not happening.actions:
        raise UsageError("say what happens to nodes, such as --lose, --drain, --uncordon or --add")
    options = PlacementOptions(**values).with_default_cluster()
    asked = simulate.SimulateRequest(replicas=replicas)
    finish(report(options, asked, happening, form=form))

"""``evenkeel what-if``: what becomes of pods when nodes are lost, drained, cordoned, tainted or added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import click

from policies.manifests.errors import UsageError
from webhook.cli.autoscale_option import Autoscale, autoscale_option
from webhook.cli.command import Command
from webhook.cli.completing_cluster import complete_node
from webhook.cli.options import HTML, HTML_NOTE, answer_option, with_options
from webhook.cli.placement_options import PlacementOptions, placement_options
from webhook.cli.simulate import pods_option
from webhook.cli.terminal import finish

_EXAMPLES = """\
evenkeel what-if deploy/web -n shop --lose zone=a
evenkeel what-if deploy/web -n shop --drain n1
evenkeel what-if -f web.yaml --cluster cluster.json --lose zone=a --add 3 like n1
evenkeel what-if deploy/web -n shop --live --lose zone=a --autoscale node-groups.yaml
evenkeel what-if deploy/web -n shop --uncordon n1 --untaint n2 team
"""


#: What happens to nodes.
_OPTIONS: Final = (
    click.option(
        "--lose", multiple=True, metavar="KEY=VALUE",
        help="Lose the nodes of a domain, such as zone=a: they are gone, with their pods.",
    ),
    click.option(
        "--drain", multiple=True, metavar="NODE", shell_complete=complete_node,
        help="Cordon a node and evict its pods, except for those of DaemonSets and static ones.",
    ),
    click.option(
        "--cordon", multiple=True, metavar="NODE", shell_complete=complete_node,
        help="Let a node take no more pods.",
    ),
    click.option(
        "--uncordon", multiple=True, metavar="NODE", shell_complete=complete_node,
        help="Let a node take pods again.",
    ),
    click.option(
        "--taint", multiple=True, nargs=2, metavar="NODE KEY[=VALUE]:EFFECT",
        help="Taint a node, as kubectl taint does; NoExecute evicts the pods that do not tolerate it.",
    ),
    click.option(
        "--untaint", multiple=True, nargs=2, metavar="NODE KEY[:EFFECT]",
        help="Remove the taints of a key from a node, of one effect or of all.",
    ),
    click.option(
        "--label", multiple=True, nargs=2, metavar="NODE KEY=VALUE",
        help="Label a node, in place of a label of the same key.",
    ),
    click.option(
        "--add", multiple=True, nargs=3, metavar="N like NODE",
        help="Add N nodes like one: its labels, taints and capacity, without pods.",
    ),
    click.option(
        "--without-taint", multiple=True, metavar="KEY",
        help="The nodes of the --add before it do not have the taints of this key.",
    ),
    click.option(
        "--with-label", multiple=True, metavar="KEY=VALUE",
        help="The nodes of the --add before it have this label, such as zone=d.",
    ),
    click.option(
        "--unreachable", is_flag=True,
        help="Lost nodes stay in the cluster with the taint node.kubernetes.io/unreachable, as in an outage.",
    ),
    click.option(
        "--displaced", type=click.Choice(["all", "own"]), default="all", show_default=True,
        help="Pods that are scheduled again if they lose their node: all, or only those of the workload.",
    ),
)  # fmt: skip


def action_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which must be a ``Command``."""
    return with_options(function, _OPTIONS)


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
    the highest priority first, and after them the replicas of the workload. A new revision of pods that run
    is rolled out before all that, unless --pods says otherwise; what it leaves pending is then tried again,
    and nothing more of it is played. With --live the cluster is read
    with your own permissions, to know those pods. With --autoscale Cluster Autoscaler or Karpenter then adds
    nodes for what is pending.

    Exit codes: 0 every pod got a node, 1 some stay pending, 2 bad usage or input, 3 could not run, 130 ended
    by Ctrl-C, after which the report has what was done until then.
    """
    from webhook.cli.node_actions import Happening

    happening = replace(Happening.read(context, values), autoscale=Autoscale(autoscale))
    if not happening.actions:
        raise UsageError("say what happens to nodes, such as --lose, --drain, --uncordon or --add")
    from webhook.cli import simulation
    from webhook.requests.simulate import SimulateRequest

    options = PlacementOptions(**values).with_default_cluster()
    asked = SimulateRequest(replicas=replicas)
    finish(simulation.report(options, asked, happening, form=form))

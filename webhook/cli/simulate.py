"""``evenkeel simulate``: replicas scheduled one after another, or queues of pods on standard input."""

from __future__ import annotations

from typing import Any, Final

import click

from planning.simulation.limits import MOST_PODS, MOST_SEED
from policies.manifests.errors import UsageError
from webhook.cli.autoscale_option import Autoscale, autoscale_option
from webhook.cli.command import Command
from webhook.cli.options import HTML, HTML_NOTE, answer_option
from webhook.cli.placement_options import PlacementOptions, placement_options
from webhook.cli.terminal import finish

_EXAMPLES = """\
evenkeel simulate deploy/web -n shop
evenkeel simulate -f web.yaml --live --pods 20
evenkeel simulate -f web.yaml --cluster cluster.json --runs 100
evenkeel simulate -f web.yaml --live --autoscale node-groups.yaml --scale-down
kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json > cluster.json
evenkeel simulate -f web.yaml --cluster cluster.json -o json
"""


def _read_percentage(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
    from webhook.requests import simulate

    if value is None or value == simulate.ADAPTIVE_NODES:
        return value
    if not (value.isascii() and value.isdecimal() and 1 <= int(value[:4]) <= 100):
        raise click.BadParameter("must be adaptive, or a whole number from 1 to 100")
    return int(value)


pods_option: Final = click.option(
    "--pods",
    "replicas",
    type=click.IntRange(0, MOST_PODS),
    metavar="N",
    help="Replicas to schedule, beside those that run.  [default: those that have no node, of a Job "
    "those that it runs at once; 1 for any other object without a number of replicas]",
)


@click.command(cls=Command, examples=_EXAMPLES)
@placement_options
@pods_option
@autoscale_option
@click.option(
    "--scale-down",
    is_flag=True,
    help="With --autoscale: then remove nodes that are not needed, and schedule their pods again.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, MOST_SEED),
    metavar="S",
    help="Choose among the best nodes at random, as kube-scheduler does; the same seed makes the same "
    "choices.  [default: the first by name; with --runs 0]",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Schedule the replicas N times with other choices among the best nodes, to see how the ends differ.",
)
@click.option(
    "--nodes-to-score",
    callback=_read_percentage,
    metavar="adaptive|PERCENT",
    help="The scheduler's percentageOfNodesToScore, whose default is adaptive: from 100 nodes on it stops "
    "looking when it has found enough feasible nodes.  [default: look at all nodes]",
)
@answer_option(HTML, text=HTML_NOTE)
def command(
    *,
    form: str,
    replicas: int | None,
    seed: int | None,
    runs: int | None,
    nodes_to_score: Any,
    autoscale: str | None,
    scale_down: bool,
    **values: Any,
) -> None:  # the common options
    """Schedule the replicas of a workload one after another, as kube-scheduler would.

    Each replica is bound before the next is scheduled. Shows the matching pods of each domain before and
    after, where the replicas went, and what stays pending, with the scheduler's own message.

    KIND/NAME is an object of the cluster, such as deploy/web, read with your own permissions or from the
    snapshot. A file has a workload, or a Pod. Services and Namespaces in it are added to the cluster.

    Other questions have commands of their own: evenkeel rollout, evenkeel scale, and evenkeel what-if for
    nodes that are lost, drained or added.

    With --autoscale Cluster Autoscaler or Karpenter adds nodes for what is pending, and the scheduler
    goes on when they are ready: which nodes come, in which zones, and what stays pending all the same.
    With --scale-down it then removes nodes that are not needed: which go, which stay and why, where their
    pods go, and whether that undoes the balance.

    A new revision over running pods replaces them: without --pods, --runs and --nodes-to-score it is rolled
    out, and the answer is that of evenkeel rollout.

    Exit codes: 0 every pod got a node, 1 some stay pending (in some run), 2 bad usage or input, 3 could not
    run, 130 ended by Ctrl-C, after which the report has what was done until then.
    """
    from planning.simulation.recovery import MOST_OTHERS
    from webhook.cli.node_actions import Happening
    from webhook.requests import simulate

    happening = Happening(others=MOST_OTHERS, autoscale=Autoscale(autoscale))
    options = PlacementOptions(**values).with_default_cluster()
    asked = simulate.SimulateRequest(
        replicas=replicas,
        seed=seed,
        runs=runs,
        nodes_to_score=nodes_to_score,
        scale_down=scale_down or None,
    )
    if scale_down and autoscale is None:
        raise UsageError(f"--scale-down needs --autoscale: {simulate.REMOVES_NOTHING}")
    from webhook.cli import simulation

    finish(simulation.report(options, asked, happening, form=form))

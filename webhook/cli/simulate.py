"""``evenkeel simulate``: replicas scheduled one after another, or queues of pods on standard input."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, Final

import click

from policies.config.context import AdmissionContext
from policies.manifests.errors import DocumentError
from policies.placement.scheduling_queue import queue_replicas, simulate_queue
from policies.reports import simulate_json, simulate_text
from webhook.cli.answers import BAD_INPUT, FITS, FITS_NOWHERE, answer_lines, answer_printer
from webhook.cli.placement import evaluate_object, read_context
from webhook.cli.placement_options import PlacementOptions, placement_options, show
from webhook.http.scoring.simulate_request import MOST_PODS, simulate_request, tie_breaker

#: Columns of the text where there is no terminal: what terminals have had for long.
PIPED: Final = 80

#: Shown below the options as it stands: click wraps everything else.
_EXAMPLES = """\b
evenkeel simulate deploy/web -n shop
evenkeel simulate -f web.yaml --live --replicas 20
kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json > cluster.json
evenkeel simulate -f web.yaml --cluster cluster.json -o json
evenkeel simulate --jsonl --cluster cluster.json < requests.jsonl > answers.jsonl
"""


@click.command(epilog=_EXAMPLES)
@placement_options
@click.option(
    "--replicas",
    type=click.IntRange(0, MOST_PODS),
    metavar="N",
    help="Replicas to schedule, beside those that run.  [default: those that have no node; 1 for an object "
    "without a number of replicas]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="S",
    help="Choose among the best nodes at random, as kube-scheduler does; the same seed makes the same "
    "choices.  [default: the first by name]",
)
@click.option(
    "-o",
    "--format",
    "form",
    type=click.Choice(["text", "json", "yaml"]),
    default="text",
    show_default=True,
    help="Format of the answer.",
)
@click.option(
    "--jsonl", is_flag=True, help="Read one simulate request per line from stdin, write one answer per line."
)
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    form: str,
    jsonl: bool,
    replicas: int | None,
    seed: int | None,
    **values: Any,
) -> None:  # the common options
    """Schedule the replicas of a workload one after another, as kube-scheduler would.

    Each replica is bound before the next is scheduled. Shows the matching pods of each domain before and
    after, where the replicas went, and what stays pending, with the scheduler's own message.

    KIND/NAME is an object of the cluster, such as deploy/web, read with your own permissions or from the
    snapshot. A file has a workload, or a Pod. Services and Namespaces in it are added to the cluster.

    With --jsonl each line of stdin is a simulate request, as for POST /v1/simulate, and gets one line on
    stdout, in order: the answer, or {"error", "details"} for an invalid (or empty) line. A request without
    "cluster" uses --cluster, or the live cluster as read once at the start.

    Exit codes: 0 every pod got a node, 1 some stay pending, 2 bad usage or input, 3 could not run. With
    --jsonl: 2 if a line was invalid, else 1 if some pod stays pending.
    """
    options = PlacementOptions(**values).with_default_cluster()
    if jsonl:
        options.check_lines()
        context.exit(answer_lines(sys.stdin.buffer, partial(_answer, server=read_context(options))))
    try:
        queue, entry = evaluate_object(options, partial(queue_replicas, count=replicas))
    except DocumentError as error:
        click.echo("\n".join(error.problems), err=True)
        context.exit(BAD_INPUT)
    simulated = simulate_queue(queue, choose=tie_breaker(seed), seed=seed)
    tell = answer_printer(form)
    if tell is not None:
        tell(simulate_json.render(simulated), entry)
    else:
        show(
            context,
            lambda width, color: simulate_text.render(simulated, width=width, color=color),
            piped=PIPED,
        )
    context.exit(FITS_NOWHERE if simulated.simulation.pending else FITS)


def _answer(line: bytes, server: AdmissionContext) -> tuple[bytes, bool]:
    simulated = simulate_request(line, server)
    return simulate_json.render(simulated), not simulated.simulation.pending

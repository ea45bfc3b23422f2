"""``evenkeel simulate``: replicas scheduled one after another, or queues of pods on standard input."""

from __future__ import annotations

import sys
from functools import partial
from itertools import count
from typing import Any, Final

import click

from policies.config.context import AdmissionContext
from policies.manifests.errors import DocumentError, UsageError
from policies.placement.pod_objects import PodObjects
from policies.placement.scheduling_queue import (
    MOST_PODS,
    PLAIN,
    PlannedActions,
    SchedulingQueue,
    SimulatedQueue,
    SimulationSettings,
    queue_replicas,
    simulate_queue,
)
from policies.reports import simulate_json, simulate_text
from policies.scheduler.node_sampling import ADAPTIVE
from webhook.cli.action_options import Happening, OrderedCommand, action_options
from webhook.cli.answers import (
    BAD_INPUT,
    FITS,
    FITS_NOWHERE,
    INTERRUPTED,
    Printer,
    answer_lines,
    answer_printer,
)
from webhook.cli.placement import evaluate_object, read_context
from webhook.cli.placement_options import PlacementOptions, placement_options, show
from webhook.cli.progress import interruptible, progress
from webhook.http.scoring.simulate_request import (
    ADAPTIVE_NODES,
    MOST_SEED,
    POD_COST,
    as_request,
    simulate_request,
    tie_breaker,
)

#: Pods times nodes from which the progress is shown: about a second.
LONG: Final = 2_500_000
#: Columns of the text where there is no terminal: what terminals have had for long.
PIPED: Final = 80

#: Shown below the options as it stands: click wraps everything else.
_EXAMPLES = """\b
evenkeel simulate deploy/web -n shop
evenkeel simulate -f web.yaml --live --replicas 20
evenkeel simulate -f web.yaml --cluster cluster.json --runs 100
evenkeel simulate deploy/web -n shop --lose zone=a --add 3 like n1
kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json > cluster.json
evenkeel simulate -f web.yaml --cluster cluster.json -o json
evenkeel simulate --jsonl --cluster cluster.json < requests.jsonl > answers.jsonl
"""


def _read_percentage(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    if value is None or value == ADAPTIVE_NODES:
        return None if value is None else ADAPTIVE
    if not (value.isascii() and value.isdecimal() and 1 <= int(value[:4]) <= 100):
        raise click.BadParameter("must be adaptive, or a whole number from 1 to 100")
    return int(value)


@click.command(cls=OrderedCommand, epilog=_EXAMPLES)
@placement_options
@action_options
@click.option(
    "--replicas",
    type=click.IntRange(0, MOST_PODS),
    metavar="N",
    help="Replicas to schedule, beside those that run.  [default: those that have no node; 1 for an object "
    "without a number of replicas]",
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
    "percentage",
    callback=_read_percentage,
    metavar="adaptive|PERCENT",
    help="The scheduler's percentageOfNodesToScore, whose default is adaptive: from 100 nodes on it stops "
    "looking when it has found enough feasible nodes.  [default: look at all nodes]",
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
    runs: int | None,
    percentage: int | None,
    **values: Any,
) -> None:  # the common options
    """Schedule the replicas of a workload one after another, as kube-scheduler would.

    Each replica is bound before the next is scheduled. Shows the matching pods of each domain before and
    after, where the replicas went, and what stays pending, with the scheduler's own message.

    With --lose, --drain, --cordon, --taint and --add that happens to the nodes first, in the order given.
    Pods that lose their node are then scheduled again, the highest priority first, and after them the
    replicas. With --live the cluster is then read with your own permissions, to know those pods.

    KIND/NAME is an object of the cluster, such as deploy/web, read with your own permissions or from the
    snapshot. A file has a workload, or a Pod. Services and Namespaces in it are added to the cluster.

    With --jsonl each line of stdin is a simulate request, as for POST /v1/simulate, and gets one line on
    stdout, in order: the answer, or {"error", "details"} for an invalid (or empty) line. A request without
    "cluster" uses --cluster, or the live cluster as read once at the start.

    Exit codes: 0 every pod got a node, 1 some stay pending (in some run), 2 bad usage or input, 3 could not
    run, 130 ended by Ctrl-C, after which the report has what was done until then. With --jsonl: 2 if a line
    was invalid, else 1 if some pod stays pending.
    """
    happening = Happening.read(context, values)
    options = PlacementOptions(**values).with_default_cluster()
    settings = SimulationSettings(seed=seed, runs=runs, percentage=percentage)
    if jsonl:
        options.check_lines()
        if replicas is not None or settings != PLAIN or happening.actions:
            fields = "replicas, seed, runs, nodesToScore and actions"
            raise UsageError(f"--jsonl: {fields} are fields of each request")
        running = PodObjects()
        answer = partial(_answer, server=read_context(options, running), running=running)
        context.exit(answer_lines(sys.stdin.buffer, answer))
    try:
        code = _report(context, options, settings, happening, replicas=replicas, tell=answer_printer(form))
    except DocumentError as error:
        click.echo("\n".join(error.problems), err=True)
        context.exit(BAD_INPUT)
    context.exit(code)


def _report(
    context: click.Context,
    options: PlacementOptions,
    settings: SimulationSettings,
    happening: Happening,
    *,
    replicas: int | None,
    tell: Printer | None,
) -> int:
    """Print what becomes of the replicas; return the exit code."""
    if options.live and not happening.actions:
        # Only who asks for a live cluster waits for what talks to it.
        from webhook.cli.live_placement import show_remote  # noqa: PLC0415

        asked = partial(as_request, settings=settings, replicas=replicas)
        fits = show_remote(context, options, "/v1/simulate", piped=PIPED, tell=tell, as_request=asked)
        if fits is not None:
            return FITS if fits else FITS_NOWHERE
    judge = partial(queue_replicas, count=replicas)
    queue, entry, placed_by = evaluate_object(options, judge, happening.seen)
    simulated = _simulate(queue, settings, happening.planned(placed_by))
    if tell is not None:
        tell(simulate_json.render(simulated), entry)
    else:
        show(
            context,
            lambda width, color: simulate_text.render(simulated, width=width, color=color),
            piped=PIPED,
        )
    if not simulated.complete:
        return INTERRUPTED
    return FITS_NOWHERE if simulated.pending else FITS


def _simulate(
    queue: SchedulingQueue, settings: SimulationSettings, planned: PlannedActions | None = None
) -> SimulatedQueue:
    """Simulate with progress on a terminal, until all is done or Ctrl-C is pressed."""
    # How many pods actions displace is known only when they have happened: not more than there are.
    displaced = 0 if planned is None else queue.cluster.pod_count
    steps = (len(queue.pods) + displaced) * (settings.runs or 1)
    long, done = steps * (queue.cluster.node_count + POD_COST) >= LONG, count(1)
    with progress("Simulating", long=long) as advance, interruptible() as stop:
        return simulate_queue(
            queue,
            settings,
            planned=planned,
            choose=tie_breaker(settings.used_seed),
            on_step=lambda _step: advance(next(done) / steps),
            stop=stop,
        )


def _answer(line: bytes, server: AdmissionContext, running: PodObjects) -> tuple[bytes, bool]:
    simulated = simulate_request(line, server, running)
    return simulate_json.render(simulated), not simulated.pending

"""``evenkeel simulate``: replicas scheduled one after another, or queues of pods on standard input."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import click

from policies.manifests.errors import UsageError
from policies.manifests.wire import members
from policies.placement.core.limits import MOST_PODS, MOST_SEED
from webhook.cli.action_options import Happening
from webhook.cli.answers import answer_lines, answer_printer
from webhook.cli.autoscale_option import Autoscale, autoscale_option
from webhook.cli.command import Command
from webhook.cli.options import HTML, HTML_NOTE, answer_option
from webhook.cli.placement_options import PlacementOptions, placement_options
from webhook.cli.terminal import SENTENCES, ExitCode, finish, interruptible, progress, show
from webhook.late_imports import late_imports

if TYPE_CHECKING:
    from collections.abc import Mapping

    from policies.config.context import AdmissionContext
    from policies.manifests.documents import ManifestObject


with late_imports():
    from policies.placement.core import known_pods, recovery
    from policies.placement.rollout import simulated_rollout
    from policies.placement.simulate import scheduling_queue, simulated_queue
    from policies.reports.simulate import json as simulate_json
    from policies.reports.simulate import text as simulate_text
    from webhook.cli import live_placement, placement
    from webhook.kube import snapshot
    from webhook.requests import cost, simulate

#: Pods times nodes from which the progress is shown: about a second.
LONG: Final = 2_500_000

_EXAMPLES = """\
evenkeel simulate deploy/web -n shop
evenkeel simulate -f web.yaml --live --pods 20
evenkeel simulate -f web.yaml --cluster cluster.json --runs 100
evenkeel simulate -f web.yaml --live --autoscale node-groups.yaml --scale-down
kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json > cluster.json
evenkeel simulate -f web.yaml --cluster cluster.json -o json
evenkeel simulate --jsonl --cluster cluster.json < requests.jsonl > answers.jsonl
"""


def _read_percentage(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
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
@click.option(
    "--jsonl", is_flag=True, help="Read one simulate request per line from stdin, write one answer per line."
)
def command(
    *,
    form: str,
    jsonl: bool,
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

    With --jsonl each line of stdin is a simulate request, as for POST /v1/simulate, and gets one line on
    stdout, in order: the answer, or {"error", "details"} for an invalid (or empty) line. A request without
    "cluster" uses --cluster, or the live cluster as read once at the start.

    A new revision over running pods replaces them: without --pods and --runs the headline says how its
    rollout ends, and the exit code is that of evenkeel rollout.

    Exit codes: 0 every pod got a node, 1 some stay pending (in some run), 2 bad usage or input, 3 could not
    run, 130 ended by Ctrl-C, after which the report has what was done until then. With --jsonl: 2 if a line
    was invalid, else 1 if some pod stays pending.
    """
    happening = Happening(others=recovery.MOST_OTHERS, autoscale=Autoscale(autoscale))
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
    if jsonl:
        options.check_lines()
        if asked != simulate.SimulateRequest() or autoscale is not None:
            shared = ", ".join(entry.name for entry in members(simulate.SimulationFields))
            raise UsageError(f"--jsonl: {shared} and rollout are fields of each request")
        known = _known(options)
        server = placement.read_context(options, known, everything=True)
        answer = partial(_answer, server=server, known=known)
        finish(answer_lines(sys.stdin.buffer, answer))
    finish(report(options, asked, happening, form=form))


def report(
    options: PlacementOptions,
    asked: simulate.SimulateRequest,
    happening: Happening,
    *,
    form: str,
) -> ExitCode:
    """Print what becomes of the replicas or the workload; return the exit code."""
    action = asked.happening(happening.actions)
    tell = answer_printer(form, "simulate", options=options, action=action)
    if options.live and not happening.reads_all:

        def as_request(obj: dict[str, Any]) -> simulate.SimulateRequest:
            return replace(asked, workload=obj)

        fits = live_placement.show_remote(
            options, "/v1/simulate", piped=SENTENCES, tell=tell, as_request=as_request
        )
        if fits is not None:
            return ExitCode.of(clean=fits)
    simulated: simulated_queue.SimulatedQueue | simulated_rollout.SimulatedRollout
    if asked.rolls_out:
        simulated, entry, *_ = _roll_out(options, asked, happening.autoscale)
    else:
        if not happening.reads_all:
            happening = replace(happening, running=snapshot.pod_objects(options.cluster))
        queue, entry = _queue(options, asked, happening)
        planned = replace(happening.planned(queue.cluster), scales_down=bool(asked.scale_down))
        simulated = _simulate(queue, asked.settings, planned)
    if tell is not None:
        tell(simulate_json.render(simulated), entry, simulate_text.verdict(simulated))
    else:
        show(
            lambda width, color: simulate_text.render(simulated, width=width, color=color),
            piped=SENTENCES,
        )
    if isinstance(simulated, simulated_queue.SimulatedQueue) and not simulated.complete:
        return ExitCode.INTERRUPTED
    return ExitCode.of(clean=simulated.succeeds)


def _queue(
    options: PlacementOptions, asked: simulate.SimulateRequest, happening: Happening
) -> tuple[scheduling_queue.SchedulingQueue, ManifestObject]:
    """Return the replicas, and the object that they are of; the objects of pods are kept."""
    judge = partial(scheduling_queue.queue_replicas, count=asked.replicas, changes_nodes=happening.reads_all)
    answer = placement.evaluate_object(options, judge, happening.running)
    return answer.found, answer.entry


def _roll_out(
    options: PlacementOptions, asked: simulate.SimulateRequest, autoscale: Autoscale
) -> placement.PlacementAnswer[simulated_rollout.SimulatedRollout]:
    known = _known(options)
    settings = asked.rollout_settings(known)

    def judge(
        obj: Mapping[str, Any], context: AdmissionContext, *, namespace: str
    ) -> simulated_rollout.SimulatedRollout:
        autoscaler = None if context.cluster is None else autoscale.read(context.cluster)
        return simulated_rollout.roll_out(obj, context, settings, namespace=namespace, autoscaler=autoscaler)

    return placement.evaluate_object(options, judge, known, everything=True)


def _known(options: PlacementOptions) -> known_pods.KnownPods:
    """Return the store for the objects of the cluster's pods: now is the clock for a live one."""
    return known_pods.KnownPods(
        now=time.time() if options.live else 0.0, running=snapshot.pod_objects(options.cluster)
    )


def _simulate(
    queue: scheduling_queue.SchedulingQueue,
    settings: simulated_queue.SimulationSettings,
    planned: simulated_queue.PlannedActions,
) -> simulated_queue.SimulatedQueue:
    """Simulate with progress on a terminal, until all is done or Ctrl-C is pressed."""
    # How many pods actions displace is known only when they have happened: not more than there are.
    displaced = queue.cluster.pod_count if planned.actions else 0
    steps = (len(queue.pods) + displaced) * (settings.runs or 1)
    long, done = steps * (queue.cluster.node_count + cost.POD_COST) >= LONG, count(1)
    with progress("Simulating", long=long) as advance, interruptible() as stop:
        return simulated_queue.simulate_queue(
            queue,
            settings,
            planned=planned,
            choose=simulate.tie_breaker(settings.used_seed),
            on_step=lambda _step: advance(next(done) / steps),
            stop=stop,
        )


def _answer(line: bytes, server: AdmissionContext, known: known_pods.KnownPods) -> tuple[bytes, bool]:
    simulated = simulate.simulate_request(line, server, known)
    return simulate_json.render(simulated), simulated.succeeds

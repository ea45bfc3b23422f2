"""The simulation of ``simulate``, ``rollout``, ``scale`` and ``what-if``: what becomes of pods, printed."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from policies.placement.core import known_pods
from policies.placement.rollout import simulated_rollout
from policies.placement.simulate import scheduling_queue, simulated_queue
from policies.reports.simulate import json as simulate_json
from policies.reports.simulate import text as simulate_text
from webhook import snapshot_file
from webhook.cli import placement
from webhook.cli.answers import answer_lines, answer_printer
from webhook.cli.autoscale_option import Autoscale
from webhook.cli.node_actions import Happening
from webhook.cli.placement_options import PlacementOptions
from webhook.cli.terminal import SENTENCES, ExitCode, interruptible, progress, show
from webhook.requests import cost, simulate

if TYPE_CHECKING:
    from policies.config.context import AdmissionContext
    from policies.manifests.documents import ManifestObject

#: Pods times nodes from which the progress is shown: about a second.
LONG: Final = 2_500_000


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
        from webhook.cli.live_placement import show_remote

        def as_request(obj: dict[str, Any]) -> simulate.SimulateRequest:
            return replace(asked, workload=obj)

        fits = show_remote(options, "/v1/simulate", piped=SENTENCES, tell=tell, as_request=as_request)
        if fits is not None:
            return ExitCode.of(clean=fits)
    simulated: simulated_queue.SimulatedQueue | simulated_rollout.SimulatedRollout
    if asked.rolls_out:
        simulated, entry, *_ = _roll_out(options, asked, happening.autoscale)
    else:
        if not happening.reads_all:
            happening = replace(happening, running=snapshot_file.pod_objects(options.cluster))
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


def answer_requests(options: PlacementOptions) -> ExitCode:
    """Answer the requests on standard input, a line each; return the exit code."""
    known = _known(options)
    server = placement.read_context(options, known, everything=True)
    return answer_lines(sys.stdin.buffer, partial(_answer, server=server, known=known))


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
        now=time.time() if options.live else 0.0, running=snapshot_file.pod_objects(options.cluster)
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

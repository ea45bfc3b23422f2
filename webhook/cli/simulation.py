"""The simulation of ``simulate``, ``rollout``, ``scale`` and ``what-if``: what becomes of pods, printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from planning.simulation import scheduling_queue, simulated_queue
from planning.simulation.rollout import simulated_rollout
from planning.what_if import simulate_json, simulate_text
from webhook.cli import placement
from webhook.cli.answers import answer_printer
from webhook.cli.node_actions import Happening
from webhook.cli.placement_options import PlacementOptions
from webhook.cli.terminal import SENTENCES, ExitCode, interruptible, progress, show
from webhook.requests import simulate
from webhook.requests.placement import POD_COST

if TYPE_CHECKING:
    from policies.config.context import AdmissionContext
    from policies.manifests.documents import ManifestObject
    from policies.pods.known_pods import KnownPods

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
    found, entry = _queue(options, asked, happening)
    if isinstance(found, simulated_rollout.SimulatedRollout):
        simulated = found
    else:
        planned = replace(happening.planned(found.cluster), scales_down=bool(asked.scale_down))
        simulated = _simulate(found, asked.settings, planned)
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
) -> tuple[scheduling_queue.SchedulingQueue | simulated_rollout.SimulatedRollout, ManifestObject]:
    """Return the replicas, or how the workload is rolled out or scaled, and the object that they are of."""

    def judge(
        obj: Mapping[str, Any], context: AdmissionContext, known: KnownPods, *, namespace: str
    ) -> scheduling_queue.SchedulingQueue | simulated_rollout.SimulatedRollout:
        settings, queue = asked.rollout_settings(known), None
        if asked.applies:
            queue = scheduling_queue.queue_applied(obj, context, settings, namespace=namespace)
        changes_nodes = bool(happening.actions) or asked.changes_nodes
        if asked.rolls_out or (queue is not None and not changes_nodes):
            autoscaler = None if context.cluster is None else happening.autoscale.read(context.cluster)
            return simulated_rollout.roll_out(
                obj,
                context,
                settings,
                namespace=namespace,
                autoscaler=autoscaler,
                played=None if queue is None else queue.rollout,
            )
        return queue or scheduling_queue.queue_replicas(
            obj,
            context,
            known,
            namespace=namespace,
            count=asked.replicas,
            changes_nodes=happening.reads_all,
        )

    answer = placement.evaluate_object(options, judge, keeps=asked.rolls_out)
    return answer.found, answer.entry


def _simulate(
    queue: scheduling_queue.SchedulingQueue,
    settings: simulated_queue.SimulationSettings,
    planned: simulated_queue.PlannedActions,
) -> simulated_queue.SimulatedQueue:
    """Simulate with progress on a terminal, until all is done or Ctrl-C is pressed."""
    # How many pods actions displace is known only when they have happened: not more than there are.
    displaced = queue.cluster.pod_count if planned.actions else 0
    steps = (len(queue.pods) + displaced) * (settings.runs or 1)
    long, done = steps * (queue.cluster.node_count + POD_COST) >= LONG, count(1)
    with progress("Simulating", long=long) as advance, interruptible() as stop:
        return simulated_queue.simulate_queue(
            queue,
            settings,
            planned=planned,
            choose=simulate.tie_breaker(settings.used_seed),
            on_step=lambda _step: advance(next(done) / steps),
            stop=stop,
        )

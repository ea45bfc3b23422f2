"""A rollout, and a scale, of a Deployment on a large cluster: with the search for the worst course."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from benchmarks.clusters import HOSTNAME, USUAL, ZONE, objects, probe_pod
from planning.simulation.rollout.rollout import Rollout, simulate_rollout
from planning.simulation.rollout.rollout_start import RolloutSettings
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from policies.scheduler.index import ClusterIndex

#: Replicas that are rolled out.
REPLICAS: Final = 100
#: Rounds, of which the fastest counts: the machine has other work.
ROUNDS: Final = 5
#: The project's aim for a rollout, in seconds of processor time.
AIM_S: Final = 1.0


def run() -> None:
    """Print what a rollout costs where the old revision is placed first, and a scale."""
    index = ClusterIndex()
    for obj in objects(USUAL):
        index.apply(obj)
    context = AdmissionContext(policies=(), cluster=index)
    size = f"{USUAL.nodes:,} nodes, {USUAL.pods:,} pods"
    print(f"Rollout of {REPLICAS} replicas, {size} (fastest of {ROUNDS}):")
    plain = RolloutSettings(known=UNREAD_PODS)
    half = RolloutSettings(known=UNREAD_PODS, scale=REPLICAS // 2)
    for hard in (True, False):
        one, two = (_workload(hard=hard, replicas=times * REPLICAS) for times in (1, 2))
        kind = "hard" if hard else "soft"
        _line(
            f"rollout, {kind} constraints, none runs", partial(simulate_rollout, one, context, plain), AIM_S
        )
        _line(
            f"rollout of {2 * REPLICAS}, {kind} constraints", partial(simulate_rollout, two, context, plain)
        )
        _line(f"scale to half, {kind} constraints", partial(simulate_rollout, one, context, half))


def _line(what: str, work: Callable[[], Rollout], aim: float | None = None) -> None:
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        rollout = work()
        times.append(time.process_time() - started)
    courses = rollout.courses
    told = "" if aim is None else f"   aim {aim:g}"
    steps = f"{len(courses.likely.steps)} steps, {courses.count} courses"
    print(f"  {what:<40} {min(times):6.2f} s   ({steps}){told}")


def _workload(*, hard: bool, replicas: int) -> dict[str, Any]:
    """Return a Deployment of the probe whose constraints count its own pods."""
    pod = probe_pod()
    labels = {"app": "rolled-out"}
    constraints = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule" if hard and key == ZONE else "ScheduleAnyway",
            "labelSelector": {"matchLabels": labels},
        }
        for key in (ZONE, HOSTNAME)
    ]
    spec = pod["spec"] | {"topologySpreadConstraints": constraints}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "rolled-out", "namespace": pod["metadata"]["namespace"]},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


if __name__ == "__main__":
    run()

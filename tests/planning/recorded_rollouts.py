"""The steps of the controllers of a real control plane, beside the simulated ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from planning.audit.deletion_costs import deletion_costs
from planning.simulation.events import LostDomain, NodeEvent
from planning.simulation.rollout.courses import PodAction, RolloutEnd
from planning.simulation.rollout.rollout import simulate_rollout
from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import (
    PlannedActions,
    SimulatedQueue,
    SimulationSettings,
    simulate_queue,
)
from policies.config.context import AdmissionContext
from policies.pods.known_pods import KnownPods
from policies.pods.placement import read_workload
from policies.scheduler.index import ClusterIndex
from tests.planning.scenarios import losing, played
from webhook.requests.simulate import tie_breaker

ZONE = "topology.kubernetes.io/zone"
#: Other choices among equal nodes and pods that are tried where no course ends as the real one did.
SEEDS = 30


class RecordedCluster(NamedTuple):
    """The cluster of a record, as the commands read it from a snapshot."""

    context: AdmissionContext
    known: KnownPods

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> RecordedCluster:
        """Return the cluster of a record."""
        index, known = ClusterIndex(), KnownPods(None, now=0.0)
        for obj in record["cluster"]["items"]:
            index.apply(obj)
            known(obj)
        return cls(AdmissionContext(policies=(), cluster=index), known)


def different(record: Mapping[str, Any], *, seeds: int = SEEDS) -> dict[str, tuple[Any, Any]]:
    """Return each field in which the simulation and reality differ, with both values; reality's first.

    Args:
        record: What happened.
        seeds: Other choices to try of a rollout that ends elsewhere.
    """
    cluster, action = RecordedCluster.read(record), record["action"]
    if "rollout" in action or "scale" in action:
        found = _rolled_out(record, cluster, seeds)
    elif record.get("phase") == "survive":
        found = _survived(record)
    elif "deletionCostTo" in action:
        found = _costs(record, cluster)
    else:
        found = _queued(record, cluster)
    if not record["observed"].get("domains_after"):
        # Only the scheduler's own constraints are in force, which the records leave out.
        found = {name: pair for name, pair in found.items() if name not in ("domains", "skews", "peaks")}
    return {name: pair for name, pair in found.items() if pair[0] != pair[1]}


def _rolled_out(
    record: Mapping[str, Any], cluster: RecordedCluster, seeds: int
) -> dict[str, tuple[Any, Any]]:
    seen = record["observed"]
    settings = RolloutSettings(scale=record["action"].get("scale"), known=cluster.known)
    rollout = simulate_rollout(record["workload"], cluster.context, settings)
    courses = rollout.courses
    worst = courses.worst
    real = _multisets(seen["domains_after"])

    def ends() -> Iterator[list[Any]]:
        yield from (_multisets(course.after) for course in (courses.likely, worst))
        for seed in range(seeds):
            tried = RolloutSettings(scale=settings.scale, known=cluster.known, choose=tie_breaker(seed))
            other = simulate_rollout(record["workload"], cluster.context, tried)
            yield _multisets(other.courses.likely.after)

    return {
        "complete": (seen["completed"], rollout.outcome is RolloutEnd.COMPLETE),
        "pending": (seen["pending"], len(worst.pending)),
        "old": (seen["oldPods"], worst.old),
        "message": (seen["message"] in _messages(record, worst), True),
        "domains": (real, next((end for end in ends() if end == real), _multisets(courses.likely.after))),
        "skews": ([], _above(seen["skews"], courses.worst_skews)),
        "peaks": ([], _above(seen["worst"], courses.worst_peaks)),
        **_deleted(seen, rollout),
    }


def _deleted(seen: Mapping[str, Any], rollout: Any) -> dict[str, tuple[Any, Any]]:
    """Compare which pods a scale-down deletes, where that was left to no chance; pending ones are alike."""
    deleted = [step for step in rollout.courses.likely.steps if step.action is PodAction.DELETED]
    if "deleted" not in seen or rollout.courses.free or any(step.node is None for step in deleted):
        return {}
    return {"deleted": (seen["deleted"], sorted(step.pod for step in deleted))}


def _messages(record: Mapping[str, Any], course: Any) -> set[str]:
    return {course.message}


def _queued(record: Mapping[str, Any], cluster: RecordedCluster) -> dict[str, tuple[Any, Any]]:
    seen, action = record["observed"], record["action"]
    happening: tuple[NodeEvent, ...] = ()
    count = action.get("place")
    if "lose" in action:
        happening = (NodeEvent(lose=LostDomain(topology_key=ZONE, value=action["lose"])),)
    if "drain" in action:
        happening = (NodeEvent(drain=action["drain"]),)

    def run(seed: int | None) -> SimulatedQueue:
        queue = queue_replicas(record["workload"], cluster.context, cluster.known, count=count)
        planned = PlannedActions(actions=happening)
        return simulate_queue(queue, SimulationSettings(seed=seed), planned=planned, choose=tie_breaker(seed))

    first = run(None)
    real = _multisets(seen["domains_after"])
    ends = (_ends(run(seed)) for seed in (None, *range(SEEDS)))
    messages = {step.condition for step in first.steps if step.node is None} or {""}
    return {
        "pending": (seen["pending"], first.pending),
        "message": (seen["message"] in messages, True),
        "domains": (real, next((end for end in ends if end == real), _ends(first))),
    }


def _ends(simulated: SimulatedQueue) -> list[Any]:
    changes = simulated.simulation.domains
    if changes or simulated.what_if is None:
        return _multisets(change.after for change in changes)
    return _multisets(stages.recovered for stages in simulated.what_if.domains)


def _survived(record: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    seen = record["observed"]
    outcome = played(record["cluster"]["items"], losing(record["action"]["lose"], ZONE))
    entry = next(
        (each for each in outcome.workloads if each.ref.name == record["workload"]["metadata"]["name"]), None
    )
    if entry is None:
        # Nothing happens to it: what is pending was so before.
        return {}
    return {
        "running": (seen["pods"] - seen["pending"], entry.after),
        "message": (bool(seen["message"]), bool(entry.verdict.message)),
    }


def _costs(record: Mapping[str, Any], cluster: RecordedCluster) -> dict[str, tuple[Any, Any]]:
    """Without an annotation no constraint is promised to be kept that reality breaks."""
    workload = read_workload(record["workload"], cluster.context)
    found = deletion_costs(workload, cluster.context, record["action"]["deletionCostTo"], cluster.known)
    kept = all(
        skew <= constraint["maxSkew"]
        for skew, constraint in zip(
            record["observed"]["skews"],
            record["workload"]["spec"]["template"]["spec"]["topologySpreadConstraints"],
            strict=True,
        )
    )
    return {"annotates": (True, kept or bool(found.costs))}


def _multisets(domains: Iterable[Mapping[str, int]]) -> list[Any]:
    return [sorted(Counter(counts.values()).items()) for counts in domains]


def _above(real: Iterable[int], bounds: Iterable[int]) -> list[tuple[int, int]]:
    return [pair for pair in zip(real, bounds, strict=False) if pair[0] > pair[1]]

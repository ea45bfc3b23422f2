"""Outcome for replicas where an autoscaler adds nodes for them, for the rules that depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from policies.autoscaler.node_autoscaler import NodeAutoscaler
from policies.autoscaler.node_group import AutoscalerName
from policies.config.context import AdmissionContext
from policies.model.constraint import WhenUnsatisfiable
from policies.model.scaling import ScaleUpOutcome, Tool
from policies.model.workload import Workload
from policies.placement.core.autoscaling import MOST_COMPARED, autoscale, with_min_domains
from policies.placement.core.cluster_simulation import ClusterSimulation, QueuedPod, count_bound
from policies.placement.core.placement import PlacementError, prepare
from policies.placement.core.replicas import replicas_of
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.skew import skew_of

#: How often as much may be compared as for one workload, before rules go by their rules of thumb: some 20 s.
_MOST_WORKLOADS: Final = 20


class SimulatedScaleUps:
    """Replicas on the nodes that an autoscaler adds, simulated once for each question about a workload.

    Attributes:
        tool: The autoscaler.

    Args:
        autoscaler: What adds nodes.
        source: Where its node groups come from, as messages say it.
        context: What pods are prepared by, with the cluster if there is one.
    """

    def __init__(self, autoscaler: NodeAutoscaler, source: str, context: AdmissionContext) -> None:
        self.tool = Tool.KARPENTER if autoscaler.name is AutoscalerName.KARPENTER else Tool.CLUSTER_AUTOSCALER
        self._evidence = f" (decided with {source})"
        self._autoscaler = autoscaler
        self._cluster = context.cluster or ClusterIndex()
        self._context = replace(context, cluster=self._cluster)
        self._left = MOST_COMPARED * _MOST_WORKLOADS
        # A workload has a few questions, one after another.
        self._last: tuple[Workload, dict[tuple[int, str, str], ScaleUpOutcome | None]] | None = None

    def outcome(
        self, workload: Workload, replicas: int, *, without: str = "", required: str = ""
    ) -> ScaleUpOutcome | None:
        """Return the outcome for replicas as ``ScaleUps`` has it; the same one when it is asked for again."""
        if self._last is None or self._last[0] is not workload:
            self._last = workload, {}
        known, question = self._last[1], (replicas, without, required)
        if question not in known:
            known[question] = self._simulate(workload, replicas, without, required)
        return known[question]

    def _simulate(
        self, workload: Workload, replicas: int, without: str, required: str
    ) -> ScaleUpOutcome | None:
        size = replicas * (self._cluster.node_count + self._autoscaler.width + replicas)
        if size > min(MOST_COMPARED, self._left):
            return None
        self._left -= size
        try:
            prepared = prepare(workload, self._context)
        except PlacementError:
            return None
        simulation = ClusterSimulation.of(prepared.cluster)
        queue: Sequence[QueuedPod] = replicas_of(prepared, replicas)
        constraints = tuple(
            _hard(each) if each.constraint.topology_key == required else each
            for each in prepared.request.constraints
            if each.constraint.topology_key != without
        )
        request = replace(prepared.request, constraints=constraints)
        queue = [replace(entry, request=replace(entry.request, constraints=constraints)) for entry in queue]
        if required:
            queue = with_min_domains(queue, simulation, self._autoscaler) or queue
        steps, scaled = autoscale(queue, simulation.schedule_all(queue), simulation, self._autoscaler)
        pods, skews = dict[str, dict[str, int]](), dict[str, int]()
        for applied, counts in zip(constraints, simulation.count(request), strict=True):
            key = applied.constraint.topology_key
            pods[key] = dict.fromkeys(sorted(self._autoscaler.domains(key)), 0) | counts
            skews[key] = skew_of(applied, pods[key])
        return ScaleUpOutcome(
            nodes=len(scaled.nodes),
            loops=len(scaled.loops),
            pending=len(steps) - count_bound(steps),
            pods=pods,
            skews=skews,
            evidence=self._evidence,
        )


def _hard(applied: AppliedConstraint) -> AppliedConstraint:
    hard = replace(applied.constraint, when_unsatisfiable=WhenUnsatisfiable.DO_NOT_SCHEDULE)
    return replace(applied, constraint=hard)

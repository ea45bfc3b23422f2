"""Nodes that an autoscaler adds for pods that are pending, on which the scheduler then places them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from planning.simulation.autoscaled import Autoscaled, Loop, NewNode, RelaxedPreference
from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod
from planning.simulation.node_source import NodeSource
from planning.simulation.rescheduling import Rescheduling
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.index import ClusterIndex

#: How often the scheduler may place pods otherwise than the autoscaler took it, so that more nodes come.
MOST_WAVES: Final = 20


class Autoscaling:
    """Adds nodes to a simulation for pods that are pending, on which the scheduler then places them.

    Attributes:
        autoscaler: What adds the nodes, with those that it has added here.
        scaled: Its steps here; None before it looked at any pod.
    """

    def __init__(self, simulation: ClusterSimulation, autoscaler: NodeSource) -> None:
        self.autoscaler = autoscaler
        self.scaled: Autoscaled | None = None
        self._simulation = simulation

    def schedule_all(self, queue: Sequence[QueuedPod]) -> list[SchedulingAttempt]:
        """Schedule the pods of a queue, and add nodes for those that are pending then.

        Returns:
            What becomes of each pod; where the simulation was to stop before all were tried, of those that
            were, without nodes for them.
        """
        steps = self._simulation.schedule_all(queue)
        return self.add_nodes(queue, steps)[0] if len(steps) == len(queue) else steps

    def schedule_again(self, again: Rescheduling) -> None:
        """Add nodes for pods that lost their node and stay pending, and let the scheduler place them."""
        if pending := again.pending:
            steps, _ = self.add_nodes([pod for pod, _ in pending], [step for _, step in pending])
            again.record(steps)
            again.replace_preempted()

    def add_nodes_of(
        self, end: ClusterIndex, queue: Sequence[QueuedPod], steps: Sequence[SchedulingAttempt]
    ) -> Autoscaled:
        """Add the nodes that pods need which are pending at the end of something; nothing is scheduled here.

        Args:
            end: The cluster then, which stays as it is.
            queue: The pods, which are not in it.
            steps: What became of each of them.

        Returns:
            What the autoscaler does for them, which is not among its steps here.
        """
        there = Autoscaling(ClusterSimulation.of(end, stop=self._simulation.stop), self.autoscaler)
        _, scaled = there.add_nodes(queue, steps)
        self.autoscaler = there.autoscaler
        for each in scaled.nodes:
            self._simulation.put(each.node)
        return scaled

    def add_nodes(
        self, queue: Sequence[QueuedPod], steps: Sequence[SchedulingAttempt]
    ) -> tuple[list[SchedulingAttempt], Autoscaled]:
        """Add nodes for the pods of a queue that are pending, and let the scheduler place them.

        Args:
            queue: The pods.
            steps: What became of each of them before.

        Returns:
            What becomes of the pods then, and what the autoscaler did for them.
        """
        simulation, after, loops = self._simulation, list(steps), list[Loop]()
        before, made, given_up = self.autoscaler, list[NewNode](), Counter[str]()
        waves, tried = 0, True
        while tried:
            waiting = [number for number, step in enumerate(after) if step.node is None]
            pods = [queue[number] for number in waiting]
            found = self.autoscaler.nodes_for(simulation.cluster, pods, simulation.choose, simulation.stop)
            if not found.nodes or waves == MOST_WAVES:
                break
            waves += 1
            loops += found.loops
            given_up.update({each.preference: each.pods for each in found.given_up})
            made += found.nodes
            self.autoscaler = self.autoscaler.grown(found.nodes)
            for new in found.nodes:
                simulation.put(new.node)
            again = simulation.schedule_all(pods)
            for number, step in zip(waiting, again, strict=False):
                after[number] = step
            tried = len(again) == len(waiting)
        scaled = Autoscaled(
            autoscaler=before.name,
            loops=tuple(loops),
            waves=waves,
            groups=tuple(
                replace(now, size=was.size, added=now.size - was.size)
                for was, now in zip(before.states(), self.autoscaler.states(), strict=True)
            ),
            nodes=tuple(made),
            unhelped=found.unhelped,
            complete=found.complete and not found.nodes,
            stopped=found.stopped or not tried,
            given_up=tuple(
                RelaxedPreference(preference=text, pods=number) for text, number in given_up.items()
            ),
            not_modeled=before.not_modeled(queue),
            karpenter_nodes=before.karpenter_nodes,
        )
        self.scaled = scaled if self.scaled is None else self.scaled.then(scaled)
        return after, scaled

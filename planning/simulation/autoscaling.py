"""Nodes that an autoscaler adds for pods that are pending, on which the scheduler then places them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from planning.autoscaler.autoscaler import Loop, NewNode, Unhelped, new_node
from planning.autoscaler.node_group import AutoscalerName, GroupState, RelaxedPreference, ScaledGroup
from planning.autoscaler.pod_groups import PendingPod
from planning.autoscaler.sources import NodeAutoscaler
from planning.simulation.actions import ChangedNodes, alike_nodes
from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod
from planning.simulation.rescheduling import Rescheduling
from policies.manifests.wire import INLINE, INTERNAL, Count
from policies.model.node import Node
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.index import ClusterIndex

#: How often the scheduler may place pods otherwise than the autoscaler took it, so that more nodes come.
MOST_WAVES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSize:
    """A node group or a NodePool, before and after."""

    name: str  #: Its name.
    #: Whether a document describes it, or it is deduced from nodes, by the label of a managed group or since
    #: they are alike.
    origin: str
    zone: str  #: Its zone; empty without one, or with several.
    size: Count  #: How many nodes it had.
    added: Count  #: How many it gets.
    max_size: Count | None  #: How many it may have; null where nothing limits their number.


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoscaled:
    """Steps of an autoscaler for the pods of a queue."""

    autoscaler: AutoscalerName  #: Which it is.
    #: The loops of Cluster Autoscaler that add nodes, in order. Karpenter adds all at once.
    loops: tuple[Loop, ...]
    waves: Count  #: How often the scheduler went on when new nodes were ready.
    groups: tuple[GroupSize, ...]  #: The node groups, or the NodePools.
    nodes: tuple[NewNode, ...]  #: The new nodes, in the order in which they are added.
    changed_nodes: tuple[ChangedNodes, ...]  #: The same as they are, those that are alike together.
    unhelped: tuple[Unhelped, ...]  #: The pods for which no node was added, with the reasons.
    complete: bool  #: Whether another loop would add nothing.
    #: The preferences that Karpenter gave up; those of the last pods of a wave.
    given_up: tuple[RelaxedPreference, ...] = ()
    not_modeled: tuple[str, ...] = ()  #: What the autoscaler looks at besides, and is not part of this.
    #: How many nodes of the cluster are Karpenter's, which adds nodes by itself and is not modeled; known
    #: only where node groups are deduced.
    karpenter_nodes: Count = 0
    #: Whether it was to stop before that was known, so that what is pending may yet get a node.
    stopped: Annotated[bool, INTERNAL] = False

    def then(self, other: Autoscaled) -> Autoscaled:
        """Return these steps and those of the same autoscaler after them, for other pods."""
        return replace(
            other,
            loops=(*self.loops, *other.loops),
            waves=self.waves + other.waves,
            groups=tuple(
                replace(then, size=first.size, added=first.added + then.added)
                for first, then in zip(self.groups, other.groups, strict=True)
            ),
            nodes=(*self.nodes, *other.nodes),
            changed_nodes=(*self.changed_nodes, *other.changed_nodes),
            unhelped=(*self.unhelped, *other.unhelped),
            complete=self.complete and other.complete,
            given_up=(*self.given_up, *other.given_up),
            not_modeled=tuple(dict.fromkeys((*self.not_modeled, *other.not_modeled))),
            stopped=self.stopped or other.stopped,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WithNewNodes:
    """Outcome for a pod that fits nowhere if an autoscaler adds nodes for it."""

    step: SchedulingAttempt  #: Where the scheduler then puts it, or why it stays pending.
    scaled: Annotated[Autoscaled, INLINE]  #: The nodes that are added for it, or why none is.


class Autoscaling:
    """Adds nodes to a simulation for pods that are pending, on which the scheduler then places them.

    Attributes:
        autoscaler: What adds the nodes, with those that it has added here.
        scaled: Its steps here; None before it looked at any pod.
    """

    def __init__(self, simulation: ClusterSimulation, autoscaler: NodeAutoscaler) -> None:
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
        nodes = there._simulation.cluster.nodes
        for node in filter(None, (nodes.find(each.name) for each in scaled.nodes)):
            self._simulation.put(node)
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
        before, made, given_up = self.autoscaler, list[tuple[Node, ScaledGroup]](), Counter[str]()
        waves, tried = 0, True
        while tried:
            waiting = [number for number, step in enumerate(after) if step.node is None]
            pods = map(_pending, (queue[number] for number in waiting))
            found = self.autoscaler.run(simulation.cluster, list(pods), simulation.choose, simulation.stop)
            if not found.nodes or waves == MOST_WAVES:
                break
            waves += 1
            loops += found.loops
            given_up.update({each.preference: each.pods for each in found.given_up})
            made += found.nodes
            self.autoscaler = self.autoscaler.grown(new_node(node, group) for node, group in found.nodes)
            for node, _ in found.nodes:
                simulation.put(node)
            again = simulation.schedule_all(queue[number] for number in waiting)
            for number, step in zip(waiting, again, strict=False):
                after[number] = step
            tried = len(again) == len(waiting)
        scaled = Autoscaled(
            autoscaler=before.name,
            loops=tuple(loops),
            waves=waves,
            groups=tuple(map(_size, before.states(), self.autoscaler.states())),
            nodes=tuple(new_node(node, group) for node, group in made),
            changed_nodes=tuple(alike_nodes(node for node, _ in made)),
            unhelped=found.unhelped,
            complete=found.complete and not found.nodes,
            stopped=found.stopped or not tried,
            given_up=tuple(
                RelaxedPreference(preference=text, pods=number) for text, number in given_up.items()
            ),
            not_modeled=before.not_modeled(map(_pending, queue)),
            karpenter_nodes=before.karpenter_nodes,
        )
        self.scaled = scaled if self.scaled is None else self.scaled.then(scaled)
        return after, scaled


def _pending(pod: QueuedPod) -> PendingPod:
    return PendingPod(pod.name, pod.request, pod.owner)


def _size(before: GroupState, after: GroupState) -> GroupSize:
    return GroupSize(
        name=before.name,
        origin=before.origin,
        zone=before.zone,
        size=before.size,
        added=after.size - before.size,
        max_size=before.max_size,
    )

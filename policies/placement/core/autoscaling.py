"""Nodes that an autoscaler adds for the pods of a queue, on which the scheduler then places them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Final

from policies.autoscaler.autoscaler import ClusterAutoscaler, Loop, NewNode, Unhelped, new_node
from policies.autoscaler.balancing import similar
from policies.autoscaler.node_autoscaler import NodeAutoscaler
from policies.autoscaler.node_group import AutoscalerName, GroupState, RelaxedPreference, ScaledGroup
from policies.autoscaler.pod_groups import PendingPod
from policies.manifests.wire import INLINE, INTERNAL, Count
from policies.model.labels import LabelSelector
from policies.model.node import Node
from policies.model.pod import Pod
from policies.model.topology_keys import HOSTNAME, ZONE
from policies.placement.core.actions import ChangedNodes, alike_nodes
from policies.placement.core.cluster_simulation import ClusterSimulation, QueuedPod, count_bound
from policies.placement.core.recovery import Rescheduling
from policies.scheduler.binding import Step
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin, SchedulingRequest
from policies.scheduler.skew import skew_of
from policies.scheduler.workload_topology import REVISION_LABELS

#: How often the scheduler may place pods otherwise than the autoscaler took it, so that more nodes come.
MOST_WAVES: Final = 20
#: Pods times nodes up to which it is simulated what would be if something were otherwise: a second or two.
MOST_COMPARED: Final = 100_000


class AlternativeKind(StrEnum):
    """An alternative to the simulated cluster.

    ``minDomains``: the constraints over zones, and over other keys but that of nodes, require as many domains
    as nodes and node groups have. ``allZones``: each node group has a twin in every other zone, and NodePools
    allow every zone with instance types. ``ownSelector``: constraints that do not select the pod itself do.
    """

    MIN_DOMAINS = "minDomains"
    ALL_ZONES = "allZones"
    OWN_SELECTOR = "ownSelector"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """The end if something were otherwise.

    Attributes:
        what: What.
        nodes: How many nodes are added, by node group.
        pending: How many pods of the queue stay pending.
        skews: The skew of each constraint of the first pod at the end.
    """

    what: AlternativeKind
    nodes: Mapping[str, Count]
    pending: Count
    skews: tuple[Count, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSize:
    """A node group or a NodePool, before and after.

    Attributes:
        name: Its name.
        origin: Whether a document describes it, or it is deduced from nodes, by the label of a managed group
            or since they are alike.
        zone: Its zone; empty without one, or with several.
        size: How many nodes it had.
        added: How many it gets.
        max_size: How many it may have; null where nothing limits their number.
    """

    name: str
    origin: str
    zone: str
    size: Count
    added: Count
    max_size: Count | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoscaled:
    """Steps of an autoscaler for the pods of a queue.

    Attributes:
        autoscaler: Which it is.
        loops: The loops of Cluster Autoscaler that add nodes, in order. Karpenter adds all at once.
        waves: How often the scheduler went on when new nodes were ready.
        groups: The node groups, or the NodePools.
        nodes: The new nodes, in the order in which they are added.
        changed_nodes: The same as they are, those that are alike together.
        unhelped: The pods for which no node was added, with the reasons.
        complete: Whether another loop would add nothing.
        given_up: The preferences that Karpenter gave up; those of the last pods of a wave.
        not_modeled: What the autoscaler looks at besides, and is not part of this.
        alternatives: What would be if something were otherwise; nothing where that was not simulated.
        karpenter_nodes: How many nodes of the cluster are Karpenter's, which adds nodes by itself and is not
            modeled; known only where node groups are deduced.
        stopped: Whether it was to stop before that was known, so that what is pending may yet get a node.
    """

    autoscaler: AutoscalerName
    loops: tuple[Loop, ...]
    waves: Count
    groups: tuple[GroupSize, ...]
    nodes: tuple[NewNode, ...]
    changed_nodes: tuple[ChangedNodes, ...]
    unhelped: tuple[Unhelped, ...]
    complete: bool
    given_up: tuple[RelaxedPreference, ...] = ()
    not_modeled: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    karpenter_nodes: Count = 0
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
    """Outcome for a pod that fits nowhere if an autoscaler adds nodes for it.

    Attributes:
        step: Where the scheduler then puts it, or why it stays pending.
        scaled: The nodes that are added for it, or why none is.
    """

    step: Step
    scaled: Annotated[Autoscaled, INLINE]


def with_new_nodes(
    pod: QueuedPod,
    cluster: ClusterIndex,
    autoscaler: NodeAutoscaler,
    stop: Callable[[], bool] = lambda: False,
) -> WithNewNodes:
    """Add nodes for one pod, and let the scheduler place it.

    Args:
        pod: The pod, which fits no node.
        cluster: The cluster, which stays as it is.
        autoscaler: What adds the nodes.
        stop: Whether to end before another loop.
    """
    simulation = ClusterSimulation.of(cluster)
    pending = [simulation.schedule(pod.request, pod.name)]
    simulation.stop = stop
    (step,), scaled = autoscale([pod], pending, simulation, autoscaler)
    return WithNewNodes(step=step, scaled=scaled)


def autoscale(
    queue: Sequence[QueuedPod],
    steps: list[Step],
    simulation: ClusterSimulation,
    autoscaler: NodeAutoscaler,
) -> tuple[list[Step], Autoscaled]:
    """Add nodes for the pods of a queue that are pending, and let the scheduler place them.

    Args:
        queue: The pods.
        steps: What became of them before any node was added.
        simulation: The cluster with them, which gets the nodes and further pods.
        autoscaler: What adds the nodes.

    Returns:
        What becomes of the pods then.
    """
    steps, loops, made, current = list(steps), list[Loop](), list[tuple[Node, ScaledGroup]](), autoscaler
    waves, tried = 0, True
    given_up = Counter[str]()
    while tried:
        waiting = [number for number, step in enumerate(steps) if step.node is None]
        pods = [
            PendingPod(queue[number].name, queue[number].request, queue[number].owner) for number in waiting
        ]
        found = current.run(simulation.cluster, pods, simulation.choose, simulation.stop)
        if not found.nodes or waves == MOST_WAVES:
            break
        waves += 1
        loops += found.loops
        given_up.update({each.preference: each.pods for each in found.given_up})
        made += found.nodes
        current = current.grown(new_node(node, group) for node, group in found.nodes)
        for node, _ in found.nodes:
            simulation.put(node)
        again = simulation.schedule_all(queue[number] for number in waiting)
        for number, step in zip(waiting, again, strict=False):
            steps[number] = step
        tried = len(again) == len(waiting)
    return steps, Autoscaled(
        autoscaler=autoscaler.name,
        loops=tuple(loops),
        waves=waves,
        groups=tuple(map(_size, autoscaler.states(), current.states())),
        nodes=tuple(new_node(node, group) for node, group in made),
        changed_nodes=tuple(alike_nodes(node for node, _ in made)),
        unhelped=found.unhelped,
        complete=found.complete and not found.nodes,
        stopped=found.stopped or not tried,
        given_up=tuple(RelaxedPreference(preference=text, pods=number) for text, number in given_up.items()),
        not_modeled=autoscaler.not_modeled(
            PendingPod(entry.name, entry.request, entry.owner) for entry in queue
        ),
        karpenter_nodes=autoscaler.karpenter_nodes,
    )


def autoscale_again(
    again: Rescheduling, simulation: ClusterSimulation, autoscaler: NodeAutoscaler
) -> Autoscaled | None:
    """Add nodes for pods that lost their node and stay pending, and let the scheduler place them.

    Args:
        again: What has scheduled them again; gets what becomes of them then.
        simulation: The cluster, as for ``autoscale``.
        autoscaler: What adds the nodes.

    Returns:
        The steps of the autoscaler; None where no pod is pending.
    """
    entries = zip(again.displaced, again.waiting, strict=True)
    waiting = [(pod, entry.step) for entry, pod in entries if pod is not None and entry.step is not None]
    if not waiting:
        return None
    queue, pending = zip(*waiting, strict=True)
    steps, scaled = autoscale(queue, list(pending), simulation, autoscaler)
    again.record(steps)
    again.replace_preempted()
    return scaled


def _size(before: GroupState, after: GroupState) -> GroupSize:
    return GroupSize(
        name=before.name,
        origin=before.origin,
        zone=before.zone,
        size=before.size,
        added=after.size - before.size,
        max_size=before.max_size,
    )


def alternatives(
    queue: Sequence[QueuedPod], start: Callable[[], ClusterSimulation], autoscaler: NodeAutoscaler
) -> tuple[Alternative, ...]:
    """Return the outcomes with minDomains, with selectors of the pods, and with node groups in all zones.

    What was not played to the end, since the simulation was to stop, is left out.

    Args:
        queue: The pods.
        start: Returns the cluster before any of them was scheduled.
        autoscaler: What adds the nodes.
    """
    found = list[Alternative | None]()
    required = with_min_domains(queue, start(), autoscaler)
    if required is not None:
        found.append(_alternative(AlternativeKind.MIN_DOMAINS, required, start(), autoscaler))
    selecting = with_own_selector(queue)
    if selecting is not None:
        found.append(_alternative(AlternativeKind.OWN_SELECTOR, selecting, start(), autoscaler))
    everywhere: NodeAutoscaler | None
    if isinstance(autoscaler, ClusterAutoscaler):
        everywhere = in_all_zones(autoscaler, start())
    else:
        everywhere = autoscaler.in_all_zones()
    if everywhere is not None:
        found.append(_alternative(AlternativeKind.ALL_ZONES, queue, start(), everywhere))
    return tuple(each for each in found if each is not None)


def _alternative(
    what: AlternativeKind,
    queue: Sequence[QueuedPod],
    simulation: ClusterSimulation,
    autoscaler: NodeAutoscaler,
) -> Alternative | None:
    """Return the end; None where the simulation was to stop before."""
    first = simulation.schedule_all(queue)
    steps, scaled = autoscale(queue, first, simulation, autoscaler)
    if scaled.stopped or len(first) < len(queue):
        return None
    request = queue[0].request
    counts = simulation.count(request)
    return Alternative(
        what=what,
        nodes={group.name: group.added for group in scaled.groups if group.added},
        pending=len(steps) - count_bound(steps),
        skews=tuple(
            skew_of(applied, each) for applied, each in zip(request.constraints, counts, strict=True)
        ),
    )


def with_min_domains(
    queue: Sequence[QueuedPod], simulation: ClusterSimulation, autoscaler: NodeAutoscaler
) -> list[QueuedPod] | None:
    """Return pods whose constraints require as many domains as there may be; None if they do so already."""
    labels = [node.labels for node in simulation.cluster.nodes.listed()]

    def required(pod: Pod, applied: AppliedConstraint) -> AppliedConstraint:
        constraint, of_pod = (
            applied.constraint,
            applied.origin in (ConstraintOrigin.POD, ConstraintOrigin.POLICY),
        )
        key = constraint.topology_key
        domains = len(autoscaler.domains(key, pod).union(each[key] for each in labels if key in each))
        if not (applied.is_hard and of_pod and domains > constraint.min_domains):
            return applied
        if constraint.topology_key == HOSTNAME:
            return applied
        return replace(applied, constraint=replace(constraint, min_domains=domains))

    return _with_constraints(
        queue, lambda request: (required(request.pod, applied) for applied in request.constraints)
    )


def with_own_selector(queue: Sequence[QueuedPod]) -> list[QueuedPod] | None:
    """Return pods whose own constraints all select them, by their labels; None if they do so already."""

    def selecting(request: SchedulingRequest) -> Iterator[AppliedConstraint]:
        labels = {key: value for key, value in request.pod.labels.items() if key not in REVISION_LABELS}
        own = LabelSelector(match_labels=tuple(labels.items()))
        for applied in request.constraints:
            by_default = applied.origin not in (ConstraintOrigin.POD, ConstraintOrigin.POLICY)
            if applied.self_match or by_default or not labels:
                yield applied
            else:
                constraint = replace(applied.constraint, selector=own)
                yield replace(applied, constraint=constraint, selector=own, self_match=1)

    return _with_constraints(queue, selecting)


def _with_constraints(
    queue: Sequence[QueuedPod], change: Callable[[SchedulingRequest], Iterable[AppliedConstraint]]
) -> list[QueuedPod] | None:
    """Return pods with other constraints; None if these are the same."""
    made: dict[int, SchedulingRequest] = {}
    changed = False
    for entry in queue:
        request = entry.request
        if id(request) not in made:
            constraints = tuple(change(request))
            changed = changed or constraints != request.constraints
            made[id(request)] = replace(request, constraints=constraints)
    return [replace(entry, request=made[id(entry.request)]) for entry in queue] if changed else None


def in_all_zones(autoscaler: ClusterAutoscaler, simulation: ClusterSimulation) -> ClusterAutoscaler | None:
    """Return Cluster Autoscaler with twins of its groups in zones that lack them; None if none does."""
    nodes = simulation.cluster.nodes.listed()
    zones = {node.labels[ZONE] for node in nodes if ZONE in node.labels}
    zones |= {group.template.labels[ZONE] for group in autoscaler.groups if ZONE in group.template.labels}
    groups = list(autoscaler.groups)
    for group in autoscaler.groups:
        if ZONE not in group.template.labels:
            continue
        alike = [each for each in groups if similar(group, each, autoscaler.settings.provider)]
        for zone in sorted(zones - {each.template.labels.get(ZONE, "") for each in alike}):
            template = group.template._replace(labels={**group.template.labels, ZONE: zone})
            name = f"{group.name}-in-{zone}"
            groups.append(replace(group, name=name, template=template, size=0))
    return replace(autoscaler, groups=tuple(groups)) if len(groups) > len(autoscaler.groups) else None

"""Cluster Autoscaler: loop after loop, which nodes it adds, and round after round, which it removes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from planning.autoscaler.cluster_facts import ClusterFacts
from planning.autoscaler.node_group import ScaledGroup
from planning.autoscaler.packing import Packing
from planning.autoscaler.pod_groups import LOWEST_PRIORITY, PodGroup, group_pods
from planning.autoscaler.scale_up import Considered, best_options, consider, scale_up
from planning.autoscaler.unneeded import TO_BE_DELETED, UnneededNode, find_unneeded
from planning.simulation.autoscaled import (
    DAEMONS,
    AutoscalerName,
    GroupSize,
    KeptNode,
    Loop,
    NewNode,
    RemovedNode,
    Unhelped,
    WhyKept,
    WhyRemoved,
)
from planning.simulation.cluster_simulation import QueuedPod, never
from planning.simulation.node_source import Budgets, GroupRoom, NewNodes, NodePod, Removal
from policies.config.node_groups import AutoscalerSettings, ScaleDownSettings
from policies.model.pod import Pod
from policies.model.taints import SCHEDULING_EFFECTS, first_untolerated
from policies.model.topology_keys import ZONE
from policies.scheduler.binding import TieBreaker
from policies.scheduler.index import ClusterIndex


def take_now(
    unneeded: Iterable[UnneededNode],
    groups: Sequence[ScaledGroup],
    settings: ScaleDownSettings,
    choose: TieBreaker,
) -> list[UnneededNode]:
    """Return the unneeded nodes that are removed at once: those without pods first, then one whose pods move.

    Cluster Autoscaler takes them in a random order, as far as sizes of groups and parallelism let it choose.

    Args:
        unneeded: The nodes that are not needed.
        groups: The node groups, with their sizes as they are.
        settings: How Cluster Autoscaler is started.
        choose: Chooses one of several nodes that are as good, by their names.
    """
    left = {group.name: group.size - group.min_size for group in groups}
    taken = list[UnneededNode]()
    ready = [each for each in unneeded if not each.completes]
    empty = [each for each in ready if not each.places]
    full = [each for each in ready if each.places]
    for waiting, most in ((empty, settings.max_parallelism), (full, settings.max_drain_parallelism)):
        until = min(settings.max_parallelism, len(taken) + most)
        while len(taken) < until:
            may = [each for each in waiting if left[each.group] > 0]
            safe = [each for each in may if not each.is_risky] or may
            if not safe:
                break
            name = choose([each.name for each in safe])
            one = next(each for each in safe if each.name == name)
            waiting.remove(one)
            left[one.group] -= 1
            taken.append(one)
    return taken


@dataclass(slots=True)
class Removals:
    """The nodes that Cluster Autoscaler removes, round after round.

    What was unneeded in the round before has been so for long enough; where nothing has, time passes.
    """

    #: Names of what else it looks at.
    not_modeled: ClassVar = (
        "whether the controllers of pods are still there",
        "GPUs and devices, of which the share counts on their nodes",
        "nodes that are not ready, which it removes after another time",
    )

    groups: Sequence[ScaledGroup]  #: The node groups, as they are.
    settings: ScaleDownSettings  #: How Cluster Autoscaler is started.
    choose: TieBreaker  #: Chooses one of several nodes that are as good, by their names.
    left: int  #: How many more pods are tried elsewhere.
    before: frozenset[str] = frozenset()  #: The nodes that were unneeded in the round before.

    def next(self, cluster: ClusterIndex, pods: Mapping[str, Sequence[NodePod]], budgets: Budgets) -> Removal:
        """Return which nodes are removed next: see ``NodeRemovals``."""
        loop = find_unneeded(
            cluster, self.groups, self.settings, pods, budgets, before=self.before, most_tried=self.left
        )
        self.left -= loop.tried
        for_long = [each for each in loop.unneeded if each.name in self.before]
        taken = take_now(for_long, self.groups, self.settings, self.choose)
        taken = taken or take_now(loop.unneeded, self.groups, self.settings, self.choose)
        names = {each.name for each in taken}
        self.before = frozenset(each.name for each in loop.unneeded) - names
        self.groups = [
            replace(group, size=group.size - len(gone), nodes=group.nodes - gone)
            if (gone := {each.name for each in taken if each.group == group.name})
            else group
            for group in self.groups
        ]
        return Removal(
            nodes=tuple(
                RemovedNode(
                    name=each.name,
                    group=each.group,
                    why=WhyRemoved.UNDERUTILIZED if each.places else WhyRemoved.EMPTY,
                    utilization=each.utilization,
                    pods=tuple(each.places),
                )
                for each in taken
            ),
            kept=[*loop.kept, *(self._waiting(each) for each in loop.unneeded if each.name not in names)],
            taint=TO_BE_DELETED,
        )

    def _waiting(self, node: UnneededNode) -> KeptNode:
        """Return why an unneeded node is not removed now."""
        is_least = any(each.name == node.group and each.size <= each.min_size for each in self.groups)
        why = WhyKept.MIN_SIZE if is_least else WhyKept.UNNEEDED
        return KeptNode(
            name=node.name,
            group=node.group,
            why=WhyKept.POD_COMPLETES if node.completes else why,
            pod=node.completes,
            utilization=node.utilization,
        )


#: Loops after which the simulation ends; with one every ten seconds, as is usual, more than an hour.
MOST_LOOPS: Final = 500
#: What Cluster Autoscaler says of a group with as many nodes as it may have.
MAX_SIZE: Final = "max node group size reached"
#: What is said of pods for which no nodes are added.
EXPENDABLE: Final = f"its priority is below {LOWEST_PRIORITY}: no node is added for it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAutoscaler:
    """Cluster Autoscaler with its node groups."""

    groups: tuple[ScaledGroup, ...]  #: The node groups, in its order.
    settings: AutoscalerSettings  #: How it is started.
    #: How many nodes of the cluster are in no node group since they are Karpenter's.
    karpenter_nodes: int = 0

    @property
    def name(self) -> AutoscalerName:
        """Its name."""
        return AutoscalerName.CLUSTER_AUTOSCALER

    @property
    def width(self) -> int:
        """With how many node groups a pod may be compared."""
        return len(self.groups)

    def states(self) -> tuple[GroupSize, ...]:
        """Return its node groups as they are."""
        return tuple(
            GroupSize(
                name=group.name,
                origin=group.origin.value,
                zone=group.template.labels.get(ZONE, ""),
                size=group.size,
                max_size=group.max_size,
            )
            for group in self.groups
        )

    def rooms(self) -> tuple[GroupRoom, ...]:
        """Return the node groups that may get nodes."""
        return tuple(GroupRoom(each.name, each.template, each.room) for each in self.groups if each.room)

    def domains(self, key: str, pod: Pod) -> set[str]:
        """Return the domains of a label in which nodes may come for a pod, by their labels and taints."""
        templates = (group.template for group in self.groups)
        return {
            each.labels[key]
            for each in templates
            if key in each.labels
            and pod.affinity.matches(each.name, each.labels)
            and first_untolerated(each.taints, pod.tolerations, SCHEDULING_EFFECTS) is None
        }

    @staticmethod
    def not_modeled(_pods: Iterable[QueuedPod]) -> tuple[str, ...]:
        """Return the names of what else it looks at for some pods."""
        return (DAEMONS,)

    def without(self, key: str, domain: str) -> ClusterAutoscaler:
        """Return it without the groups of a domain, which is lost."""
        groups = tuple(each for each in self.groups if each.template.labels.get(key) != domain)
        return replace(self, groups=groups)

    def grown(self, nodes: Iterable[NewNode]) -> ClusterAutoscaler:
        """Return it with groups that have further nodes."""
        more: dict[str, set[str]] = {}
        for node in nodes:
            more.setdefault(node.group, set()).add(node.name)
        groups = tuple(
            replace(group, size=group.size + len(new), nodes=group.nodes | new)
            if (new := more.get(group.name))
            else group
            for group in self.groups
        )
        return replace(self, groups=groups)

    def removals(self, choose: TieBreaker, most_tried: int) -> Removals:
        """Return the nodes that it removes, round after round: see ``NodeSource``."""
        return Removals(self.groups, self.settings.scale_down, choose, most_tried)

    def nodes_for(
        self,
        cluster: ClusterIndex,
        pods: Iterable[QueuedPod],
        choose: TieBreaker,
        stop: Callable[[], bool] = never,
    ) -> NewNodes:
        """Return the nodes added for pending pods, before any of them is ready: see ``NodeSource``.

        Nodes take minutes to come, and loops seconds: pods are put on nodes that are coming by the filters
        alone, as Cluster Autoscaler does, and only nodes for the others are added.
        """
        grouped = group_pods(pods)
        facts = ClusterFacts(cluster, grouped)
        loops, nodes, current = list[Loop](), list[NewNode](), self
        coming = Packing(facts)
        while True:
            packing = coming.fork(afresh=True)
            found = consider(packing, grouped, current.groups, self.settings)
            taken = current.take(found, len(facts.nodes), choose)
            stopped = taken is not None and stop()
            if taken is None or len(loops) == MOST_LOOPS or stopped:
                break
            loops.append(taken)
            came = list(_made(taken, current.groups, packing))
            nodes += came
            group_of = {group.name: group for group in current.groups}
            for new in came:
                coming.add(group_of[new.group], new.name)
            current = current.grown(came)
        unhelped = tuple(_unhelped(found, grouped, current.groups))
        return NewNodes(
            loops=tuple(loops),
            nodes=tuple(nodes),
            unhelped=unhelped,
            complete=taken is None,
            stopped=stopped,
        )

    def take(self, found: Considered, nodes: int, choose: TieBreaker) -> Loop | None:
        """Return the step of one loop; None if it adds nothing."""
        if not found.options:
            return None
        best = best_options(self.settings.expanders, found.options, self.settings.priorities)
        tied = tuple(option.group.name for option in best)
        name = choose(tied)
        option = next(option for option in best if option.group.name == name)
        added = scale_up(option, nodes, self.settings)
        return Loop(group=name, tied=tied, nodes=added, pods=len(option.pods)) if added else None


def _made(loop: Loop, groups: Sequence[ScaledGroup], packing: Packing) -> Iterator[NewNode]:
    for group in groups:
        names = packing.new_names(group)
        for _ in range(loop.nodes.get(group.name, 0)):
            yield NewNode(node=group.node(next(names)), group=group.name)


def _unhelped(
    found: Considered, pods: Sequence[PodGroup], groups: Sequence[ScaledGroup]
) -> Iterator[Unhelped]:
    """Yield the pods that fit nowhere, with the reasons."""
    for number, group in enumerate(pods):
        namespace = group.request.pod.namespace
        left = found.left[number].pods
        if group.request.pod.priority < LOWEST_PRIORITY:
            names = tuple(f"{namespace}/{pod.name}" for pod in group.pods)
            yield Unhelped(pods=names, why={"": EXPENDABLE})
        elif left:
            why = {name: ", ".join(each.texts) for name, each in found.rejected.get(number, {}).items()}
            full = {each.name: MAX_SIZE for each in groups if not each.room}
            yield Unhelped(pods=tuple(f"{namespace}/{pod.name}" for pod in left), why={**why, **full})

"""The nodes that Cluster Autoscaler removes, round after round: of those that its loops find unneeded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from planning.autoscaler.node_group import ScaledGroup
from planning.autoscaler.removal import (
    TO_BE_DELETED,
    Budgets,
    KeptNode,
    LeavingNode,
    NodePod,
    Removal,
    WhyKept,
    WhyRemoved,
)
from planning.autoscaler.unneeded import UnneededNode, find_unneeded
from policies.config.node_groups import ScaleDownSettings
from policies.scheduler.index import ClusterIndex


def take_now(
    unneeded: Iterable[UnneededNode],
    groups: Sequence[ScaledGroup],
    settings: ScaleDownSettings,
    choose: Callable[[Sequence[str]], str],
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
    choose: Callable[[Sequence[str]], str]  #: Chooses one of several nodes that are as good, by their names.
    left: int  #: How many more pods are tried elsewhere.
    before: frozenset[str] = frozenset()  #: The nodes that were unneeded in the round before.

    def next(self, cluster: ClusterIndex, pods: Mapping[str, Sequence[NodePod]], budgets: Budgets) -> Removal:
        """Return which nodes are removed next, of a cluster that has lost those of the rounds before.

        Args:
            cluster: The cluster, which stays as it is.
            pods: The pods of each node.
            budgets: What PodDisruptionBudgets allow, which the evictions are taken from.
        """
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
                LeavingNode(
                    name=each.name,
                    group=each.group,
                    why=WhyRemoved.UNDERUTILIZED if each.places else WhyRemoved.EMPTY,
                    utilization=each.utilization,
                    moved=tuple(each.places),
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

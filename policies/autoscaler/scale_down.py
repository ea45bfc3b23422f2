"""The nodes that Cluster Autoscaler takes to be unneeded, in one of its loops.

Source: ``core/scaledown/{planner,eligibility}``, ``simulator/{drain,drainability,utilization}`` and
``processors/scaledowncandidates``, Cluster Autoscaler 1.36.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np

from policies.autoscaler.node_group import ScaledGroup
from policies.autoscaler.removal import (
    TO_BE_DELETED,
    Budgets,
    EvictionTrial,
    KeptNode,
    LeavingNode,
    NodePod,
    Removal,
    WhyKept,
    WhyRemoved,
)
from policies.config.node_groups import ScaleDownSettings
from policies.model.disruption_facts import SCALE_DOWN_DISABLED
from policies.scheduler.index import ClusterIndex

#: The kinds of controllers whose pods come again: ``replicatedKind``.
_REPLICATED: Final = frozenset({"ReplicationController", "Job", "ReplicaSet", "StatefulSet"})
#: The namespace of the system, and for how many seconds its pods keep their node: the default of
#: ``--blocking-system-pod-distruption-timeout``.
_SYSTEM: Final = "kube-system"
_SYSTEM_S: Final = 3600.0
#: What Cluster Autoscaler looks at besides, and is not part of this.
_NOT_MODELED: Final = (
    "whether the controllers of pods are still there",
    "GPUs and devices, of which the share counts on their nodes",
    "nodes that are not ready, which it removes after another time",
)
#: What a node is compared by.
_COMPARED: Final = ("cpu", "memory")


class Drained(NamedTuple):
    """The pods of a node, if it were removed.

    Attributes:
        moves: Those that go elsewhere.
        completes: The first that must end by itself; None without.
        blocked: The first that keeps the node, and why; None if none does.
    """

    moves: tuple[NodePod, ...]
    completes: NodePod | None
    blocked: tuple[NodePod, WhyKept] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnneededNode:
    """A node that is not needed.

    Attributes:
        name: Its name.
        group: Its node group.
        places: Where Cluster Autoscaler takes its pods to go, by their names.
        utilization: The share of its CPU or memory, whichever is greater, that its pods request.
        completes: A pod that must end by itself first; empty without.
        is_risky: Whether a PodDisruptionBudget does not allow to evict its pods at once.
    """

    name: str
    group: str
    places: Mapping[str, str]
    utilization: float
    completes: str = ""
    is_risky: bool = False


@dataclass(slots=True)
class ScaleDownLoop:
    """Findings of one loop.

    Attributes:
        candidates: The nodes that were looked at, in order.
        unneeded: The nodes that are not needed, in the order in which they were found.
        kept: The nodes that stay.
        utilization: The share of their CPU or memory that the pods of nodes request.
        tried: How many pods were tried elsewhere.
    """

    candidates: list[str] = field(default_factory=list)
    unneeded: list[UnneededNode] = field(default_factory=list)
    kept: list[KeptNode] = field(default_factory=list)
    utilization: dict[str, float] = field(default_factory=dict)
    tried: int = 0


def drained(pods: Sequence[NodePod], settings: ScaleDownSettings, budgets: Budgets) -> Drained:
    """Return the outcome for the pods of a node that is removed."""
    moves, completes = list[NodePod](), None
    for pod in pods:
        if pod.is_tied:
            continue
        if pod.facts.safe_to_evict == "on-completion":
            completes = completes or pod
            continue
        why = _blocks(pod, settings, budgets)
        if why is not None:
            return Drained((), None, (pod, why))
        moves.append(pod)
    return Drained(tuple(moves), completes, None)


def _blocks(pod: NodePod, settings: ScaleDownSettings, budgets: Budgets) -> WhyKept | None:
    """Return why a pod keeps its node; None if it does not."""
    if pod.request is None:
        return WhyKept.POD_UNKNOWN
    if pod.facts.safe_to_evict == "true":
        return None
    if pod.owner not in _REPLICATED:
        return WhyKept.POD_NOT_REPLICATED
    if settings.skip_nodes_with_system_pods and pod.pod.namespace == _SYSTEM and not budgets.of(pod):
        return None if pod.age is not None and pod.age > _SYSTEM_S else WhyKept.POD_OF_SYSTEM
    if pod.facts.safe_to_evict == "false":
        return WhyKept.POD_ANNOTATED
    if settings.skip_nodes_with_local_storage and pod.facts.local_storage:
        return WhyKept.POD_LOCAL_STORAGE
    return WhyKept.POD_BUDGET if budgets.block(pod) else None


def find_unneeded(
    cluster: ClusterIndex,
    groups: Sequence[ScaledGroup],
    settings: ScaleDownSettings,
    pods: Mapping[str, Sequence[NodePod]],
    budgets: Budgets,
    *,
    before: Collection[str] = (),
    most_tried: int = sys.maxsize,
) -> ScaleDownLoop:
    """Return which nodes are not needed, each beside those before it.

    Args:
        cluster: The cluster, which stays as it is.
        groups: The node groups, with their sizes and nodes as they are.
        settings: How Cluster Autoscaler is started.
        pods: The pods of each node, in the order in which they are looked at.
        budgets: What PodDisruptionBudgets allow, which the evictions are taken from.
        before: The nodes that were not needed in the loop before.
        most_tried: Pods that are tried elsewhere until no further node is looked at.
    """
    found, trial = ScaleDownLoop(utilization=_utilization(cluster)), EvictionTrial(cluster, pods)
    group_of = {name: group for group in reversed(groups) for name in group.nodes}
    candidates = list[str]()
    for name in cluster.nodes.names():
        group = group_of.get(name)
        if group is None:
            found.kept.append(KeptNode(name=name, why=WhyKept.NOT_IN_GROUP))
        elif group.size <= group.min_size:
            found.kept.append(KeptNode(name=name, group=group.name, why=WhyKept.MIN_SIZE))
        else:
            candidates.append(name)
    found.candidates = sorted(
        candidates, key=lambda name: (*_turn(pods.get(name, ()), settings), name not in before)
    )
    most = len(before) + 2 * settings.max_parallelism
    for name in found.candidates:
        group, share = group_of[name], found.utilization.get(name)
        why = _ineligible(cluster, name, share, settings)
        if why is None and (len(found.unneeded) >= most or trial.tried >= most_tried):
            why = WhyKept.NOT_TRIED
        on_node = drained(trial.pods.get(name, ()), settings, budgets)
        blocking, why = on_node.blocked if why is None and on_node.blocked is not None else (None, why)
        places = None if why is not None else trial.move(name, on_node.moves)
        if places is None:
            kept = KeptNode(
                name=name,
                group=group.name,
                why=why or WhyKept.NO_PLACE,
                pod="" if blocking is None else blocking.name,
                utilization=share,
            )
            found.kept.append(kept)
            continue
        unneeded = UnneededNode(
            name=name,
            group=group.name,
            places=places,
            utilization=share or 0.0,
            completes="" if on_node.completes is None else on_node.completes.name,
            is_risky=not budgets.allow(on_node.moves),
        )
        budgets.take(on_node.moves)
        found.unneeded.append(unneeded)
    found.tried = trial.tried
    return found


def _turn(pods: Sequence[NodePod], settings: ScaleDownSettings) -> tuple[bool, bool]:
    """Return the sort key of candidates: those without pods first, those that pods must end on last."""
    found = drained(pods, settings, Budgets())
    is_empty = found.blocked is None and not found.moves
    return (not is_empty, is_empty and found.completes is not None)


def _ineligible(
    cluster: ClusterIndex, name: str, share: float | None, settings: ScaleDownSettings
) -> WhyKept | None:
    """Return why a candidate stays, whatever its pods are; None if nothing speaks against it yet."""
    node = cluster.nodes.find(name)
    if node is None or any(taint.key == TO_BE_DELETED.key for taint in node.taints):
        return WhyKept.BEING_DELETED
    if SCALE_DOWN_DISABLED in node.kept_by:
        return WhyKept.ANNOTATED
    if share is None:
        return WhyKept.UTILIZATION_UNKNOWN
    return WhyKept.NOT_UNDERUTILIZED if share > settings.utilization_threshold else None


def _utilization(cluster: ClusterIndex) -> dict[str, float]:
    """Return the share of its CPU or memory, whichever is greater, that pods request of each node.

    Pods of DaemonSets and static ones count. A node that says of one of both that it has none is left out.
    """
    with cluster.reading():
        names, slots = cluster.nodes.names(), cluster.nodes.order()
        shares = np.zeros((len(_COMPARED), len(names)))
        for row, name in enumerate(_COMPARED):
            used, allocatable = (
                np.zeros(len(names)) if found is None else found[slots].astype(np.float64)
                for found in (cluster.nodes.used.find(name), cluster.nodes.allocatable.find(name))
            )
            shares[row] = np.divide(used, allocatable, out=np.full(len(names), np.nan), where=allocatable > 0)
        greatest = shares.max(axis=0)
    known = ~np.isnan(greatest)
    return {names[position]: float(greatest[position]) for position in np.flatnonzero(known).tolist()}


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

    Attributes:
        groups: The node groups, as they are.
        settings: How Cluster Autoscaler is started.
        choose: Chooses one of several nodes that are as good, by their names.
        left: How many more pods are tried elsewhere.
        before: The nodes that were unneeded in the round before.
    """

    groups: Sequence[ScaledGroup]
    settings: ScaleDownSettings
    choose: Callable[[Sequence[str]], str]
    left: int
    before: frozenset[str] = frozenset()

    @property
    def not_modeled(self) -> tuple[str, ...]:
        """Names of what else it looks at."""
        return _NOT_MODELED

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

"""The nodes of the cluster, as Karpenter puts pods on them before it adds any.

Source: ``scheduling/existingnode.go``, Karpenter 1.9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planning.autoscaler.karpenter.pending import Wishes
from planning.autoscaler.karpenter.requirements import (
    ANY,
    Requirements,
    conflict,
    of_labels,
)
from planning.autoscaler.karpenter.topology import CountedGroup, tolerates
from policies.model.pod import Pod
from policies.model.resources import HostPort
from policies.model.taints import CORDON_TAINT, Taint
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.nodeports import conflicting


@dataclass(slots=True, eq=False)
class PresentNode:
    """A node of the cluster."""

    name: str  #: Its name.
    position: int  #: Its position in the cluster.
    taints: tuple[Taint, ...]  #: Its taints.
    labels: Requirements  #: What its labels are.
    ports: list[HostPort] = field(default_factory=list)  #: The ports that pods take that were put on it.


class PresentNodes:
    """The nodes of the cluster with the pods that were put on them here.

    Attributes:
        listed: The nodes, by name.
        view: The cluster, which stays as it is.
    """

    def __init__(self, cluster: ClusterIndex, pod: Pod) -> None:
        """Begin with the pods that run; the namespace of a pod is looked at."""
        self._cluster, self.listed, self.view = cluster, _listed(cluster), NodeView(cluster, pod)
        self._room: dict[str, NDArray[np.int64]] = {}
        self._open: dict[int, NDArray[np.bool_]] = {}

    def take(
        self, wishes: Wishes, groups: Sequence[CountedGroup], choose: Callable[[Sequence[str]], str]
    ) -> PresentNode | None:
        """Return the first node that takes a pod, which has its room from now on; None if none does.

        Args:
            wishes: What the pod wants.
            groups: The groups that must let it on.
            choose: Chooses one of several domains that are equally good.
        """
        pod = wishes.pod
        fitting = self._open_to(wishes).copy()
        for name, amount in wishes.amounts.items():
            if amount:
                fitting &= self._room_of(name) >= amount
        known: dict[tuple[int, str], bool] = {}
        for place in np.flatnonzero(fitting).tolist():
            node = self.listed[place]
            if node.ports and conflicting(pod.ports, node.ports, sidecars=True):
                continue
            if all(_allows(group, wishes, node, known, choose) for group in groups):
                for name, amount in wishes.amounts.items():
                    self._room_of(name)[place] -= amount
                node.ports.extend(pod.ports)
                return node
        return None

    def _open_to(self, wishes: Wishes) -> NDArray[np.bool_]:
        """Return the nodes whose taints and labels let a pod on, and whose ports are free."""
        found = self._open.get(id(wishes))
        if found is None:
            index, pod = self._cluster, wishes.pod
            with index.reading():
                held = index.ports.count(pod.ports, index.nodes.slots, index.steps)
            taken = held[self.view.slots] > 0
            found = self._open[id(wishes)] = np.array(
                [
                    not taken[node.position]
                    and tolerates(node.taints, wishes.tolerations)
                    and not conflict(node.labels, wishes.requirements)
                    for node in self.listed
                ],
                np.bool_,
            )
        return found

    def _room_of(self, name: str) -> NDArray[np.int64]:
        """Return each node's free amount of a resource, in the order of the nodes."""
        found = self._room.get(name)
        if found is None:
            allocatable, used = self.view.resource(name)
            found = self._room[name] = (allocatable - used)[[node.position for node in self.listed]]
        return found


def _allows(
    group: CountedGroup,
    wishes: Wishes,
    node: PresentNode,
    known: dict[tuple[int, str], bool],
    choose: Callable[[Sequence[str]], str],
) -> bool:
    """Return whether a group lets a pod on a node of the cluster, once for each domain."""
    label = node.labels.get(group.key)
    if label is None:
        return False
    domain = next(iter(label.values))
    found = known.get((id(group), domain))
    if found is None:
        of_pod = wishes.strict.get(group.key, ANY)
        allowed = group.allowed(wishes.pod, of_pod, label, choose)
        found = known[id(group), domain] = allowed.allows(domain)
    return found


def _listed(cluster: ClusterIndex) -> list[PresentNode]:
    nodes = []
    for position, node in enumerate(cluster.nodes.listed()):
        labels = {HOSTNAME: node.name, **node.labels}
        taints = (*node.taints, CORDON_TAINT) if node.unschedulable else node.taints
        nodes.append(PresentNode(node.name, position, taints, of_labels(labels)))
    return sorted(nodes, key=lambda node: node.name)

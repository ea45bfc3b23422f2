"""The topology groups of pods, with the pods of the cluster counted.

Source: ``scheduling/topology.go``, Karpenter 1.9.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import NDArray

from policies.autoscaler.karpenter.pending import Wishes
from policies.autoscaler.karpenter.present_nodes import PresentNodes
from policies.autoscaler.karpenter.topology import (
    EVERY_NODE,
    CountedGroup,
    GroupKind,
    KarpenterTopology,
)
from policies.model.interpod_terms import InterPodTerm
from policies.model.labels import LabelSelector
from policies.model.pod import Pod
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import AppliedConstraint


class TopologyGroups:
    """The groups that constrain pods, of constraints and of terms of affinity, each made once.

    Args:
        cluster: The cluster, which stays as it is.
        topology: Takes the groups.
        present: The nodes of the cluster.
    """

    def __init__(self, cluster: ClusterIndex, topology: KarpenterTopology, present: PresentNodes) -> None:
        self._cluster, self._topology, self._present = cluster, topology, present
        self._namespaces = {name: space.labels for name, space in cluster.snapshot.namespaces.items()}
        self._groups: dict[int, list[CountedGroup]] = {}
        self._owned: dict[int, list[CountedGroup]] = {}
        for group_term in cluster.anti_affinity.counts.items():
            self._keep_away(*group_term)

    def of(self, wishes: Wishes) -> list[CountedGroup]:
        """Return the groups of a pod; those that no pod had before are counted in the cluster as it is."""
        found = self._groups.get(id(wishes))
        if found is None:
            found = [self._spread(wishes, applied) for applied in wishes.constraints]
            terms = wishes.pod.terms
            near, apart = (*terms.affinity, *wishes.near), (*terms.anti_affinity, *wishes.apart)
            found += [self._of_term(GroupKind.AFFINITY, wishes, term) for term in near]
            found += [self._of_term(GroupKind.ANTI_AFFINITY, wishes, term) for term in apart]
            # A constraint that stands twice counts once.
            found = self._groups[id(wishes)] = list(dict.fromkeys(found))
            self.owned_by(wishes)
        return found

    def _spread(self, wishes: Wishes, applied: AppliedConstraint) -> CountedGroup:
        constraint, selector, namespace = applied.constraint, applied.selector, wishes.pod.namespace

        def selects(pod: Pod) -> bool:
            return selector is not None and pod.namespace == namespace and selector.matches(pod.labels)

        def make() -> CountedGroup:
            passes = wishes.counted_nodes(applied)
            domains = self._topology.universe.domains(constraint.topology_key, passes.tolerations)
            group = CountedGroup(
                GroupKind.SPREAD, constraint.topology_key, selects, passes, domains,
                max_skew=constraint.max_skew, min_domains=constraint.min_domains,
            )  # fmt: skip
            # Without a selector it counts every pod of the namespace that is there, and none that comes.
            table, slots = self._cluster.pods_of(namespace), self._cluster.nodes.slots
            counts = (
                None
                if table is None
                else table.count_by_node(selector or LabelSelector.parse({}), slots=slots)
            )
            self._count_present(group, None if counts is None else counts[self._present.view.slots])
            return group

        return self._topology.group(wishes.counted_key(applied), make)

    def _of_term(self, kind: GroupKind, wishes: Wishes, term: InterPodTerm) -> CountedGroup:
        def make() -> CountedGroup:
            group = self._term_group(kind, term, wishes)
            slots, counts = self._cluster.nodes.slots, np.zeros(self._cluster.nodes.slots, np.int64)
            for namespace, table in self._cluster.pod_tables():
                covered = term.covers(namespace, self._namespaces.get(namespace, {}))
                if covered and term.selector is not None:
                    counts += table.count_by_node(term.selector, slots=slots)
            self._count_present(group, counts[self._present.view.slots])
            return group

        return self._topology.group((kind, _alike(term)), make)

    def _term_group(self, kind: GroupKind, term: InterPodTerm, wishes: Wishes | None) -> CountedGroup:
        """Return the group of a term, without any pod: of affinity, taints narrow the domains."""

        def selects(pod: Pod) -> bool:
            return term.selects(pod.namespace, self._namespaces.get(pod.namespace, {}), pod.labels)

        tolerations = () if wishes is None else wishes.tolerations
        domains = self._topology.universe.domains(term.topology_key, tolerations)
        return CountedGroup(kind, term.topology_key, selects, EVERY_NODE, domains)

    def _count_present(self, group: CountedGroup, counts: NDArray[np.int64] | None) -> None:
        """Count the pods of the cluster, and add the domains of its nodes."""
        for node in self._present.listed:
            label = node.labels.get(group.key)
            if label is None or not group.passes.passes(node.taints, node.labels):
                continue
            domain = next(iter(label.values))
            group.count(domain, 0 if counts is None else int(counts[node.position]))

    def owned_by(self, wishes: Wishes) -> list[CountedGroup]:
        """Return the groups of the pods that have the anti-affinity terms of a pod."""
        terms = wishes.pod.terms.anti_affinity
        found = self._owned.get(id(terms))
        if found is None:
            kind = GroupKind.ANTI_AFFINITY
            found = self._owned[id(terms)] = [
                self._topology.inverse(_alike(term), lambda term=term: self._term_group(kind, term, wishes))  # type: ignore[misc]
                for term in terms
            ]
        return found

    def _keep_away(self, term: InterPodTerm, holders: Mapping[int, int]) -> None:
        """Add the group of the pods of the cluster that have an anti-affinity term."""
        kind = GroupKind.ANTI_AFFINITY
        group = self._topology.inverse(_alike(term), lambda: self._term_group(kind, term, None))
        of_slot = {int(slot): position for position, slot in enumerate(self._present.view.slots.tolist())}
        by_position = {node.position: node for node in self._present.listed}
        for slot, pods in holders.items():
            node = by_position.get(of_slot.get(slot, -1))
            label = None if node is None else node.labels.get(term.topology_key)
            if label is not None:
                group.count(next(iter(label.values)), pods)


def _alike(term: InterPodTerm) -> Hashable:
    """Return the key that terms share which count the same pods."""
    return (term.topology_key, term.selector, term.namespaces, term.namespace_selector)

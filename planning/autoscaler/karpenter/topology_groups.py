"""The topology groups of pods, with the pods of the cluster counted.

Source: ``scheduling/topology.go``, Karpenter 1.9.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from planning.autoscaler.karpenter.pending import Wishes
from planning.autoscaler.karpenter.present_nodes import PresentNodes
from planning.autoscaler.karpenter.requirements import Requirements
from planning.autoscaler.karpenter.topology import EVERY_NODE, CountedGroup, DomainUniverse, GroupKind
from policies.model.interpod_terms import InterPodTerm
from policies.model.labels import LabelSelector
from policies.model.pod import Pod
from policies.model.taints import Taint
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import AppliedConstraint


class TopologyGroups:
    """The groups that constrain pods, of constraints and of terms of affinity, each made once.

    Args:
        cluster: The cluster, which stays as it is.
        universe: The domains that NodePools may have.
        present: The nodes of the cluster.
    """

    def __init__(self, cluster: ClusterIndex, universe: DomainUniverse, present: PresentNodes) -> None:
        self._cluster, self._universe, self._present = cluster, universe, present
        self._namespaces = {name: space.labels for name, space in cluster.snapshot.namespaces.items()}
        # Those that count pods, and those of the pods that have an anti-affinity term.
        self._groups: dict[Hashable, CountedGroup] = {}
        self._inverse: dict[Hashable, CountedGroup] = {}
        # Of each wishes, and of the terms of each pod.
        self._of: dict[int, list[CountedGroup]] = {}
        self._owned: dict[int, list[CountedGroup]] = {}
        for group_term in cluster.anti_affinity.items():
            self._keep_away(*group_term)

    def of(self, wishes: Wishes) -> list[CountedGroup]:
        """Return the groups of a pod; those that no pod had before are counted in the cluster as it is."""
        found = self._of.get(id(wishes))
        if found is None:
            found = [self._spread(wishes, applied) for applied in wishes.constraints]
            terms = wishes.pod.terms
            near, apart = (*terms.affinity, *wishes.near), (*terms.anti_affinity, *wishes.apart)
            found += [self._of_term(GroupKind.AFFINITY, wishes, term) for term in near]
            found += [self._of_term(GroupKind.ANTI_AFFINITY, wishes, term) for term in apart]
            # A constraint that stands twice counts once.
            found = self._of[id(wishes)] = list(dict.fromkeys(found))
            self._owned_by(wishes)
        return found

    def keeping_away(self, pod: Pod) -> list[CountedGroup]:
        """Return the groups of the pods that keep a pod away."""
        return [group for group in self._inverse.values() if group.selects(pod)]

    def register_host(self, name: str) -> None:
        """Add a node to the domains of hosts."""
        for group in (*self._groups.values(), *self._inverse.values()):
            if group.key == HOSTNAME:
                group.register(name)

    def record(self, wishes: Wishes, taints: Iterable[Taint], labels: Requirements) -> None:
        """Count a pod that was put on a node, by the taints of that and what its labels may be."""
        taints = tuple(taints)
        for group in self._groups.values():
            group.record(wishes.pod, taints, labels)
        for group in self._owned_by(wishes):
            group.block(labels)

    def _spread(self, wishes: Wishes, applied: AppliedConstraint) -> CountedGroup:
        constraint, selector, namespace = applied.constraint, applied.selector, wishes.pod.namespace

        def selects(pod: Pod) -> bool:
            return selector is not None and pod.namespace == namespace and selector.matches(pod.labels)

        def make() -> CountedGroup:
            passes = wishes.counted_nodes(applied)
            domains = self._universe.domains(constraint.topology_key, passes.tolerations)
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

        return _made(self._groups, wishes.counted_key(applied), make)

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

        return _made(self._groups, (kind, _alike(term)), make)

    def _term_group(self, kind: GroupKind, term: InterPodTerm, wishes: Wishes | None) -> CountedGroup:
        """Return the group of a term, without any pod: of affinity, taints narrow the domains."""

        def selects(pod: Pod) -> bool:
            return term.selects(pod.namespace, self._namespaces.get(pod.namespace, {}), pod.labels)

        tolerations = () if wishes is None else wishes.tolerations
        domains = self._universe.domains(term.topology_key, tolerations)
        return CountedGroup(kind, term.topology_key, selects, EVERY_NODE, domains)

    def _count_present(self, group: CountedGroup, counts: NDArray[np.int64] | None) -> None:
        """Count the pods of the cluster, and add the domains of its nodes."""
        for node in self._present.listed:
            label = node.labels.get(group.key)
            if label is None or not group.passes.passes(node.taints, node.labels):
                continue
            domain = next(iter(label.values))
            group.count(domain, 0 if counts is None else int(counts[node.position]))

    def _owned_by(self, wishes: Wishes) -> list[CountedGroup]:
        """Return the groups of the pods that have the anti-affinity terms of a pod."""
        terms = wishes.pod.terms.anti_affinity
        found = self._owned.get(id(terms))
        if found is None:
            found = self._owned[id(terms)] = [self._holders(term, wishes) for term in terms]
        return found

    def _holders(self, term: InterPodTerm, wishes: Wishes | None) -> CountedGroup:
        """Return the group of the pods that have an anti-affinity term."""
        kind = GroupKind.ANTI_AFFINITY
        return _made(self._inverse, _alike(term), lambda: self._term_group(kind, term, wishes))

    def _keep_away(self, term: InterPodTerm, holders: Mapping[int, int]) -> None:
        """Add the group of the pods of the cluster that have an anti-affinity term."""
        group = self._holders(term, None)
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


def _made(
    groups: dict[Hashable, CountedGroup], key: Hashable, make: Callable[[], CountedGroup]
) -> CountedGroup:
    found = groups.get(key)
    if found is None:
        found = groups[key] = make()
    return found

"""Karpenter's own counts of pods by domain: of spread constraints, pod affinity and anti-affinity.

The domains are those that NodePools may have and those of the nodes there are. The minimum is over all that
the pod may be in. Each node is a domain of its own of hosts, and as there may always be one more, the minimum
over hosts is 0.

Source: ``scheduling/topology.go``, ``topologygroup.go``, ``topologydomaingroup.go`` and
``topologynodefilter.go``, Karpenter 1.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from planning.autoscaler.karpenter.node_pool import InstanceType, KnownLabels, NodePool
from planning.autoscaler.karpenter.requirements import (
    ANY,
    NONE,
    LabelRequirement,
    Requirements,
    conflict,
    one_of,
)
from policies.model.pod import Pod
from policies.model.taints import Taint, Toleration
from policies.model.topology_keys import HOSTNAME


def tolerates(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> bool:
    """Return whether all taints are tolerated, those of PreferNoSchedule too."""
    return all(any(each.tolerates(taint) for each in tolerations) for taint in taints)


class GroupKind(Enum):
    """Kind of a term that counts pods by domain."""

    SPREAD = "topology spread"
    AFFINITY = "pod affinity"
    ANTI_AFFINITY = "pod anti-affinity"


class CountedNodes(NamedTuple):
    """The nodes whose pods count."""

    #: Requirements of which a node must meet one set; None where it need not.
    alternatives: tuple[Requirements, ...] | None
    #: What must tolerate the taints of a node; None where they need not be.
    tolerations: tuple[Toleration, ...] | None

    def passes(self, taints: Iterable[Taint], labels: Requirements) -> bool:
        """Return whether pods on a node count, by what its labels may be."""
        if self.tolerations is not None and not tolerates(taints, self.tolerations):
            return False
        return self.alternatives is None or not all(conflict(labels, each) for each in self.alternatives)


#: The filter of affinity, which counts pods on all nodes.
EVERY_NODE = CountedNodes(None, None)


class DomainUniverse:
    """The domains that NodePools may have, each with the taints of its nodes.

    Args:
        pools: The NodePools.
        types: All instance types there are.
    """

    def __init__(self, pools: Iterable[NodePool], types: Sequence[InstanceType]) -> None:
        self._taints: dict[str, dict[str, set[tuple[Taint, ...]]]] = {}
        for pool in pools:
            for key, domain in pool.domains(types):
                self._taints.setdefault(key, {}).setdefault(domain, set()).add(pool.taints)

    def domains(self, key: str, tolerations: Sequence[Toleration] | None) -> Iterator[str]:
        """Yield the domains of a label; with tolerations, only those with nodes that they let a pod on."""
        for domain, alternatives in self._taints.get(key, {}).items():
            if tolerations is None or any(tolerates(taints, tolerations) for taints in alternatives):
                yield domain


class CountedGroup:
    """The pods that a constraint or a term selects, by domain.

    Attributes:
        kind: What it is.
        key: The label whose values are the domains.
        domains: The pods of each domain.
        passes: The nodes whose pods count.

    Args:
        kind: What it is.
        key: The label.
        selects: Whether a pod counts.
        passes: The nodes whose pods count.
        domains: The domains without any pod.
        max_skew: Of a spread constraint.
        min_domains: Of a spread constraint; None without.
    """

    __slots__ = ("_max_skew", "_min_domains", "_selected", "_selects", "domains", "key", "kind", "passes")

    def __init__(
        self,
        kind: GroupKind,
        key: str,
        selects: Callable[[Pod], bool],
        passes: CountedNodes,
        domains: Iterable[str],
        *,
        max_skew: int = 0,
        min_domains: int = 1,
    ) -> None:
        self.kind, self.key, self.passes = kind, key, passes
        self.domains = dict.fromkeys(domains, 0)
        self._selects, self._selected = selects, dict[int, bool]()
        self._max_skew, self._min_domains = max_skew, min_domains

    def selects(self, pod: Pod) -> bool:
        """Return whether a pod counts; pods that are one object are asked once."""
        found = self._selected.get(id(pod))
        if found is None:
            found = self._selected[id(pod)] = self._selects(pod)
        return found

    def register(self, domain: str) -> None:
        """Add a domain, unless it is there."""
        self.domains.setdefault(domain, 0)

    def count(self, domain: str, pods: int = 1) -> None:
        """Count pods of a domain."""
        self.domains[domain] = self.domains.get(domain, 0) + pods

    def record(self, pod: Pod, taints: Iterable[Taint], labels: Requirements) -> None:
        """Count a pod on a node, by what the labels of that may be.

        It counts for spreading and affinity only where its domain is known, for anti-affinity in all that the
        node may be in.
        """
        where = labels.get(self.key)
        if where is None or not self.selects(pod) or not self.passes.passes(taints, labels):
            return
        if self.kind is GroupKind.ANTI_AFFINITY:
            self.block(labels)
        elif where.is_listed and len(where.values) == 1:
            self.count(next(iter(where.values)))

    def block(self, labels: Requirements) -> None:
        """Count a pod in all domains that its node may be in."""
        for domain in labels.get(self.key, NONE).values:
            self.count(domain)

    def allowed(
        self,
        pod: Pod,
        of_pod: LabelRequirement,
        of_node: LabelRequirement,
        choose: Callable[[Sequence[str]], str],
    ) -> LabelRequirement:
        """Return the domains that a pod may have on a node; ``NONE`` if it may not be there.

        Args:
            pod: The pod.
            of_pod: The domains that the pod requires.
            of_node: The domains that the node may be in.
            choose: Chooses one of several domains that are equally good.
        """
        host = next(iter(of_node.values)) if self.key == HOSTNAME and len(of_node.values) == 1 else None
        if self.kind is GroupKind.SPREAD:
            return self._spread(pod, of_pod, of_node, host, choose)
        if self.kind is GroupKind.AFFINITY:
            return self._affinity(pod, of_pod, of_node, host, choose)
        if host is not None:
            return NONE if self.domains.get(host) else one_of(host)
        free = (domain for domain, count in self.domains.items() if not count)
        return one_of(*(domain for domain in free if of_node.allows(domain) and of_pod.allows(domain)))

    def minimum(self, of_pod: LabelRequirement) -> int:
        """Return the fewest pods of any domain that a pod may have; 0 over hosts."""
        if self.key == HOSTNAME:
            return 0
        counts = [count for domain, count in self.domains.items() if of_pod.allows(domain)]
        return 0 if len(counts) < self._min_domains else min(counts, default=0)

    def _spread(
        self,
        pod: Pod,
        of_pod: LabelRequirement,
        of_node: LabelRequirement,
        host: str | None,
        choose: Callable[[Sequence[str]], str],
    ) -> LabelRequirement:
        own, most = int(self.selects(pod)), self.minimum(of_pod) + self._max_skew
        if host is not None:
            return one_of(host) if self.domains.get(host, 0) + own <= most else NONE
        counts = {
            domain: count
            for domain, count in self.domains.items()
            if count + own <= most and of_node.allows(domain)
        }
        least = min(counts.values(), default=0)
        return _any_of((domain for domain, count in counts.items() if count == least), choose)

    def _affinity(
        self,
        pod: Pod,
        of_pod: LabelRequirement,
        of_node: LabelRequirement,
        host: str | None,
        choose: Callable[[Sequence[str]], str],
    ) -> LabelRequirement:
        with_pods = {domain for domain, count in self.domains.items() if count}
        # The first pod of all, or the first where the pod may be, may go anywhere if it selects itself.
        first = self.selects(pod) and not any(of_pod.allows(domain) for domain in with_pods)
        if host is not None:
            return one_of(host) if of_pod.allows(host) and (host in with_pods or first) else NONE
        near = [domain for domain in with_pods if of_pod.allows(domain) and of_node.allows(domain)]
        if near or not first:
            return one_of(*near)
        possible = [domain for domain in self.domains if of_pod.allows(domain)]
        here = [domain for domain in possible if of_node.allows(domain)]
        return _any_of(here or possible, choose)


def _any_of(domains: Iterable[str], choose: Callable[[Sequence[str]], str]) -> LabelRequirement:
    """Return one of several domains that are equally good; ``NONE`` of none."""
    tied = sorted(domains)
    return one_of(tied[0] if len(tied) == 1 else choose(tied)) if tied else NONE


def narrowed(
    groups: Iterable[CountedGroup],
    pod: Pod,
    of_pod: Requirements,
    *,
    labels: Mapping[str, LabelRequirement],
    known: KnownLabels,
    choose: Callable[[Sequence[str]], str],
) -> tuple[dict[str, LabelRequirement], CountedGroup | None]:
    """Return the labels that a node may have with a pod, and the group that does not allow it.

    Args:
        groups: Those of the pod, and those that keep it away.
        pod: The pod.
        of_pod: What it requires of nodes, preferences apart.
        labels: What the labels of the node may be.
        known: The labels of which a node may have any value though nothing says so.
        choose: Chooses one of several domains.
    """
    found = dict(labels)
    for group in groups:
        had = labels.get(group.key, ANY)
        domains = group.allowed(pod, of_pod.get(group.key, ANY), had, choose)
        met = found.get(group.key, ANY).meet(domains)
        if not met.is_listed or not (group.key in labels or known(group.key)):
            return found, group
        found[group.key] = met
    return found, None

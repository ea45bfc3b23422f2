"""A cluster's nodes as the hard constraints of one workload see them. Knows no running pods, and no numpy.

Source: ``calPreFilterState`` and ``matchNodeInclusionPolicies`` below
``pkg/scheduler/framework/plugins/podtopologyspread``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, partial

from policies.model.autoscalers import KARPENTER_NODE_LABEL
from policies.model.constraint import Constraint, NodeInclusionPolicy
from policies.model.declared import DeclaredConstraint, Workload
from policies.model.node import Node
from policies.model.node_affinity import NodeAffinity
from policies.model.repository import Repository
from policies.model.taints import SCHEDULING_EFFECTS, Taint, Toleration, first_untolerated
from policies.model.topology import ClusterTopology
from policies.model.version import KubernetesVersion
from policies.model.workload import REVISION_OWNERS
from policies.scheduler.capacity import DomainCapacities, max_pods
from policies.scheduler.eligibility import eligible
from policies.scheduler.releases import Behavior, behavior_of
from policies.scheduler.request import in_release

#: The labels whose value all pods of one revision share, though no template has them.
REVISION_LABELS = frozenset({*REVISION_OWNERS, "controller-revision-hash"})
#: Names that a message lists before it says how many more there are. Arbitrary; keeps it one line.
LISTED_NAMES = 3


class Ineligibility(StrEnum):
    """What keeps a pod off a node."""

    TAINT = "taint"
    AFFINITY = "affinity"


@dataclass(frozen=True, slots=True)
class EligibleDomain:
    """One value of a topology key.

    Attributes:
        value: The value.
        counted: The nodes that take part in the constraint's counts.
        usable: Those of them to which the pod could go.
    """

    value: str
    counted: tuple[Node, ...]
    usable: tuple[Node, ...]


@dataclass(frozen=True)
class WorkloadEligibility:
    """The nodes that matter to a workload's hard constraints, or to its soft ones.

    Attributes:
        tolerations: The taints that its pods put up with.
        affinity: The nodes that its pods ask for.
        behavior: What the release of Kubernetes does.
        nodes: The nodes of the cluster that carry the topology key of every such constraint.
    """

    tolerations: tuple[Toleration, ...]
    affinity: NodeAffinity
    behavior: Behavior
    nodes: tuple[Node, ...]
    _families: dict[Constraint, tuple[list[EligibleDomain], DomainCapacities]] = field(
        default_factory=dict, compare=False
    )
    _taking_part: dict[tuple[NodeInclusionPolicy, NodeInclusionPolicy], tuple[Node, ...]] = field(
        default_factory=dict, compare=False
    )
    _separate: dict[str, DomainCapacities | None] = field(default_factory=dict, compare=False)
    _rooms: dict[tuple[tuple[DomainCapacities, ...], int], int | None] = field(
        default_factory=dict, compare=False
    )

    @classmethod
    def of(
        cls, workload: Workload, inventory: ClusterTopology, version: KubernetesVersion, *, hard: bool = True
    ) -> WorkloadEligibility:
        """Take the nodes that take part at all; workloads with the same wishes share what was found."""
        keys = frozenset(
            declared.constraint.topology_key for declared in workload.constraints if declared.is_hard is hard
        )
        depends_on = (cls, workload.tolerations, workload.affinity, keys, version)
        known = inventory.memo.get(depends_on)
        if known is None:
            behavior = behavior_of(version)
            carriers = tuple(node for node in inventory.nodes or () if keys <= node.labels.keys())
            known = cls(workload.tolerations, workload.affinity, behavior, carriers)
            inventory.memo[depends_on] = known
        return known

    @cached_property
    def usable(self) -> tuple[Node, ...]:
        """The nodes to which the pod could go, as far as its constraints and what it requests allow."""
        return tuple(node for node in self.nodes if self.obstacle(node) is None)

    def obstacle(self, node: Node) -> Ineligibility | None:
        """Return what keeps the pod off a node, the first in the scheduler's order; None if nothing does."""
        if self.taint(node) is not None:
            return Ineligibility.TAINT
        return None if node.name in self._wanted else Ineligibility.AFFINITY

    def taint(self, node: Node) -> Taint | None:
        """Return the first taint that the pod does not tolerate."""
        return self._untolerated.get(node.name)

    @cached_property
    def _wanted(self) -> frozenset[str]:
        """The names of the nodes that the pod asks for: each is compared once, whatever looks at it."""
        return frozenset(node.name for node in self.nodes if self.affinity.matches(node.name, node.labels))

    @cached_property
    def _untolerated(self) -> dict[str, Taint]:
        """The first taint that the pod does not tolerate, of the nodes with one."""
        tainted = (node for node in self.nodes if node.taints)
        found = (
            (node.name, first_untolerated(node.taints, self.tolerations, SCHEDULING_EFFECTS))
            for node in tainted
        )
        return {name: taint for name, taint in found if taint is not None}

    def _tolerates(self, node: Node) -> bool:
        return node.name not in self._untolerated

    @cached_property
    def _usable_names(self) -> frozenset[str]:
        return frozenset(node.name for node in self.usable)

    def _eligible(self, constraint: Constraint) -> tuple[Node, ...]:
        """Return the nodes that take part in a constraint's counts; its policies alone decide."""
        policies = constraint.node_affinity_policy, constraint.node_taints_policy
        if policies not in self._taking_part:
            self._taking_part[policies] = tuple(
                node
                for node in self.nodes
                if eligible(
                    constraint,
                    True,  # noqa: FBT003  # the nodes are those that carry the keys
                    wanted=partial(self._wanted.__contains__, node.name),
                    tolerated=partial(self._tolerates, node),
                )
            )
        return self._taking_part[policies]

    def domains(self, constraint: Constraint) -> list[EligibleDomain]:
        """Return the domains that a constraint counts, by value."""
        return self._judged(constraint)[0]

    def family(self, constraint: Constraint) -> DomainCapacities:
        """Return what a constraint allows in each of its domains."""
        return self._judged(constraint)[1]

    def _judged(self, constraint: Constraint) -> tuple[list[EligibleDomain], DomainCapacities]:
        # What the constraint selects does not matter to its domains.
        bare = in_release(replace(constraint, selector=None, match_label_keys=()), self.behavior)
        if bare not in self._families:
            domains = self._count(bare)
            self._families[bare] = domains, self._family(bare, domains)
        return self._families[bare]

    def _count(self, constraint: Constraint) -> list[EligibleDomain]:
        counted: dict[str, list[Node]] = {}
        for node in self._eligible(constraint):
            counted.setdefault(node.labels[constraint.topology_key], []).append(node)
        usable = self._usable_names
        return [
            EligibleDomain(value, tuple(nodes), tuple(node for node in nodes if node.name in usable))
            for value, nodes in sorted(counted.items())
        ]

    def min_domains(self, constraint: Constraint) -> int:
        """Return how many domains there must be for the minimum to be more than 0."""
        return in_release(constraint, self.behavior).min_domains

    def _family(self, constraint: Constraint, domains: list[EligibleDomain]) -> DomainCapacities:
        return DomainCapacities(
            key=constraint.topology_key,
            domains={
                domain.value: frozenset(node.name for node in domain.usable)
                for domain in domains
                if domain.usable
            },
            limit=constraint.max_skew,
            rises=len(domains) >= self.min_domains(constraint) and all(domain.usable for domain in domains),
        )

    def separate(self, key: str) -> DomainCapacities | None:
        """Return what one pod a domain allows; None if a usable node lacks the key and so is free of it."""
        if key not in self._separate:
            self._separate[key] = self._apart(key)
        return self._separate[key]

    def room(self, families: Iterable[DomainCapacities], wanted: int) -> int | None:
        """Return how many pods fit at most, None if as many as are wanted may: ``max_pods``."""
        asked = tuple(families), wanted
        if asked not in self._rooms:
            self._rooms[asked] = max_pods(*asked)
        return self._rooms[asked]

    def keeps_out_surge(self, declared: DeclaredConstraint, replicas: int) -> bool:
        """Tell whether a constraint has no room for one pod more only for domains that no pod can reach.

        With these left out there is room, and pods of an old revision count with those of a new one.
        """
        constraint = declared.constraint
        keys = in_release(constraint, self.behavior).match_label_keys
        if REVISION_LABELS & set(keys) or self.room([self.family(constraint)], replicas + 1) is None:
            return False
        return self.room([self.family(with_policies(constraint))], replicas + 1) is None

    def _apart(self, key: str) -> DomainCapacities | None:
        domains: dict[str, set[str]] = {}
        for node in self.usable:
            if key not in node.labels:
                return None
            domains.setdefault(node.labels[key], set()).add(node.name)
        return DomainCapacities(
            key, {value: frozenset(names) for value, names in domains.items()}, 1, rises=False
        )


def with_policies(constraint: Constraint) -> Constraint:
    """Return a constraint that leaves out every node to which the pod cannot go for taints or affinity."""
    honor = NodeInclusionPolicy.HONOR
    return replace(constraint, node_affinity_policy=honor, node_taints_policy=honor)


def counts_only_its_own(workload: Workload, declared: DeclaredConstraint, repository: Repository) -> bool:
    """Tell whether a constraint counts all pods of its workload and, as far as is known, no others.

    Only then do the workload's own replicas decide what the counts are. A selector that looks at labels which
    the template does not have is not judged, nor are keys that may tell the replicas apart.
    """
    constraint, labels = declared.constraint, workload.labels
    selector = constraint.selector
    if selector is None or selector.empty or not selector.keys <= labels.keys():
        return False
    shared = labels.keys() | REVISION_LABELS
    if not selector.matches(labels) or not shared >= set(constraint.match_label_keys):
        return False
    return not _keeps_revisions(workload) and not repository.others(workload, selector)


def nodes_are_added(repository: Repository, inventory: ClusterTopology) -> bool:
    """Tell whether nodes are added for pods that are pending, as far as manifests and nodes show."""
    return repository.adds_nodes or bool(inventory.nodes_with(KARPENTER_NODE_LABEL))


def _keeps_revisions(workload: Workload) -> bool:
    """Tell whether two revisions may stay side by side: a StatefulSet with a partition."""
    node = workload.obj
    for name in ("spec", "updateStrategy", "rollingUpdate"):
        below = node.get(name)
        if not isinstance(below, dict):
            return False
        node = below
    return bool(node.get("partition"))


def listed(names: Iterable[str]) -> str:
    """Return names for a message, sorted, the first few of many.

    >>> listed(["c", "a", "b"]), listed("edcba")
    ('a, b, c', 'a, b, c and 2 more')
    """
    ordered = sorted(names)
    text = ", ".join(ordered[:LISTED_NAMES])
    return text if len(ordered) <= LISTED_NAMES else f"{text} and {len(ordered) - LISTED_NAMES} more"

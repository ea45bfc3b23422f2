"""The nodes of a cluster for the pods of one workload: eligible domains, and how many pods fit. No numpy.

For the rules, which know manifests and nodes but no running pods. Which nodes are eligible, that is take part
in the counts of a constraint, is decided here for the scheduler too: a set of nodes is whatever holds one, a
mask over all of them in the engine, the names in the rules.

Source: ``matchNodeInclusionPolicies`` and ``nodeLabelsMatchSpreadConstraints``,
``podtopologyspread/common.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from policies.model.constraint import Constraint, NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.node import Node
from policies.model.node_affinity import NodeAffinity, NodeSelectorTerm
from policies.model.repository import Repository
from policies.model.scaling import KARPENTER_NODE_LABEL, ReplicaRange
from policies.model.taints import SCHEDULING_EFFECTS, Taint, Toleration, first_untolerated
from policies.model.topology import ClusterTopology
from policies.model.version import KubernetesVersion
from policies.model.workload import ConstraintEntry, Workload
from policies.model.workload_kinds import REVISION_OWNERS
from policies.scheduler.capacity import DomainCapacities, Room, most_pods
from policies.scheduler.release_changes import Behavior
from policies.scheduler.releases import behavior_of
from policies.scheduler.request import in_release

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A set of nodes.
NodeSet_co = TypeVar("NodeSet_co", "frozenset[str]", "NDArray[np.bool_]", covariant=True)
#: The labels whose value all pods of one revision share, though no template has them.
REVISION_LABELS = frozenset({*REVISION_OWNERS, "controller-revision-hash"})


class NodesOfPod(Protocol[NodeSet_co]):
    """The nodes of a cluster, and how they meet one pod."""

    def with_labels(self, keys: frozenset[str]) -> NodeSet_co:
        """Return the nodes that have every one of some labels."""

    @property
    def matches_affinity(self) -> NodeSet_co:
        """The nodes that match the pod's nodeSelector and required node affinity."""

    @property
    def tolerates_taints(self) -> NodeSet_co:
        """The nodes without a NoSchedule or NoExecute taint that the pod does not tolerate."""


def eligible_nodes(
    constraint: Constraint, nodes: NodesOfPod[NodeSet_co], *, keys: frozenset[str], behavior: Behavior
) -> NodeSet_co:
    """Return the nodes that take part in a constraint's counts.

    Of a ScheduleAnyway constraint over ``kubernetes.io/hostname`` the scheduler reads no counts of domains,
    but those of each feasible node (``calPreScoreState``).

    Args:
        constraint: The constraint.
        nodes: The nodes, for a pod with that constraint.
        keys: The topology keys that a node must have (``required_keys``).
        behavior: What the release does: one without inclusion policies honors affinity and ignores taints.
    """
    constraint = in_release(constraint, behavior)
    eligible = nodes.with_labels(keys)
    if constraint.node_affinity_policy is NodeInclusionPolicy.HONOR:
        eligible = eligible & nodes.matches_affinity
    if constraint.node_taints_policy is NodeInclusionPolicy.HONOR:
        eligible = eligible & nodes.tolerates_taints
    return eligible


def required_keys(constraints: Iterable[Constraint], when: WhenUnsatisfiable) -> frozenset[str]:
    """Return the keys that a node must have to take part in the counts of any constraint of a kind.

    The hard constraints of a pod are taken together, and so are the soft ones but for the system defaults.
    """
    return frozenset([entry.topology_key for entry in constraints if entry.when_unsatisfiable is when])


class EligibleDomain(NamedTuple):
    """One value of a topology key."""

    value: str  #: The value.
    nodes: Sequence[Node]  #: The eligible nodes, which take part in the constraint's counts.
    usable: Sequence[Node]  #: Those of them to which the pod could go.


@dataclass(frozen=True)
class WorkloadTopology:
    """The nodes of a cluster, for a workload's hard constraints or for its soft ones."""

    cluster: ClusterTopology  #: The cluster, which keeps what pods of different keys share.
    tolerations: tuple[Toleration, ...]  #: Of the pods.
    affinity: NodeAffinity  #: Of the pods.
    keys: frozenset[str]  #: The topology keys that an eligible node has.
    behavior: Behavior  #: What the release of Kubernetes does.
    _domains: dict[Hashable, list[EligibleDomain]] = field(default_factory=dict, compare=False)
    _capacities: dict[Hashable, DomainCapacities] = field(default_factory=dict, compare=False)
    _one_pod: dict[str, DomainCapacities | None] = field(default_factory=dict, compare=False)
    _most_pods: dict[tuple[DomainCapacities, ...], Room | None] = field(default_factory=dict, compare=False)

    @classmethod
    def of(
        cls, workload: Workload, cluster: ClusterTopology, version: KubernetesVersion, *, hard: bool = True
    ) -> WorkloadTopology:
        """Return the nodes for a workload; those with equal affinity, tolerations and keys share them."""
        when = WhenUnsatisfiable.DO_NOT_SCHEDULE if hard else WhenUnsatisfiable.SCHEDULE_ANYWAY
        keys = required_keys([declared.constraint for declared in workload.constraints], when)
        release = version.major, version.minor
        depends_on = (cls, workload.tolerations, workload.affinity, keys, release)
        return cluster.derive(
            depends_on,
            lambda: cls(cluster, workload.tolerations, workload.affinity, keys, behavior_of(version)),
        )

    @cached_property
    def usable(self) -> Sequence[Node]:
        """The nodes to which the pod could go, as far as keys, affinity and taints allow."""
        return self._those(self.cluster.nodes or (), self._usable_names)

    @cached_property
    def _usable_names(self) -> frozenset[str]:
        return self.with_labels(self.keys) & self.matches_affinity & self.tolerates_taints

    def _those(self, nodes: Sequence[Node], names: frozenset[str]) -> Sequence[Node]:
        """Return the nodes with one of some names; most often these are all names of the cluster."""
        if len(names) == len(self.cluster.names):
            return nodes
        return [node for node in nodes if node.name in names]

    def taint(self, node: Node) -> Taint | None:
        """Return the first taint that the pod does not tolerate."""
        return self._untolerated.get(node.name)

    def with_labels(self, keys: frozenset[str]) -> frozenset[str]:
        """Return the nodes that have every one of some labels."""
        return self.cluster.names.intersection(*map(self.cluster.names_with, keys))

    @property
    def matches_affinity(self) -> frozenset[str]:
        """The nodes that match the pod's nodeSelector and required node affinity."""
        return self.cluster.derive(("matching", self.affinity), self._matching)

    def _matching(self) -> frozenset[str]:
        """Compare each value of a label once: the nodes that have it are alike."""
        found = self.cluster.names
        for key, value in self.affinity.node_selector:
            found &= {node.name for node in self.cluster.nodes_with(key).get(value, ())}
        if self.affinity.terms is None:
            return found
        return found & frozenset[str]().union(*map(self._matching_term, self.affinity.terms))

    def _matching_term(self, term: NodeSelectorTerm) -> frozenset[str]:
        if not term.expressions and not term.fields:
            return frozenset()
        found = self.cluster.names
        for entry in term.expressions:
            by_value = self.cluster.nodes_with(entry.key).items()
            accepted = {node.name for value, nodes in by_value if entry.accepts(value) for node in nodes}
            if entry.accepts(None):
                accepted |= self.cluster.names - self.cluster.names_with(entry.key)
            found &= accepted
        for entry in term.fields:
            found = frozenset(filter(entry.accepts, found))
        return found

    @property
    def tolerates_taints(self) -> frozenset[str]:
        """The nodes without a NoSchedule or NoExecute taint that the pod does not tolerate."""
        return self.cluster.names - self._untolerated.keys()

    @property
    def _untolerated(self) -> dict[str, Taint]:
        """The first taint that the pod does not tolerate, of the nodes with one."""
        return self.cluster.derive(("untolerated", self.tolerations), self._find_untolerated)

    def _find_untolerated(self) -> dict[str, Taint]:
        return {
            node.name: taint
            for taints, nodes in self.cluster.tainted.items()
            if (taint := first_untolerated(taints, self.tolerations, SCHEDULING_EFFECTS)) is not None
            for node in nodes
        }

    def domains(self, constraint: Constraint) -> list[EligibleDomain]:
        """Return the domains that a constraint counts, by value."""
        key = constraint.topology_key, constraint.node_affinity_policy, constraint.node_taints_policy
        if key not in self._domains:
            self._domains[key] = self._group(constraint)
        return self._domains[key]

    def capacities(self, constraint: Constraint) -> DomainCapacities:
        """Return how many pods a constraint allows in each of its domains."""
        key = constraint.of_domains
        if key not in self._capacities:
            self._capacities[key] = _capacities(constraint, self.domains(constraint))
        return self._capacities[key]

    def _group(self, constraint: Constraint) -> list[EligibleDomain]:
        eligible = eligible_nodes(constraint, self, keys=self.keys, behavior=self.behavior)
        domains = []
        for value, nodes in self.cluster.nodes_with(constraint.topology_key).items():
            if counted := self._those(nodes, eligible):
                domains.append(EligibleDomain(value, counted, self._those(counted, self._usable_names)))
        return domains

    def known_values(
        self, constraint: Constraint, listed: Collection[str]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Return the domains that count, now or once they have a node, and those of them that take pods.

        Args:
            constraint: The constraint.
            listed: Domains of its topology key that a policy lists, also those without a node at the moment.
        """
        key, domains = constraint.topology_key, self.domains(constraint)
        without_node = frozenset(listed) - self.cluster.nodes_with(key).keys()
        selected = self.affinity.values_of(key)
        if selected is not None:
            without_node &= selected
        eligible = frozenset(domain.value for domain in domains)
        usable = frozenset(domain.value for domain in domains if domain.usable)
        return eligible | without_node, usable | without_node

    def one_pod_per_domain(self, key: str) -> DomainCapacities | None:
        """Return the domains of a key, with room for one pod each; None if a usable node lacks the key."""
        if key not in self._one_pod:
            by_value = {
                value: frozenset([node.name for node in self._those(nodes, self._usable_names)])
                for value, nodes in self.cluster.nodes_with(key).items()
            }
            domains = {value: names for value, names in by_value.items() if names}
            lacks = not self._usable_names <= self.cluster.names_with(key)
            self._one_pod[key] = None if lacks else DomainCapacities(key, domains, 1, rises=False)
        return self._one_pod[key]

    def max_pods(self, capacities: Iterable[DomainCapacities], wanted: int) -> int | None:
        """Return how many pods fit at most, None if all that are wanted may, or where nothing is known.

        Raises:
            UndecidedError: The search was given up.
        """
        of = tuple(dict.fromkeys(capacities))
        if of not in self._most_pods:
            self._most_pods[of] = most_pods(of)
        room = self._most_pods[of]
        return None if room is None else room.below(wanted)

    def has_no_room_for_surge(self, declared: ConstraintEntry, replicas: int) -> bool:
        """Return whether one pod more does not fit because of domains that no pod can reach.

        It fits if the constraint leaves these out; and pods of an old revision count with those of a new one.
        """
        constraint = declared.constraint
        if REVISION_LABELS & set(constraint.match_label_keys):
            return False
        if self.max_pods([self.capacities(constraint)], replicas + 1) is None:
            return False
        return self.max_pods([self.capacities(honoring_both(constraint))], replicas + 1) is None


def _capacities(constraint: Constraint, domains: list[EligibleDomain]) -> DomainCapacities:
    return DomainCapacities(
        key=constraint.topology_key,
        domains={
            domain.value: frozenset([node.name for node in domain.usable])
            for domain in domains
            if domain.usable
        },
        limit=constraint.max_skew,
        rises=len(domains) >= constraint.min_domains and all(domain.usable for domain in domains),
    )


def honoring_both(constraint: Constraint) -> Constraint:
    """Return a constraint that leaves out every node to which taints or affinity keep the pod from going."""
    honor = NodeInclusionPolicy.HONOR
    return replace(constraint, node_affinity_policy=honor, node_taints_policy=honor)


def counts_its_own(workload: Workload, declared: ConstraintEntry) -> bool:
    """Return whether a constraint selects the pods of its workload, and not just any."""
    selector = declared.constraint.selector
    return selector is not None and not selector.empty and selector.matches(workload.template.labels)


def may_bind(workload: Workload, declared: ConstraintEntry, replicas: ReplicaRange | None) -> bool:
    """Return whether a hard constraint can keep some replica out of a domain for where the others are.

    Args:
        workload: The workload.
        declared: Its constraint.
        replicas: How many there are; None where that is not known, so that there may be any number.
    """
    enough = replicas is None or replicas.most > declared.constraint.max_skew
    return enough and declared.is_hard and counts_its_own(workload, declared)


def counts_only_its_own(workload: Workload, declared: ConstraintEntry, repository: Repository) -> bool:
    """Return whether a constraint counts all pods of its workload and, as far as is known, no others.

    Only then are the counts those of the workload's own replicas. It is not known of a selector of labels
    that the template does not have, nor of keys whose values may differ between the replicas.
    """
    constraint, labels = declared.constraint, workload.template.labels
    selector = constraint.selector
    if selector is None or selector.empty or not selector.keys <= labels.keys():
        return False
    shared = labels.keys() | REVISION_LABELS
    if not selector.matches(labels) or not shared >= set(constraint.match_label_keys):
        return False
    return not _keeps_revisions(workload) and not repository.others(workload, selector)


def nodes_are_added(repository: Repository, cluster: ClusterTopology) -> bool:
    """Return whether nodes are added for pending pods, as far as manifests and nodes show."""
    return repository.adds_nodes or bool(cluster.nodes_with(KARPENTER_NODE_LABEL))


def _keeps_revisions(workload: Workload) -> bool:
    """Return whether two revisions may run side by side for good: a StatefulSet with a partition."""
    node = workload.obj
    for name in ("spec", "updateStrategy", "rollingUpdate"):
        below = node.get(name)
        if not isinstance(below, dict):
            return False
        node = below
    return bool(node.get("partition"))

"""Karpenter with its NodePools: the nodes that it adds for pending pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from planning.autoscaler.karpenter.consolidation import Consolidations
from planning.autoscaler.karpenter.node_pool import (
    NODES,
    InstanceType,
    KnownLabels,
    NodePool,
)
from planning.autoscaler.karpenter.pending import NO_PREFERENCE, Wishes, strict_alternatives
from planning.autoscaler.karpenter.provisioning import Provisioned, Provisioner, launched
from planning.autoscaler.karpenter.requirements import NONE, combine, conflict
from planning.autoscaler.karpenter.topology import tolerates
from planning.simulation.autoscaled import (
    DAEMONS,
    AutoscalerName,
    GroupSize,
    NewNode,
    RelaxedPreference,
    Unhelped,
)
from planning.simulation.cluster_simulation import QueuedPod, never
from planning.simulation.node_source import NewNodes
from policies.model.pod import Pod
from policies.model.pod_volumes import NO_VOLUMES
from policies.model.topology_keys import ZONE
from policies.scheduler.binding import TieBreaker
from policies.scheduler.index import ClusterIndex

#: What Karpenter looks at besides, and is not part of this.
_NOT_MODELED: Final = (
    DAEMONS,
    "NodeClasses, reserved capacity and NodeOverlays",
    "the provider's own choice among the instance types that Karpenter allows",
)
_VOLUMES: Final = "zones that the volumes of pods require"
_UNPRICED: Final = "prices: the smallest instance type is taken"
_OF_NODES: Final = "instance types that no node of the cluster has"


@dataclass(frozen=True, slots=True, kw_only=True)
class Karpenter:
    """Karpenter with its NodePools."""

    pools: tuple[NodePool, ...]  #: The NodePools, in the order in which they are tried.
    types: tuple[InstanceType, ...]  #: All instance types there are.
    sizes: Mapping[str, int]  #: How many nodes each NodePool has, by its name.
    of_nodes: bool = False  #: Whether the instance types are those of the cluster's nodes.
    static: tuple[str, ...] = ()  #: The NodePools with a fixed number of nodes, which get none for pods.

    @property
    def name(self) -> AutoscalerName:
        """Its name."""
        return AutoscalerName.KARPENTER

    @property
    def karpenter_nodes(self) -> int:
        """How many nodes of Karpenter are left out: none."""
        return 0

    @property
    def width(self) -> int:
        """With how many instance types a pod may be compared."""
        return sum(len(pool.types) for pool in self.pools)

    def states(self) -> tuple[GroupSize, ...]:
        """Return its NodePools as they are."""
        return tuple(
            GroupSize(
                name=pool.name,
                origin="document",
                zone=_only_value(pool, ZONE),
                size=self.sizes.get(pool.name, 0),
                max_size=pool.limits.get(NODES),
            )
            for pool in self.pools
        )

    def rooms(self) -> None:
        """Return None: pods decide which instance type a node has."""

    def domains(self, key: str, pod: Pod) -> set[str]:
        """Return the domains of a label in which nodes may come for a pod, by their labels and taints.

        What it counts itself are more of them: see ``NodePool.domains``.
        """
        wanted, known, found = strict_alternatives(pod), KnownLabels.of(self.types), set[str]()
        for pool in self.pools:
            if not tolerates(pool.taints, (*pod.tolerations, NO_PREFERENCE)):
                continue
            for kind, term in product(pool.types, wanted):
                having = combine(pool.requirements.items(), kind.requirements.items())
                if not conflict(having, term, known):
                    allowed = combine(having.items(), term.items()).get(key, NONE)
                    found |= allowed.values if allowed.is_listed else set()
        return found

    def not_modeled(self, pods: Iterable[QueuedPod]) -> tuple[str, ...]:
        """Return the names of what else it looks at for some pods."""
        unpriced = any(offering.price is None for kind in self.types for offering in kind.offerings)
        stored = any(pod.request.pod.volumes is not NO_VOLUMES for pod in pods)
        optional = ((_UNPRICED, unpriced), (_OF_NODES, self.of_nodes), (_VOLUMES, stored))
        fixed = (f"NodePool {name}, which has a fixed number of nodes" for name in self.static)
        return (*_NOT_MODELED, *(text for text, said in optional if said), *fixed)

    def grown(self, nodes: Iterable[NewNode]) -> Karpenter:
        """Return it with NodePools that have further nodes."""
        sizes = dict(self.sizes)
        for node in nodes:
            sizes[node.group] = sizes.get(node.group, 0) + 1
        return replace(self, sizes=sizes)

    def without(self, key: str, domain: str) -> Karpenter:
        """Return it with nothing to be had in a domain, which is lost.

        A NodePool that lists the zone still counts it as a domain, as Karpenter does.
        """
        types = tuple(_without(kind, key, domain) for kind in self.types)
        lasting = {kind.name: kind for kind in types if kind.offerings and kind.labels.get(key) != domain}
        pools = tuple(
            replace(pool, types=tuple(lasting[kind.name] for kind in pool.types if kind.name in lasting))
            for pool in self.pools
            if pool.labels.get(key) != domain
        )
        return replace(self, pools=pools, types=tuple(lasting.values()))

    def removals(self, choose: TieBreaker, most_tried: int) -> Consolidations:
        """Return the nodes that it removes, round after round: see ``NodeSource``."""
        return Consolidations(self.pools, self.types, choose, most_tried)

    def nodes_for(
        self,
        cluster: ClusterIndex,
        pods: Iterable[QueuedPod],
        choose: TieBreaker,
        stop: Callable[[], bool] = never,
    ) -> NewNodes:
        """Return the nodes of one round, added at once for all pods that wait: see ``NodeSource``."""
        waiting = list(pods)
        if not waiting:
            return NewNodes(loops=(), nodes=(), unhelped=(), complete=True)
        provisioner = Provisioner(cluster, waiting, self.pools, self.types, choose)
        found = provisioner.run(stop)
        return NewNodes(
            loops=(),
            nodes=tuple(launched(found.claims, cluster, choose)),
            unhelped=tuple(_unhelped(found, waiting)),
            complete=not found.stopped,
            stopped=found.stopped,
            given_up=tuple(_given_up(found, provisioner.wishes)),
        )


def _only_value(pool: NodePool, key: str) -> str:
    found = pool.requirements.get(key)
    return next(iter(found.values)) if found and found.is_listed and len(found.values) == 1 else ""


def _without(kind: InstanceType, key: str, domain: str) -> InstanceType:
    """Return an instance type that is not offered in a zone, if that is what the label is."""
    if key != ZONE:
        return kind
    return replace(kind, offerings=tuple(each for each in kind.offerings if each.zone != domain))


def _unhelped(found: Provisioned, pods: Sequence[QueuedPod]) -> Iterator[Unhelped]:
    """Yield the pods for which no node is added, alike ones together."""
    alike: dict[tuple[int, tuple[tuple[str, str], ...]], list[str]] = {}
    for number, pod in enumerate(pods):
        why = found.failed.get(number)
        if number in found.present:
            node = found.present[number]
            why = {"": f"Karpenter takes it to fit {node}, where kube-scheduler does not put it"}
        if why is not None:
            name = f"{pod.request.pod.namespace}/{pod.name}"
            alike.setdefault((id(pod.request), tuple(why.items())), []).append(name)
    for (_, reasons), names in alike.items():
        yield Unhelped(pods=tuple(names), why=dict(reasons))


def _given_up(found: Provisioned, first: Sequence[Wishes]) -> Iterator[RelaxedPreference]:
    """Yield the preferences that pods gave up to be put somewhere."""
    pods: dict[str, int] = {}
    for number, last in found.wishes.items():
        wishes: Wishes | None = first[number]
        while wishes is not None and wishes is not last:
            wishes = wishes.relaxed
            if wishes is not None:
                pods[wishes.given_up] = pods.get(wishes.given_up, 0) + 1
    for preference, number in pods.items():
        yield RelaxedPreference(preference=preference, pods=number)

"""Nodes that are described and not there: a whole cluster of them, or what an autoscaler may add to one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from planning.simulation.actions import domains_of
from planning.simulation.node_source import NodeSource
from policies.config.context import AdmissionContext, listed_domains
from policies.manifests.fields import shown
from policies.manifests.words import listed
from policies.model.node import Node, without_transient
from policies.model.topology_keys import HOSTNAME, ZONE
from policies.scheduler.index import ClusterIndex

#: Why there are no groups of nodes that Karpenter may add.
KARPENTER_CHOOSES: Final = (
    "which nodes Karpenter adds depends on the pods: say how many nodes each domain may have (nodes), "
    "and simulate what is advised with the NodePools"
)
#: What a described node has to give: that it has room for the pods is taken for granted.
_PLENTY: Final = {"cpu": 10**9, "memory": 2**50, "ephemeral-storage": 2**50, "pods": 110}


@dataclass(frozen=True, slots=True, eq=False)
class NodeGroup:
    """Nodes that an autoscaler may add in one domain."""

    key: str  #: The topology key of the domain.
    domain: str  #: The domain.
    like: Node  #: What each is like.
    count: int  #: How many there may be more.

    def node(self, number: int, cluster: ClusterIndex) -> Node:
        """Return a new node of a cluster, which has no other of its name."""
        while cluster.nodes.find(name := f"{self.domain}-new-{number}") is not None:
            number += 1
        labels = {**self.like.labels, self.key: self.domain, HOSTNAME: name}
        return self.like._replace(name=name, labels=labels, images=())


def node_groups(
    cluster: ClusterIndex, key: str, most: Mapping[str, int], listed: Iterable[str], enough: int
) -> Iterator[NodeGroup]:
    """Yield the groups of nodes that an autoscaler may add.

    A new node is like one of its domain, else like another one, else like a described one.

    Args:
        cluster: The cluster as it is.
        key: The topology key of the domains.
        most: How many nodes each domain may come to have.
        listed: Domains that exist though they may have no node: those get as many as are enough.
        enough: How many.
    """
    present = domains_of(cluster, key)
    wanted = {domain: enough for domain in listed if domain not in present} | dict(most)
    first = next(iter(cluster.nodes.listed()), None)
    for domain, count in sorted(wanted.items()):
        names = present.get(domain, [])
        like = cluster.nodes.find(names[0]) if names else first
        if count > len(names):
            yield NodeGroup(key, domain, without_transient(like or _described(domain)), count - len(names))


def groups_for(
    context: AdmissionContext, key: str, most: Mapping[str, int], enough: int
) -> tuple[NodeGroup, ...]:
    """Return the groups of nodes that an autoscaler may add, by the domains of a topology key.

    Args:
        context: The cluster, and policies that list domains; those get as many nodes as are enough.
        key: The topology key.
        most: How many nodes each domain may come to have.
        enough: How many.
    """
    if context.cluster is None:
        return ()
    listed = listed_domains(context.policies).get(domains_key(key), ())
    return tuple(node_groups(context.cluster, domains_key(key), most, listed, enough))


def scaled_groups(autoscaler: NodeSource, key: str, enough: int) -> tuple[NodeGroup, ...]:
    """Return the node groups of an autoscaler that may get nodes, each in its domain.

    Args:
        autoscaler: The autoscaler, of which ``groups_lacking`` finds none.
        key: The topology key of the goal.
        enough: As many nodes of each group are enough.
    """
    key = domains_key(key)
    return tuple(
        NodeGroup(key, group.like.labels[key], group.like, min(group.room, enough))
        for group in autoscaler.rooms() or ()
    )


def groups_lacking(autoscaler: NodeSource, key: str) -> str:
    """Return which node groups are in no domain of a goal's topology key, in words; empty if none is.

    Of Karpenter none can be told, as it chooses nodes by the pods.
    """
    rooms, key = autoscaler.rooms(), domains_key(key)
    if rooms is None:
        return KARPENTER_CHOOSES
    lacking = [group.name for group in rooms if key not in group.like.labels]
    if not lacking:
        return ""
    groups = "node group" if len(lacking) == 1 else "node groups"
    return f"in which domain new nodes are is not known: no label {shown(key)} of {groups} {listed(lacking)}"


def domains_key(key: str) -> str:
    """Return the topology key by whose domains nodes are counted: of nodes themselves, that of zones."""
    return ZONE if key == HOSTNAME else key


def described_nodes(key: str, counts: Mapping[str, int]) -> Iterator[Node]:
    """Yield the nodes of a cluster of which only their number in each domain is known."""
    for domain, count in counts.items():
        for number in range(1, count + 1):
            node = _described(f"{domain}-{number}")
            yield node._replace(labels={**node.labels, key: domain})


def _described(name: str) -> Node:
    return Node(name=name, labels={HOSTNAME: name}, taints=(), unschedulable=False, allocatable=_PLENTY)

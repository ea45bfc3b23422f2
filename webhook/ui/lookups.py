"""Nodes and pods of the cluster by their names: what is taken of a node, and the pods that a search finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nsmallest
from typing import Final, NamedTuple

from policies.manifests.fields import shown_name
from policies.manifests.wire import Count, dumps
from policies.model.taints import Taint
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import ProblemsError, request_problem


class PodOfNode(NamedTuple):
    """A pod on a node."""

    namespace: str  #: Its namespace.
    name: str  #: Its name.
    workload: int  #: The position of its workload in the columns of the cluster; -1 without a controller.
    terminating: bool  #: Whether it is being deleted.


class ResourceUse(NamedTuple):
    """The used part of a resource; cpu in thousandths, all else in units."""

    allocatable: Count  #: What the node offers.
    requested: Count  #: What its pods request.


class NodeDetail(NamedTuple):
    """One node."""

    name: str  #: Its name.
    cordoned: bool  #: Whether it is unschedulable.
    labels: Mapping[str, str]  #: Its labels.
    taints: Sequence[Taint]  #: Its taints.
    resources: Mapping[str, ResourceUse]  #: What it offers, by resource.
    pods: Sequence[PodOfNode]  #: The pods on it, by namespace and name.


def node_detail(cluster: PageCluster, name: str) -> bytes:
    """Return a node of the cluster.

    Raises:
        ProblemsError: There is none of that name.
    """
    with cluster.index.reading():
        node, table = cluster.index.nodes.find(name), cluster.index.nodes
        if node is None:
            text = f"the cluster has no node {shown_name(name)}"
            raise ProblemsError([request_problem("name", text)], missing=True)
        (slot,) = table.slots_of([name]).nonzero()[0]
        resources: dict[str, ResourceUse] = {}
        for resource, amount in node.allocatable.items():
            used = table.used.find(resource)
            resources[resource] = ResourceUse(amount, 0 if used is None else int(used[slot]))
        pods = [
            PodOfNode(
                pod.namespace, pod.name, cluster.workload_of_pod(pod.namespace, pod.name), pod.terminating
            )
            for pod in sorted(cluster.index.pods_on([name]))
        ]
    return dumps(NodeDetail(name, node.unschedulable, node.labels, node.taints, resources, pods))


#: Pods that an answer names: who wants others types more of the name.
MOST_FOUND: Final = 8


class FoundPod(NamedTuple):
    """A pod that a search finds."""

    namespace: str  #: Its namespace.
    name: str  #: Its name.
    node: str  #: Its node; empty for one that is pending.
    workload: int  #: The position of its workload in the columns of the cluster; -1 without a controller.


class FoundPods(NamedTuple):
    """The pods that a search finds."""

    pods: Sequence[FoundPod]  #: The first of them: one of that very name, then by namespace and name.
    others: Count  #: How many more there are.


def find_pods(cluster: PageCluster, text: str) -> bytes:
    """Return the pods whose namespace and name have every word of a text, those of that very name first."""
    words, exact = text.lower().split(), text.strip()
    waiting = {(pod.namespace, pod.name): pod.owner for pod in cluster.objects.pending.each()}
    with cluster.index.reading():
        named = [(*key, "") for key in waiting] + cluster.bound_names()
        found = [pod for pod in named if all(word in f"{pod[0]}/{pod[1]}".lower() for word in words)]
        first = nsmallest(MOST_FOUND, found, key=lambda pod: (pod[1] != exact, *pod))
        pods = [
            FoundPod(
                namespace,
                name,
                node,
                cluster.workload_of_pod(namespace, name)
                if node
                else cluster.workload_of(namespace, waiting[namespace, name]),
            )
            for namespace, name, node in first
        ]
    return dumps(FoundPods(pods, len(found) - len(first)))

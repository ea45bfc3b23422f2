"""The whole cluster in columns: names once, everything else as positions in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

import numpy as np

from policies.manifests.wire import Count
from policies.model.node import Node
from policies.model.taints import Taint
from policies.model.topology_keys import HOSTNAME, REGION, ZONE
from policies.scheduler.node_table import MISSING, NodeTable
from webhook.ui.cluster import NO_WORKLOAD, PageAutoscaler, PageCluster

#: Where a pod is that has no node, and one whose node is not among the objects.
PENDING, ELSEWHERE = -1, -2
#: Labels that are sent: nodes of clouds carry some twenty.
MOST_KEYS: Final = 64
#: Taints that say that a node does not answer.
_NOT_READY: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
_FIRST: Final = (ZONE, REGION, HOSTNAME)


class ClusterSource(NamedTuple):
    """Where the cluster was read from."""

    kind: Literal["file", "live"]  #: A snapshot file, or a live cluster.
    name: str  #: The file, or the context of the kubeconfig; empty for the current context.
    read_at: str  #: When it was read, RFC 3339; for a file, when that was last written.
    notes: Sequence[str]  #: What was left out, or is not known.


class LabelValues(NamedTuple):
    """One label of all nodes."""

    values: Sequence[str]  #: The values.
    of: Sequence[int]  #: For each node the position of its value; -1 where it lacks the label.


class NodeTaints(NamedTuple):
    """The taints of all nodes."""

    values: Sequence[Sequence[Taint]]  #: The distinct lists of taints.
    of: Sequence[Count]  #: For each node the position of its list.


class NodeColumns(NamedTuple):
    """The nodes, sorted by name."""

    names: Sequence[str]  #: Their names.
    cordoned: Sequence[Count]  #: Positions of those that are unschedulable.
    #: Positions of those with a taint that says that they are not ready or unreachable.
    not_ready: Sequence[Count]
    taints: NodeTaints  #: Their taints.
    labels: Mapping[str, LabelValues]  #: Their labels, by key: those that may be topology keys.


class WorkloadColumns(NamedTuple):
    """The workloads, sorted by namespace, kind and name."""

    kinds: Sequence[str]  #: The distinct kinds.
    namespaces: Sequence[str]  #: The distinct namespaces.
    kind: Sequence[Count]  #: For each workload the position of its kind.
    namespace: Sequence[Count]  #: For each the position of its namespace.
    name: Sequence[str]  #: For each its name.


class PodColumns(NamedTuple):
    """The pods that have not finished, sorted by node."""

    #: For each pod the position of its node; -1 for a pod that is pending, -2 for one whose node is not
    #: known.
    node: Sequence[int]
    workload: Sequence[int]  #: For each the position of its workload; -1 without a controller.


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMap:
    """The whole cluster: where every pod is."""

    kubernetes_version: str  #: The release that the scheduler behaves as.
    source: ClusterSource  #: Where it was read from.
    #: The keys of ``nodes.labels``: zone, region and hostname first, then by name.
    topology_keys: Sequence[str]
    other_keys: Count  #: How many more keys the nodes carry, which are left out.
    nodes: NodeColumns  #: The nodes.
    workloads: WorkloadColumns  #: The workloads.
    pods: PodColumns  #: The pods.
    opened: str  #: The manifest that is shown at first; empty for none.
    autoscale: PageAutoscaler | None  #: The autoscaler that may add nodes; null for none.
    #: Which reading of the cluster it is; positions in it are those of answers about the same one.
    reading: Count


def moment(time: datetime) -> str:
    """Return a moment as RFC 3339 has it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cluster_map(cluster: PageCluster) -> ClusterMap:
    """Return where every pod of a cluster is."""
    with cluster.index.reading():
        table = cluster.index.nodes
        keys = _topology_keys(table)
        kind: Literal["file", "live"] = "live" if cluster.live else "file"
        return ClusterMap(
            kubernetes_version=str(cluster.context.kubernetes_version),
            source=ClusterSource(kind, cluster.name, moment(cluster.read_at), cluster.notes),
            topology_keys=keys[:MOST_KEYS],
            other_keys=max(0, len(keys) - MOST_KEYS),
            nodes=_nodes(table, keys[:MOST_KEYS]),
            workloads=_workloads(cluster),
            pods=_pods(cluster),
            opened=cluster.opened,
            autoscale=cluster.autoscale,
            reading=cluster.reading,
        )


def _topology_keys(table: NodeTable) -> list[str]:
    """Return the keys of all labels, those that people spread over first."""
    keys = table.label_keys()
    return [key for key in _FIRST if key in keys] + sorted(key for key in keys if key not in _FIRST)


def _nodes(table: NodeTable, keys: list[str]) -> NodeColumns:
    nodes = table.listed()
    lists = dict.fromkeys(node.taints for node in nodes)
    numbers = {taints: number for number, taints in enumerate(lists)}
    return NodeColumns(
        names=[node.name for node in nodes],
        cordoned=[number for number, node in enumerate(nodes) if node.unschedulable],
        not_ready=[number for number, node in enumerate(nodes) if _is_not_ready(node)],
        taints=NodeTaints(list(lists), [numbers[node.taints] for node in nodes]),
        labels={key: _label(table, key) for key in keys},
    )


def _is_not_ready(node: Node) -> bool:
    return any(taint.key in _NOT_READY for taint in node.taints)


def _label(table: NodeTable, key: str) -> LabelValues:
    column = table.label(key)
    if column is None:
        return LabelValues([], [])
    used, of = np.unique(column.column.data[table.order()], return_inverse=True)
    # Of np.unique the smallest comes first, and MISSING is below every number.
    lacks = int(len(used) > 0 and used[0] == MISSING)
    return LabelValues([column.texts[int(number)] for number in used[lacks:]], (of - lacks).tolist())


def _workloads(cluster: PageCluster) -> WorkloadColumns:
    keys = cluster.workloads
    kinds = sorted({key.kind for key in keys})
    namespaces = sorted({key.namespace for key in keys})
    kind_numbers = {kind: number for number, kind in enumerate(kinds)}
    namespace_numbers = {namespace: number for number, namespace in enumerate(namespaces)}
    return WorkloadColumns(
        kinds=kinds,
        namespaces=namespaces,
        kind=[kind_numbers[key.kind] for key in keys],
        namespace=[namespace_numbers[key.namespace] for key in keys],
        name=[key.name for key in keys],
    )


def _pods(cluster: PageCluster) -> PodColumns:
    table, bound, pending = cluster.index.nodes, cluster.bound, cluster.objects.pending.each()
    position_of_slot = np.full(table.slots, ELSEWHERE)
    order = table.order()
    position_of_slot[order] = np.arange(len(order))
    position_of_ref = np.array(
        [NO_WORKLOAD if ref is None else cluster.positions[ref] for ref in bound.refs], np.intp
    )
    node = np.concatenate([np.full(len(pending), PENDING), position_of_slot[bound.slots]])
    waiting = [cluster.workload_of(pod.namespace, pod.owner) for pod in pending]
    workload = np.concatenate([np.array(waiting, np.intp), position_of_ref[bound.numbers]])
    by_node = np.lexsort((workload, node))
    return PodColumns(node[by_node].tolist(), workload[by_node].tolist())

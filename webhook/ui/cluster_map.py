"""The whole cluster in columns: names once, everything else as positions in them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import numpy as np

from policies.model.node import Node
from policies.model.topology_keys import HOSTNAME, REGION, ZONE
from policies.scheduler.node_table import MISSING, NodeTable
from webhook.ui import answers
from webhook.ui.cluster import NO_WORKLOAD, PageCluster

#: Where a pod is that has no node, and one whose node is not among the objects.
PENDING, ELSEWHERE = -1, -2
#: Labels that are sent: nodes of clouds carry some twenty.
MOST_KEYS: Final = 64
#: Taints that say that a node does not answer.
_NOT_READY: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
_FIRST: Final = (ZONE, REGION, HOSTNAME)


def moment(time: datetime) -> str:
    """Return a moment as RFC 3339 has it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cluster_map(cluster: PageCluster) -> answers.ClusterMap:
    """Return where every pod of a cluster is."""
    with cluster.index.reading():
        table = cluster.index.nodes
        keys = _topology_keys(table)
        return {
            "kubernetesVersion": str(cluster.context.kubernetes_version),
            "source": source_fields(cluster),
            "topologyKeys": keys[:MOST_KEYS],
            "otherKeys": max(0, len(keys) - MOST_KEYS),
            "nodes": _nodes(table, keys[:MOST_KEYS]),
            "workloads": _workloads(cluster),
            "pods": _pods(cluster),
            "opened": cluster.opened,
            "autoscale": cluster.autoscale,
            "reading": cluster.reading,
        }


def source_fields(cluster: PageCluster) -> answers.ClusterSource:
    """Return where a cluster was read from."""
    return {
        "kind": "live" if cluster.live else "file",
        "name": cluster.name,
        "readAt": moment(cluster.read_at),
        "notes": list(cluster.notes),
    }


def _topology_keys(table: NodeTable) -> list[str]:
    """Return the keys of all labels, those that people spread over first."""
    keys = table.label_keys()
    return [key for key in _FIRST if key in keys] + sorted(key for key in keys if key not in _FIRST)


def _nodes(table: NodeTable, keys: list[str]) -> answers.NodeColumns:
    nodes = table.listed()
    lists = dict.fromkeys(node.taints for node in nodes)
    numbers = {taints: number for number, taints in enumerate(lists)}
    return {
        "names": [node.name for node in nodes],
        "cordoned": [number for number, node in enumerate(nodes) if node.unschedulable],
        "notReady": [number for number, node in enumerate(nodes) if _is_not_ready(node)],
        "taints": {
            "values": list(map(list, lists)),
            "of": [numbers[node.taints] for node in nodes],
        },
        "labels": {key: _label(table, key) for key in keys},
    }


def _is_not_ready(node: Node) -> bool:
    return any(taint.key in _NOT_READY for taint in node.taints)


def _label(table: NodeTable, key: str) -> answers.LabelValues:
    column = table.label(key)
    if column is None:
        return {"values": [], "of": []}
    used, of = np.unique(column.column.data[table.order()], return_inverse=True)
    # Of np.unique the smallest comes first, and MISSING is below every number.
    lacks = int(len(used) > 0 and used[0] == MISSING)
    return {"values": [column.texts[int(number)] for number in used[lacks:]], "of": (of - lacks).tolist()}


def _workloads(cluster: PageCluster) -> answers.WorkloadColumns:
    keys = cluster.workloads
    kinds = sorted({key.kind for key in keys})
    namespaces = sorted({key.namespace for key in keys})
    kind_numbers = {kind: number for number, kind in enumerate(kinds)}
    namespace_numbers = {namespace: number for number, namespace in enumerate(namespaces)}
    return {
        "kinds": kinds,
        "namespaces": namespaces,
        "kind": [kind_numbers[key.kind] for key in keys],
        "namespace": [namespace_numbers[key.namespace] for key in keys],
        "name": [key.name for key in keys],
    }


def _pods(cluster: PageCluster) -> answers.PodColumns:
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
    return {"node": node[by_node].tolist(), "workload": workload[by_node].tolist()}

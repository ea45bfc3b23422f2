"""One node of the cluster: what it is labeled, what is taken of it, and the pods on it."""

from __future__ import annotations

from policies.manifests.fields import shown_name
from policies.manifests.wire import dumps
from webhook.ui import answers
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import ProblemsError, request_problem


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
        resources: dict[str, answers.ResourceUse] = {}
        for resource, amount in node.allocatable.items():
            used = table.used.find(resource)
            requested = 0 if used is None else int(used[slot])
            resources[resource] = {"allocatable": amount, "requested": requested}
        pods = sorted(cluster.index.pods_on([name]))
    answer: answers.NodeDetail = {
        "name": name,
        "cordoned": node.unschedulable,
        "labels": node.labels,
        "taints": list(node.taints),
        "resources": resources,
        "pods": [
            {
                "namespace": pod.namespace,
                "name": pod.name,
                "workload": cluster.workload_of_pod(pod.namespace, pod.name),
                "terminating": pod.terminating,
            }
            for pod in pods
        ],
    }
    return dumps(answer)

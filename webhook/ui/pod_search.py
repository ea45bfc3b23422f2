"""Pods by their names, as alerts have them."""

from __future__ import annotations

from heapq import nsmallest
from typing import Final

from policies.manifests.wire import dumps
from webhook.ui import answers
from webhook.ui.cluster import PageCluster

#: Pods that an answer names: who wants others types more of the name.
MOST_FOUND: Final = 8


def find_pods(cluster: PageCluster, text: str) -> bytes:
    """Return the pods whose namespace and name have every word of a text, those of that very name first."""
    words, exact = text.lower().split(), text.strip()
    waiting = {(pod.namespace, pod.name): pod.owner for pod in cluster.objects.pending.each()}
    with cluster.index.reading():
        named = [(*key, "") for key in waiting] + cluster.bound_names()
        found = [pod for pod in named if all(word in f"{pod[0]}/{pod[1]}".lower() for word in words)]
        first = nsmallest(MOST_FOUND, found, key=lambda pod: (pod[1] != exact, *pod))
        answer: answers.FoundPods = {
            "pods": [
                {
                    "namespace": namespace,
                    "name": name,
                    "node": node,
                    "workload": cluster.workload_of_pod(namespace, name)
                    if node
                    else cluster.workload_of(namespace, waiting[namespace, name]),
                }
                for namespace, name, node in first
            ],
            "others": len(found) - len(first),
        }
    return dumps(answer)

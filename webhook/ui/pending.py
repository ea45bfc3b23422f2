"""The pods that wait for a node, by controller, each with the reason in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from typing import Final

import orjson

from policies.manifests.wire import dumps
from policies.placement.core.pending_pods import WaitingPod
from policies.placement.core.placement import PlacementError, evaluate_manifest
from policies.reports.explain.text import rejection_lines
from policies.scheduler.domain_stats import explain
from policies.scheduler.rejections import EXAMPLES
from webhook.ui import answers
from webhook.ui.cluster import NO_WORKLOAD, PageCluster
from webhook.ui.manifest import field_problems

#: Groups that are evaluated: a screenful at once is read, and each takes some milliseconds.
MOST_GROUPS: Final = 500
#: The place of a group by how many nodes its first pod fits: what fits none is stuck, what was not evaluated
#: may be, and all others come after these.
_STUCK_FIRST: Final[Mapping[int | None, int]] = {0: 0, None: 1}
#: Pods of a group that are named.
MOST_NAMED: Final = 50


def pending(cluster: PageCluster) -> bytes:
    """Return the pods without a node."""
    groups: dict[tuple[str, int, str], list[WaitingPod]] = {}
    kept = cluster.objects.pending.each()
    for pod in kept:
        workload = cluster.workload_of(pod.namespace, pod.owner)
        key = pod.namespace, workload, pod.name if workload == NO_WORKLOAD else ""
        groups.setdefault(key, []).append(pod)
    ordered = sorted(groups.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    shown = [_group(cluster, key[1], pods) for key, pods in ordered[:MOST_GROUPS]]
    answer: answers.PendingAnswer = {
        "pods": cluster.objects.pending.count,
        "notKept": cluster.objects.pending.count - len(kept),
        "groups": sorted(
            shown, key=lambda group: _STUCK_FIRST.get(group["feasibleNodes"], len(_STUCK_FIRST))
        ),
        "otherGroups": max(0, len(ordered) - MOST_GROUPS),
    }
    return dumps(answer)


def _group(cluster: PageCluster, workload: int, pods: list[WaitingPod]) -> answers.PendingGroup:
    first = pods[0]
    group: answers.PendingGroup = {
        "namespace": first.namespace,
        "workload": workload,
        "count": len(pods),
        "pods": [
            {"name": pod.name, "createdAt": pod.created, "condition": pod.condition}
            for pod in pods[:MOST_NAMED]
        ],
        "message": "",
        "feasibleNodes": None,
        "reasons": [],
        "rejections": [],
        "problems": [],
    }
    if cluster.remote is not None:
        return group
    try:
        placement = evaluate_manifest(orjson.loads(first.text), cluster.context)
    except PlacementError as error:
        return group | {"problems": field_problems(error.errors)}
    result = placement.result
    rejected = explain(result, placement.cluster, examples=EXAMPLES).rejected
    nodes: Counter[str] = Counter()
    for refusing in rejected:
        lines = chain.from_iterable(rejection_lines(result, each) for each in refusing.rejections)
        nodes.update(dict.fromkeys(lines, refusing.count))
    return group | {
        "message": result.message,
        "feasibleNodes": result.feasible_count,
        "reasons": [{"nodes": count, "text": text} for text, count in nodes.most_common()],
        "rejections": list(rejected),
    }

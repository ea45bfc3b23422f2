"""The pods that wait for a node, by controller, each with the reason in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import orjson

from planning.simulation.verdicts import pending_sentence
from policies.manifests.wire import Count, dumps
from policies.model.cluster_workloads import WaitingPod
from policies.pods.placement import PlacementError, evaluate_manifest
from webhook.ui.cluster import NO_WORKLOAD, PageCluster
from webhook.ui.manifest import ManifestProblem, field_problems

#: Groups that are evaluated: a screenful at once is read, and each takes some milliseconds.
MOST_GROUPS: Final = 500
#: The place of a group by how many nodes its first pod fits: what fits none is stuck, what was not evaluated
#: may be, and all others come after these.
_STUCK_FIRST: Final[Mapping[int | None, int]] = {0: 0, None: 1}
#: Pods of a group that are named.
MOST_NAMED: Final = 50


class PendingPodFields(NamedTuple):
    """A pod without a node."""

    name: str  #: Its name.
    created_at: str  #: When it was created, as the API writes it; empty if it does not say.
    condition: str  #: What the cluster's scheduler says of it; empty if it says nothing.


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingGroup:
    """The pending pods of one controller, or a single one without."""

    namespace: str  #: Their namespace.
    workload: int  #: The position of the workload in the columns of the cluster; -1 without a controller.
    count: Count  #: How many there are.
    pods: Sequence[PendingPodFields]  #: The first of them, by name.
    message: str = ""  #: What the model says of the first one: the scheduler's FitError; empty if it fits.
    #: How many nodes the first one fits in the model; null if it was not evaluated.
    feasible_nodes: Count | None = None
    why: str = ""  #: Why no node takes it, in a sentence; empty if one does.
    problems: Sequence[ManifestProblem] = ()  #: Why it was not evaluated.


class PendingAnswer(NamedTuple):
    """The pods without a node."""

    pods: Count  #: How many there are.
    not_kept: Count  #: How many of them are too many to be looked at.
    #: Those of each controller: first those that fit no node, then those of which that is not known, then
    #: those that fit one; of each the most pods first.
    groups: Sequence[PendingGroup]
    other_groups: Count  #: How many more groups there are, which are left out.


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
    return dumps(
        PendingAnswer(
            pods=cluster.objects.pending.count,
            not_kept=cluster.objects.pending.count - len(kept),
            groups=sorted(shown, key=lambda each: _STUCK_FIRST.get(each.feasible_nodes, len(_STUCK_FIRST))),
            other_groups=max(0, len(ordered) - MOST_GROUPS),
        )
    )


def _group(cluster: PageCluster, workload: int, pods: list[WaitingPod]) -> PendingGroup:
    first = pods[0]
    named = [PendingPodFields(pod.name, pod.created, pod.condition) for pod in pods[:MOST_NAMED]]
    group = PendingGroup(namespace=first.namespace, workload=workload, count=len(pods), pods=named)
    if cluster.remote is not None:
        return group
    try:
        placement = evaluate_manifest(orjson.loads(first.text), cluster.context)
    except PlacementError as error:
        return replace(group, problems=field_problems(error.errors))
    result = placement.result
    fits = result.feasible_count
    return replace(
        group,
        message=result.message,
        feasible_nodes=fits,
        why="" if fits else pending_sentence(result, placement.cluster),
    )

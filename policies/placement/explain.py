"""Why the next pods of an object would go where they go, or fit nowhere, and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from policies.config.context import AdmissionContext
from policies.placement.outvoted import OutvotedSpread, find_outvoted
from policies.placement.placement import Placement, place, read_workload
from policies.placement.replicas import Replicas, count_replicas
from policies.placement.suggestions import Suggestions, find_suggestions
from policies.scheduler.explanation import Explanation, explain
from policies.scheduler.rejections import EXAMPLES


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A placement with its reasons, all of one picture of the cluster.

    Attributes:
        placement: Where the pod would go.
        explanation: What the verdict comes down to.
        remedies: What would make the pod fit if it fits nowhere; otherwise the first replica that does not.
        replicas: How many replicas of the workload fit; None where their number is not known.
        outvoted: Where other plugins outvote PodTopologySpread; None where they do not.
        stuck_message: The condition of the first replica that does not fit; empty if all do.
        node: The node that the pod is on, though it is placed as if it were scheduled again; empty for none.
    """

    placement: Placement
    explanation: Explanation
    remedies: Suggestions
    outvoted: OutvotedSpread | None = None
    stuck_message: str = ""
    replicas: Replicas | None = None
    node: str = ""


def explain_object(
    obj: Mapping[str, Any], context: AdmissionContext, *, namespace: str = "", examples: int = EXAMPLES
) -> Explained:
    """Judge the next pod of an object as ``place`` does, and explain the verdict.

    Args:
        obj: The object, of any shape.
        context: What it is judged by; its cluster must be there.
        namespace: Where the object goes if it names no namespace itself.
        examples: How many nodes of a group are named.

    Raises:
        PlacementError: Kubernetes would refuse the object or its pods; holds every error.
    """
    if context.cluster is None:
        raise ValueError("there is no cluster to place anything in")
    workload = read_workload(obj, context, namespace=namespace)
    # Counting replicas may take seconds, for which no other request should wait.
    fork = context.cluster.fork(workload.namespace)
    context = replace(context, cluster=fork)
    placement = place(workload, context)
    counted = count_replicas(placement)
    replicas, stuck = None, placement
    if counted is not None:
        replicas, fork = counted
        if placement.verdict.feasible_count and not replicas.enough:
            # The next pod fits, but a later one will not: what helps is judged beside those that fit.
            context = replace(context, cluster=fork)
            stuck = place(workload, context, revision_of=placement)
    return Explained(
        placement=placement,
        explanation=explain(placement.verdict, placement.cluster, examples=examples),
        remedies=find_suggestions(stuck, context, replicas),
        outvoted=find_outvoted(placement.verdict, placement.cluster),
        stuck_message=stuck.verdict.message,
        replicas=replicas,
    )

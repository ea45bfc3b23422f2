"""Why the next pod of an object would go where it goes, or fits nowhere, and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.engine.explain import Explanation, explain
from policies.evaluation.context import AdmissionContext
from policies.evaluation.placement import Placement, place
from policies.evaluation.remedies import Remedies, find_remedies


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A placement with its reasons, all of one picture of the cluster.

    Attributes:
        placement: Where the pod would go.
        explanation: What the verdict comes down to.
        remedies: What would make the pod fit, if it fits nowhere.
    """

    placement: Placement
    explanation: Explanation
    remedies: Remedies


def explain_object(obj: Mapping[str, Any], context: AdmissionContext, *, namespace: str = "") -> Explained:
    """Judge the next pod of an object as ``place`` does, and explain the verdict.

    Args:
        obj: The object, of any shape.
        context: What it is judged by; its cluster must be there.
        namespace: Where the object goes if it names no namespace itself.

    Raises:
        PlacementError: Kubernetes would refuse the object or its pods; holds every error.
    """
    if context.cluster is None:
        raise ValueError("there is no cluster to place anything in")
    with context.cluster.reading():
        placement = place(obj, context, namespace=namespace)
        return Explained(
            placement=placement,
            explanation=explain(placement.verdict, context.cluster),
            remedies=find_remedies(placement, context),
        )

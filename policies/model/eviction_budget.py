"""How many evictions a PodDisruptionBudget of a cluster allows now.

Source: ``getExpectedPodCount`` and ``updatePdbStatus``, ``pkg/controller/disruption/disruption.go``,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.manifests.fields import FieldPath, member, text_member
from policies.model.labels import LabelSelector, label_selector_errors
from policies.model.scaling import scaled
from policies.model.workload import DEFAULT_NAMESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionBudget:
    """A PodDisruptionBudget.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        selector: Which pods it protects.
        allowed: How many evictions its status allows now; None without a status.
        min_available: As it is written.
        max_unavailable: As it is written.
        disrupted: The names of pods whose eviction is under way, and is counted already.
    """

    namespace: str
    name: str
    selector: LabelSelector
    allowed: int | None
    min_available: object
    max_unavailable: object
    disrupted: frozenset[str] = frozenset()

    def evictions(self, healthy: int, expected: int) -> int:
        """Return how many evictions it allows now.

        Args:
            healthy: Pods that it selects and that run; taken where it has no status.
            expected: How many there should be.
        """
        if self.allowed is not None:
            return self.allowed
        # A percentage is rounded up, also that of maxUnavailable.
        if self.max_unavailable is not None:
            return max(0, healthy - (expected - (scaled(self.max_unavailable, expected) or 0)))
        return max(0, healthy - (scaled(self.min_available, expected) or 0))


def read_eviction_budget(obj: Mapping[str, Any]) -> EvictionBudget | None:
    """Return a PodDisruptionBudget of a cluster; None for another object, and for one without a selector."""
    version = obj.get("apiVersion")
    if obj.get("kind") != "PodDisruptionBudget" or not str(version).startswith("policy/"):
        return None
    metadata, spec, status = (member(obj, name) for name in ("metadata", "spec", "status"))
    raw = spec.get("selector")
    if raw is None or label_selector_errors(raw, FieldPath()):
        return None
    allowed = status.get("disruptionsAllowed")
    return EvictionBudget(
        namespace=text_member(metadata, "namespace") or DEFAULT_NAMESPACE,
        name=text_member(metadata, "name"),
        selector=LabelSelector.parse(raw),
        allowed=allowed if type(allowed) is int else None,
        min_available=spec.get("minAvailable"),
        max_unavailable=spec.get("maxUnavailable"),
        disrupted=frozenset(member(status, "disruptedPods")),
    )

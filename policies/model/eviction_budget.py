"""How many evictions a PodDisruptionBudget of a cluster allows now.

Source: ``getExpectedPodCount`` and ``updatePdbStatus``, ``pkg/controller/disruption/disruption.go``,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.manifests.fields import METADATA, SPEC, STATUS, ErrorList
from policies.model.labels import LabelSelector, read_label_selector
from policies.model.scaling import scaled
from policies.model.workload import DEFAULT_NAMESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionBudget:
    """A PodDisruptionBudget."""

    namespace: str  #: Its namespace.
    name: str  #: Its name.
    selector: LabelSelector | None  #: Which pods it protects; None for none.
    allowed: int | None  #: How many evictions its status allows now; None without a status.
    min_available: object  #: As it is written.
    max_unavailable: object  #: As it is written.
    #: The names of pods whose eviction is under way, and is counted already.
    disrupted: frozenset[str] = frozenset()
    #: Whether pods that are not ready may be evicted whatever it asks for.
    always_allows_unhealthy: bool = False

    def evictions(self, healthy: int, expected: int) -> int:
        """Return how many evictions it allows now.

        Args:
            healthy: Pods that it selects and that run; taken where it has no status.
            expected: How many there should be.
        """
        if self.allowed is not None:
            return self.allowed
        return max(0, healthy - self.required(expected))

    def required(self, expected: int) -> int:
        """Return how many of the pods that it selects must run.

        Args:
            expected: How many there should be.
        """
        # A percentage is rounded up, also that of maxUnavailable.
        if self.max_unavailable is not None:
            return max(0, expected - (scaled(self.max_unavailable, expected) or 0))
        return scaled(self.min_available, expected) or 0


def read_eviction_budget(obj: Mapping[str, Any], found: ErrorList) -> EvictionBudget:
    """Read a PodDisruptionBudget; what is of the wrong type is recorded and read as absent."""
    metadata = found.mapping(obj.get("metadata"), METADATA)
    spec = found.mapping(obj.get("spec"), SPEC)
    status = found.mapping(obj.get("status"), STATUS)
    path = SPEC.child("selector")
    selector = found.once("selector", lambda: read_label_selector(spec.get("selector"), path, found))
    allowed = status.get("disruptionsAllowed")
    return EvictionBudget(
        namespace=found.text(metadata.get("namespace"), METADATA.child("namespace")) or DEFAULT_NAMESPACE,
        name=found.name(metadata, METADATA),
        selector=selector,
        allowed=None if allowed is None else found.integer(allowed, STATUS.child("disruptionsAllowed")),
        min_available=spec.get("minAvailable"),
        max_unavailable=spec.get("maxUnavailable"),
        disrupted=frozenset(found.mapping(status.get("disruptedPods"), STATUS.child("disruptedPods"))),
        always_allows_unhealthy=spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow",
    )

"""The releases of Kubernetes: how each behaves, which fields it knows, and which of them may be named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from policies.manifests.errors import UsageError
from policies.manifests.fields import FieldPath
from policies.model.constraint import ReleaseFields
from policies.model.late_fields import LateField, late_fields
from policies.model.pod_reading import AmountReading, PodReading
from policies.model.taints import Taint
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.scheduler.release_changes import CHANGES


@dataclass(frozen=True, slots=True, kw_only=True)
class Behavior:
    """The behavior of one release; ``behavior_of`` returns it.

    The defaults are that of the oldest. Source: ``pkg/features/kube_features.go`` and ``pkg/scheduler``,
    Kubernetes 1.24.

    Attributes:
        min_domains: ``minDomains`` counts; otherwise it is 1.
        inclusion_policies: ``nodeAffinityPolicy`` and ``nodeTaintsPolicy`` count; otherwise Honor and Ignore.
        match_label_keys: The scheduler narrows the selector by ``matchLabelKeys``.
        merges_match_label_keys: The API server writes ``matchLabelKeys`` into the selector of a new pod.
        empty_selector_counts: The selector ``{}`` counts every pod; otherwise it counts none. Either way it
            selects the incoming pod itself.
        scheduling_gates: A pod with ``schedulingGates`` waits; otherwise they are not known.
        checks_selectors: The API server refuses a constraint whose ``labelSelector`` is not valid; otherwise
            the scheduler fails on the pod.
        affinity_label_keys: ``matchLabelKeys`` and ``mismatchLabelKeys`` of pod affinity are known.
        keeps_namespace_selector: A selector of namespaces in the incoming pod's affinity is matched against
            no labels too, so that one that selects by absence selects every namespace.
        passes_over_conflicts: A term of the node affinity whose node names contradict matches no node;
            otherwise it rejects them all, whatever the other terms are.
        passes_over_gone_nodes: So does a node name that no node has; otherwise the scheduler fails on it.
        sums_exactly: The requests of a pod are rounded once they are summed; otherwise those of each
            container are.
        sidecars: An init container with ``restartPolicy: Always`` runs beside the containers.
        assumes_sidecars: A sidecar of a running pod adds to what nodes are scored by.
        sidecar_ports: The host ports of sidecars are taken.
        resize_status: What a container holds while it is resized counts.
        pod_resources: ``spec.resources`` counts.
        pod_resize_status: What a pod holds as a whole while it is resized counts.
        image_volumes: Image volumes are known.
        scores_cpu_overhead: NodeResourcesFit and NodeResourcesBalancedAllocation count the incoming pod's
            overhead of cpu; otherwise a thousandth of it, rounded up to a core before.
        scores_spread_without_soft: PodTopologySpread gives every node 100 for a pod without soft constraints;
            otherwise it skips.
        zero_extended_requests_fit: An extended resource of which the pod requests 0 is not looked at;
            otherwise a node overcommitted in it rejects the pod.
        zero_requests_fit: A resource of which the pod requests nothing is not looked at; otherwise a node
            overcommitted in cpu, memory or ephemeral-storage rejects every pod that requests any resource.
        oversized_requests_are_unresolvable: A request above the node's whole allocatable amount has the code
            UnschedulableAndUnresolvable; otherwise Unschedulable, as a request above what is left.
        names_taint: The reason for a taint names its key and value.
        says_prefilter_reason_once: The message has a reason of PreFilter, which rejects all nodes, without a
            number; otherwise it counts for every node.
        counts_left_out_nodes: Nodes that the names in a node affinity leave out count in the message.
        scores_init_images: ImageLocality scores the images of init containers; otherwise of the others alone.
        skips_empty_balance: NodeResourcesBalancedAllocation skips a pod that requests nothing; otherwise it
            scores how evenly nodes are used already.
        scores_balance_gain: It scores how much more even the pod makes a node; otherwise how even.
        scores_image_volumes: ImageLocality scores image volumes.
        counts_image_volumes: They raise the number of bytes from which on more do not count.
    """

    min_domains: bool = False
    inclusion_policies: bool = False
    match_label_keys: bool = False
    merges_match_label_keys: bool = False
    empty_selector_counts: bool = True
    scheduling_gates: bool = False
    checks_selectors: bool = False
    affinity_label_keys: bool = False
    keeps_namespace_selector: bool = False
    passes_over_conflicts: bool = False
    passes_over_gone_nodes: bool = False
    sums_exactly: bool = False
    sidecars: bool = False
    assumes_sidecars: bool = False
    sidecar_ports: bool = False
    resize_status: bool = False
    pod_resources: bool = False
    pod_resize_status: bool = False
    image_volumes: bool = False
    scores_cpu_overhead: bool = False
    scores_spread_without_soft: bool = True
    zero_extended_requests_fit: bool = False
    zero_requests_fit: bool = False
    oversized_requests_are_unresolvable: bool = False
    names_taint: bool = True
    says_prefilter_reason_once: bool = False
    counts_left_out_nodes: bool = False
    scores_init_images: bool = False
    skips_empty_balance: bool = False
    scores_balance_gain: bool = False
    scores_image_volumes: bool = False
    counts_image_volumes: bool = False

    @property
    def reading(self) -> PodReading:
        """How the release reads pods."""
        return PodReading(
            amounts=AmountReading(*(getattr(self, name) for name in AmountReading._fields)),
            affinity_label_keys=self.affinity_label_keys,
            sidecar_ports=self.sidecar_ports,
        )

    @property
    def dropped(self) -> list[str]:
        """The fields of constraints that the release drops."""
        return [name for name, flag in FIELDS.items() if not getattr(self, flag)]

    def taint_reason(self, taint: Taint) -> str:
        """Return why a node with this taint is rejected for a pod that does not tolerate it.

        Source: ``Filter``, ``tainttoleration/taint_toleration.go``, Kubernetes 1.24 and 1.36.
        """
        if self.names_taint:
            return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
        return "node(s) had untolerated taint(s)"


#: The oldest release that the table describes: the first with today's wording of most reasons.
OLDEST_VERSION = KubernetesVersion(1, 24)
#: The newest release that may be named: a cluster may be newer than this program.
LAST_VERSION = KubernetesVersion(1, 99)

#: The newest release of the table. A newer one does what this does, as far as is known.
NEWEST_VERSION = max(change.since for change in CHANGES)

#: The fields of a constraint that came with a release, and the attribute of ``Behavior`` that defines whether
#: they count. Before, the API server drops them: their gate is off. Source: KEP-3022, KEP-3094, KEP-3243.
FIELDS: dict[str, str] = {
    "minDomains": "min_domains",
    "nodeAffinityPolicy": "inclusion_policies",
    "nodeTaintsPolicy": "inclusion_policies",
    "matchLabelKeys": "match_label_keys",
}
#: The same of the fields of a pod. Source: the table.
POD_FIELDS: dict[LateField, str] = {
    LateField.SCHEDULING_GATES: "scheduling_gates",
    LateField.SIDECARS: "sidecars",
    LateField.MATCH_LABEL_KEYS: "affinity_label_keys",
    LateField.MISMATCH_LABEL_KEYS: "affinity_label_keys",
    LateField.RESIZE_STATUS: "resize_status",
    LateField.POD_RESOURCES: "pod_resources",
    LateField.IMAGE_VOLUMES: "image_volumes",
    LateField.POD_RESIZE_STATUS: "pod_resize_status",
}


def field_since(name: str) -> KubernetesVersion:
    """Return the first release that has a field of ``FIELDS`` or ``POD_FIELDS``."""
    flag = POD_FIELDS[name] if isinstance(name, LateField) else FIELDS[name]
    return next(change.since for change in CHANGES if change.field == flag and change.value)


def dropped_of_pod(
    spec: Mapping[str, Any], path: FieldPath, behavior: Behavior, status: object = None
) -> list[tuple[LateField, FieldPath]]:
    """Return the fields of a pod that a release drops, with the path of each; see ``late_fields``."""
    found = late_fields(spec, path, status)
    return [(name, where) for name, where in found if not getattr(behavior, POD_FIELDS[name])]


#: The values of these fields that mean what a release does without them. Source: the same.
_WITHOUT: dict[str, tuple[object, ...]] = {
    "minDomains": (None, 1),
    "nodeAffinityPolicy": (None, "Honor"),
    "nodeTaintsPolicy": (None, "Ignore"),
    "matchLabelKeys": (None, []),
}


def dropped_fields(constraint: Mapping[str, Any], behavior: Behavior) -> list[str]:
    """Return the fields of a raw constraint with an effect that a release drops.

    >>> dropped_fields({"minDomains": 3, "nodeTaintsPolicy": "Ignore"}, behavior_of(OLDEST_VERSION))
    ['minDomains']
    """
    return [name for name in behavior.dropped if constraint.get(name) not in _WITHOUT[name]]


def release_fields(version: KubernetesVersion) -> ReleaseFields:
    """Return which fields of constraints a release knows, and how it reads them."""
    return fields_in(behavior_of(version), strict=version <= KNOWN_VERSION)


def fields_in(behavior: Behavior, *, strict: bool) -> ReleaseFields:
    """Return the same of what a release does, and whether a field that is not known is an error."""
    return ReleaseFields(
        strict=strict,
        dropped=frozenset(behavior.dropped),
        drops_of_pods=not all(getattr(behavior, flag) for flag in POD_FIELDS.values()),
        affinity_label_keys=behavior.affinity_label_keys,
        checks_selectors=behavior.checks_selectors,
    )


def parse_release(text: str) -> KubernetesVersion:
    """Read the release that an option or a document names.

    Raises:
        UsageError: The text is no version, or that of a release before or after all that can be known.

    >>> str(parse_release("v1.30.4-gke.1"))
    '1.30'
    """
    version = KubernetesVersion.parse(text)
    if not OLDEST_VERSION <= version <= LAST_VERSION:
        raise UsageError(
            f"Kubernetes {version} is not supported: supported versions: {OLDEST_VERSION} to {LAST_VERSION}"
        )
    return version


def judged_as(version: KubernetesVersion) -> KubernetesVersion:
    """Return the release whose behavior is used for a release: the newest of the table for newer ones.

    >>> str(judged_as(KubernetesVersion(1, 99))) == str(NEWEST_VERSION)
    True
    """
    return min(version, NEWEST_VERSION)


def newer_than_known(version: KubernetesVersion) -> str:
    """Return the warning for a release that is newer than the table; empty for any other.

    >>> newer_than_known(NEWEST_VERSION), newer_than_known(KubernetesVersion(1, 99))[:40]
    ('', 'Kubernetes 1.99 is newer than any releas')
    """
    known = judged_as(version)
    if known == version:
        return ""
    return f"Kubernetes {version} is newer than any release that is known: evaluated as {known}"


def behavior_of(version: KubernetesVersion) -> Behavior:
    """Return the behavior of a release; one outside the table behaves as the nearest release does.

    >>> behavior_of(KubernetesVersion(1, 26)).min_domains
    False
    """
    return _behavior_of(version, version.patch)


# Patches are equal as versions.
@lru_cache(maxsize=128)
def _behavior_of(version: KubernetesVersion, _patch: int | None) -> Behavior:
    changed = {change.field: change.value for change in CHANGES if change.is_in(version)}
    return Behavior(**changed)

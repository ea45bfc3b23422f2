"""The differences between releases of Kubernetes that decide where a pod goes, or which message it gets.

One table, oldest release first. A feature gate counts with its default. A change may have been given to patch
releases too; of a release without a patch the newest one is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from policies.manifests.errors import UsageError
from policies.manifests.fields import FieldPath
from policies.model.constraint import ReleaseFields
from policies.model.late_fields import LateField, late_fields
from policies.model.pod_reading import AmountReading, PodReading
from policies.model.taints import Taint
from policies.model.version import KNOWN_VERSION, MATCH_LABEL_KEYS_SINCE, KubernetesVersion

_PULL = "https://github.com/kubernetes/kubernetes/pull"
_TREE = "https://github.com/kubernetes/kubernetes/blob"
_KEP = "https://github.com/kubernetes/enhancements/issues"


@dataclass(frozen=True, slots=True, kw_only=True)
class Behavior:
    """The behavior of one release; ``behavior_of`` returns it.

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

    min_domains: bool
    inclusion_policies: bool
    match_label_keys: bool
    merges_match_label_keys: bool
    empty_selector_counts: bool
    scheduling_gates: bool
    checks_selectors: bool
    affinity_label_keys: bool
    keeps_namespace_selector: bool
    passes_over_conflicts: bool
    passes_over_gone_nodes: bool
    sums_exactly: bool
    sidecars: bool
    assumes_sidecars: bool
    sidecar_ports: bool
    resize_status: bool
    pod_resources: bool
    pod_resize_status: bool
    image_volumes: bool
    scores_cpu_overhead: bool
    scores_spread_without_soft: bool
    zero_extended_requests_fit: bool
    zero_requests_fit: bool
    oversized_requests_are_unresolvable: bool
    names_taint: bool
    says_prefilter_reason_once: bool
    counts_left_out_nodes: bool
    scores_init_images: bool
    skips_empty_balance: bool
    scores_balance_gain: bool
    scores_image_volumes: bool
    counts_image_volumes: bool

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChange:
    """One line of the table.

    Attributes:
        since: The first release that does so.
        field: The attribute of ``Behavior`` that changes.
        value: What it becomes.
        what: What changes, in one sentence for users of both releases.
        source: Where it is written.
        backported: The patch releases of older minor releases that do so too.
        message_only: Whether it changes only the message on a pod that fits nowhere.
    """

    since: KubernetesVersion
    field: str
    value: bool
    what: str
    source: str
    backported: tuple[KubernetesVersion, ...] = ()
    message_only: bool = False

    def is_in(self, version: KubernetesVersion) -> bool:
        """Return whether a release has the change."""
        of_minor = next((patch for patch in self.backported if patch == version), self.since)
        return version.reaches(of_minor)

    def after(self, version: KubernetesVersion) -> KubernetesVersion:
        """Return the first release that has the change, of those after one that has it not."""
        return min(release for release in (*self.backported, self.since) if not version.reaches(release))


#: The oldest release that the table describes: the first with today's wording of most reasons.
OLDEST_VERSION = KubernetesVersion(1, 24)
#: The newest release that may be named: a cluster may be newer than this program.
LAST_VERSION = KubernetesVersion(1, 99)
#: What the oldest does. Source: ``pkg/features/kube_features.go`` and ``pkg/scheduler``, Kubernetes 1.24.
_OLDEST_BEHAVIOR = Behavior(
    min_domains=False,
    inclusion_policies=False,
    match_label_keys=False,
    merges_match_label_keys=False,
    empty_selector_counts=True,
    scheduling_gates=False,
    checks_selectors=False,
    affinity_label_keys=False,
    keeps_namespace_selector=False,
    passes_over_conflicts=False,
    passes_over_gone_nodes=False,
    sums_exactly=False,
    sidecars=False,
    assumes_sidecars=False,
    sidecar_ports=False,
    resize_status=False,
    pod_resources=False,
    pod_resize_status=False,
    image_volumes=False,
    scores_cpu_overhead=False,
    scores_spread_without_soft=True,
    zero_extended_requests_fit=False,
    zero_requests_fit=False,
    oversized_requests_are_unresolvable=False,
    names_taint=True,
    says_prefilter_reason_once=False,
    counts_left_out_nodes=False,
    scores_init_images=False,
    skips_empty_balance=False,
    scores_balance_gain=False,
    scores_image_volumes=False,
    counts_image_volumes=False,
)

#: Every change after the oldest release, in order. Source: each line's own.
CHANGES: tuple[ReleaseChange, ...] = (
    ReleaseChange(
        since=KubernetesVersion(1, 26),
        field="inclusion_policies",
        value=True,
        what="nodeAffinityPolicy and nodeTaintsPolicy count; before, node affinity is always honored and "
        "taints are always ignored.",
        source=f"{_KEP}/3094",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 26),
        field="says_prefilter_reason_once",
        value=True,
        what="Contradicting node names in a node affinity are named once in the pod's condition, not once "
        "for each node.",
        source=f"{_PULL}/110894",
        message_only=True,
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 26),
        field="zero_extended_requests_fit",
        value=True,
        what="A node that is overcommitted in an extended resource takes pods that request 0 of it; "
        "before, it refuses them.",
        source=f"{_TREE}/v1.26.0/pkg/scheduler/framework/plugins/noderesources/fit.go",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="min_domains",
        value=True,
        what="minDomains counts: with fewer eligible domains the global minimum is 0.",
        source=f"{_KEP}/3022",
    ),
    ReleaseChange(
        since=MATCH_LABEL_KEYS_SINCE,
        field="match_label_keys",
        value=True,
        what="matchLabelKeys counts: only pods with the incoming pod's own values of these labels are "
        "counted.",
        source=f"{_KEP}/3243",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="empty_selector_counts",
        value=False,
        what="A constraint with labelSelector {} counts no pods, so that it never refuses a node that has "
        "its topology key; before, it counts every pod of the namespace.",
        source=f"{_PULL}/116607",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="scheduling_gates",
        value=True,
        what="A pod with schedulingGates waits until they are gone; before, the field is dropped.",
        source=f"{_KEP}/3521",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="checks_selectors",
        value=True,
        what="The API server refuses a constraint whose labelSelector is not valid; before, it takes it, and "
        "the scheduler fails on the pod.",
        source=f"{_TREE}/v1.27.0/pkg/apis/core/validation/validation.go",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="passes_over_conflicts",
        value=True,
        what="A term of the node affinity whose node names contradict is passed over; before, it "
        "makes every node refuse the pod, even where another term matches.",
        source=f"{_PULL}/116465",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="passes_over_gone_nodes",
        value=True,
        what="A node name in a node affinity that no node has is passed over; before, the scheduler "
        "fails on the pod, which stays pending.",
        source=f"{_TREE}/v1.27.0/pkg/scheduler/schedule_one.go",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="sums_exactly",
        value=True,
        what="What containers request is summed before it is rounded up to thousandths of cpu or to "
        "bytes; before, after.",
        source=f"{_PULL}/115367",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="scores_cpu_overhead",
        value=True,
        what="Nodes are scored with the incoming pod's overhead of cpu; before, with a thousandth of "
        "it, rounded up to a core.",
        source=f"{_PULL}/115367",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 28),
        field="zero_requests_fit",
        value=True,
        what="A node that is overcommitted in a resource takes pods that request none of it; before, it "
        "refuses them if they request anything else.",
        source=f"{_PULL}/116408",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 28),
        field="scores_spread_without_soft",
        value=False,
        what="PodTopologySpread no longer scores nodes for a pod without soft constraints; before, "
        "it gives all of them the same.",
        source=f"{_PULL}/118608",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 29),
        field="sidecars",
        value=True,
        what="An init container with restartPolicy Always runs beside the containers; before, the "
        "policy is dropped, and the pod waits for the container to end.",
        source=f"{_KEP}/753",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 30),
        field="scores_init_images",
        value=True,
        what="ImageLocality also scores nodes by the images of init containers.",
        source=f"{_PULL}/123366",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 31),
        field="affinity_label_keys",
        value=True,
        what="matchLabelKeys and mismatchLabelKeys of pod affinity are merged into its selectors; "
        "before, they are dropped.",
        source=f"{_KEP}/3633",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 32),
        field="counts_left_out_nodes",
        value=True,
        what="Nodes that the node names in a node affinity leave out are counted in the pod's condition, as "
        "nodes that didn't satisfy NodeAffinity; before, they are not mentioned.",
        source=f"{_PULL}/126022",
        message_only=True,
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 32),
        field="assumes_sidecars",
        value=True,
        what="What running sidecars request lowers the score of their node in NodeResourcesFit; "
        "before, only as long as the pod starts.",
        source=f"{_PULL}/127878",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 33),
        field="skips_empty_balance",
        value=True,
        what="NodeResourcesBalancedAllocation no longer scores nodes for a pod that requests nothing.",
        source=f"{_PULL}/130260",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 33),
        field="resize_status",
        value=True,
        what="A container that is resized takes what its status says, where that is more than its "
        "requests; before, its requests.",
        source=f"{_KEP}/1287",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 34),
        field="merges_match_label_keys",
        value=True,
        what="The API server writes matchLabelKeys into the labelSelector of each new pod, and refuses a pod "
        "whose selector holds such a key already.",
        source=f"{_PULL}/129874",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 34),
        field="oversized_requests_are_unresolvable",
        value=True,
        what="A node that is too small for the pod even when empty is reported as "
        "UnschedulableAndUnresolvable, and no pods are preempted on it; before, as Unschedulable.",
        source=f"{_PULL}/131345",
        message_only=True,
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 34),
        field="pod_resources",
        value=True,
        what="spec.resources of a pod goes before the sum of its containers; before, it is dropped.",
        source=f"{_KEP}/2837",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 34),
        field="sidecar_ports",
        value=True,
        what="Host ports of sidecars are taken; before, they are not looked at.",
        source=f"{_PULL}/132040",
        backported=(KubernetesVersion(1, 33, 6),),
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 34),
        field="keeps_namespace_selector",
        value=True,
        what="A namespaceSelector of NotIn or DoesNotExist alone in the incoming pod's affinity "
        "selects every namespace; before, those that it matches.",
        source=f"{_PULL}/132457",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 35),
        field="names_taint",
        value=False,
        what="The pod's condition no longer names the taint that a pod does not tolerate.",
        source=f"{_PULL}/134740",
        backported=(KubernetesVersion(1, 34, 2),),
        message_only=True,
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 35),
        field="image_volumes",
        value=True,
        what="Image volumes are known; before, they are dropped, and the API server refuses a volume "
        "without a source.",
        source=f"{_KEP}/4639",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 36),
        field="scores_balance_gain",
        value=True,
        what="NodeResourcesBalancedAllocation scores how much more evenly resources are used with the pod; "
        "before, how evenly they are used then.",
        source=f"{_PULL}/135573",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 36),
        field="scores_image_volumes",
        value=True,
        what="ImageLocality also scores nodes by image volumes.",
        source=f"{_PULL}/130231",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 36),
        field="pod_resize_status",
        value=True,
        what="A pod that is resized as a whole takes what its status says; before, its requests.",
        source=f"{_KEP}/5419",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 37),
        field="counts_image_volumes",
        value=True,
        what="An image volume weighs no more than the image of a container in ImageLocality.",
        source=f"{_PULL}/138951",
    ),
    # Listed under v1.38.0-alpha.1 in CHANGELOG-1.38.md as a change since v1.37.0.
    ReleaseChange(
        since=KubernetesVersion(1, 38),
        field="empty_selector_counts",
        value=True,
        what="A constraint with labelSelector {} counts every pod of the namespace again, so that pods which "
        "were placed before an upgrade may stay pending after it.",
        source=f"{_PULL}/141340",
    ),
)


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
    return replace(_OLDEST_BEHAVIOR, **changed)

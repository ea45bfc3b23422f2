"""The differences between releases of Kubernetes that decide where a pod goes, or which message it gets.

Each is a flag of ``Behavior`` with the change that sets it, oldest release first. A feature gate counts with
its default. A change may have been given to patch releases too; of a release without a patch the newest one
is meant.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final

from policies.model.pod_reading import AmountReading, PodReading
from policies.model.taints import Taint
from policies.model.version import MATCH_LABEL_KEYS_SINCE, KubernetesVersion

_PULL = "https://github.com/kubernetes/kubernetes/pull"
_TREE = "https://github.com/kubernetes/kubernetes/blob"
_KEP = "https://github.com/kubernetes/enhancements/issues"
#: Under which a flag has its changes.
_CHANGES: Final = "changes"

#: The fields of a constraint that came with a release, and the attribute of ``Behavior`` that defines whether
#: they count. Before, the API server drops them: their gate is off. Source: KEP-3022, KEP-3094, KEP-3243.
FIELDS: dict[str, str] = {
    "minDomains": "min_domains",
    "nodeAffinityPolicy": "inclusion_policies",
    "nodeTaintsPolicy": "inclusion_policies",
    "matchLabelKeys": "match_label_keys",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChange:
    """A change of one flag."""

    since: KubernetesVersion  #: The first release that does so.
    field: str  #: The attribute of ``Behavior`` that changes.
    what: str  #: What changes, in one sentence for users of both releases.
    source: str  #: Where it is written.
    value: bool = True  #: What it becomes.
    #: The patch releases of older minor releases that do so too.
    backported: tuple[KubernetesVersion, ...] = ()
    message_only: bool = False  #: Whether it changes only the message on a pod that fits nowhere.

    def is_in(self, version: KubernetesVersion) -> bool:
        """Return whether a release has the change."""
        of_minor = next((patch for patch in self.backported if patch == version), self.since)
        return version.reaches(of_minor)

    def after(self, version: KubernetesVersion) -> KubernetesVersion:
        """Return the first release that has the change, of those after one that has it not."""
        return min(release for release in (*self.backported, self.since) if not version.reaches(release))


def _since(
    version: KubernetesVersion, what: str, source: str, *, then: ReleaseChange | None = None, **more: Any
) -> Any:
    """Declare a flag by the change that sets it, and by one that changes it back, if there is one."""
    change = ReleaseChange(since=version, field="", what=what, source=source, **more)
    return field(default=not change.value, metadata={_CHANGES: (change, then) if then else (change,)})


@dataclass(frozen=True, kw_only=True)
class Behavior:
    """The behavior of one release; ``behavior_of`` returns it.

    The defaults are that of the oldest. Source: ``pkg/features/kube_features.go`` and ``pkg/scheduler``,
    Kubernetes 1.24, and that of each flag.
    """

    inclusion_policies: bool = _since(
        KubernetesVersion(1, 26),
        "nodeAffinityPolicy and nodeTaintsPolicy count; before, node affinity is always honored and "
        "taints are always ignored.",
        f"{_KEP}/3094",
    )
    says_prefilter_reason_once: bool = _since(
        KubernetesVersion(1, 26),
        "Contradicting node names in a node affinity are named once in the pod's condition, not once "
        "for each node.",
        f"{_PULL}/110894",
        message_only=True,
    )
    zero_extended_requests_fit: bool = _since(
        KubernetesVersion(1, 26),
        "A node that is overcommitted in an extended resource takes pods that request 0 of it; "
        "before, it refuses them.",
        f"{_TREE}/v1.26.0/pkg/scheduler/framework/plugins/noderesources/fit.go",
    )
    min_domains: bool = _since(
        KubernetesVersion(1, 27),
        "minDomains counts: with fewer eligible domains the global minimum is 0.",
        f"{_KEP}/3022",
    )
    match_label_keys: bool = _since(
        MATCH_LABEL_KEYS_SINCE,
        "matchLabelKeys counts: only pods with the incoming pod's own values of these labels are counted.",
        f"{_KEP}/3243",
    )
    # Either way it selects the incoming pod itself.
    empty_selector_counts: bool = _since(
        KubernetesVersion(1, 27),
        "A constraint with labelSelector {} counts no pods, so that it never refuses a node that has "
        "its topology key; before, it counts every pod of the namespace.",
        f"{_PULL}/116607",
        value=False,
        # Listed under v1.38.0-alpha.1 in CHANGELOG-1.38.md as a change since v1.37.0.
        then=ReleaseChange(
            since=KubernetesVersion(1, 38),
            field="empty_selector_counts",
            what="A constraint with labelSelector {} counts every pod of the namespace again, so that pods "
            "which were placed before an upgrade may stay pending after it.",
            source=f"{_PULL}/141340",
        ),
    )
    scheduling_gates: bool = _since(
        KubernetesVersion(1, 27),
        "A pod with schedulingGates waits until they are gone; before, the field is dropped.",
        f"{_KEP}/3521",
    )
    checks_selectors: bool = _since(
        KubernetesVersion(1, 27),
        "The API server refuses a constraint whose labelSelector is not valid; before, it takes it, and "
        "the scheduler fails on the pod.",
        f"{_TREE}/v1.27.0/pkg/apis/core/validation/validation.go",
    )
    passes_over_conflicts: bool = _since(
        KubernetesVersion(1, 27),
        "A term of the node affinity whose node names contradict is passed over; before, it "
        "makes every node refuse the pod, even where another term matches.",
        f"{_PULL}/116465",
    )
    passes_over_gone_nodes: bool = _since(
        KubernetesVersion(1, 27),
        "A node name in a node affinity that no node has is passed over; before, the scheduler "
        "fails on the pod, which stays pending.",
        f"{_TREE}/v1.27.0/pkg/scheduler/schedule_one.go",
    )
    sums_exactly: bool = _since(
        KubernetesVersion(1, 27),
        "What containers request is summed before it is rounded up to thousandths of cpu or to "
        "bytes; before, after.",
        f"{_PULL}/115367",
    )
    scores_cpu_overhead: bool = _since(
        KubernetesVersion(1, 27),
        "Nodes are scored with the incoming pod's overhead of cpu; before, with a thousandth of "
        "it, rounded up to a core.",
        f"{_PULL}/115367",
    )
    zero_requests_fit: bool = _since(
        KubernetesVersion(1, 28),
        "A node that is overcommitted in a resource takes pods that request none of it; before, it "
        "refuses them if they request anything else.",
        f"{_PULL}/116408",
    )
    scores_spread_without_soft: bool = _since(
        KubernetesVersion(1, 28),
        "PodTopologySpread no longer scores nodes for a pod without soft constraints; before, "
        "it gives all of them the same.",
        f"{_PULL}/118608",
        value=False,
    )
    sidecars: bool = _since(
        KubernetesVersion(1, 29),
        "An init container with restartPolicy Always runs beside the containers; before, the "
        "policy is dropped, and the pod waits for the container to end.",
        f"{_KEP}/753",
    )
    scores_init_images: bool = _since(
        KubernetesVersion(1, 30),
        "ImageLocality also scores nodes by the images of init containers.",
        f"{_PULL}/123366",
    )
    affinity_label_keys: bool = _since(
        KubernetesVersion(1, 31),
        "matchLabelKeys and mismatchLabelKeys of pod affinity are merged into its selectors; "
        "before, they are dropped.",
        f"{_KEP}/3633",
    )
    counts_left_out_nodes: bool = _since(
        KubernetesVersion(1, 32),
        "Nodes that the node names in a node affinity leave out are counted in the pod's condition, as "
        "nodes that didn't satisfy NodeAffinity; before, they are not mentioned.",
        f"{_PULL}/126022",
        message_only=True,
    )
    assumes_sidecars: bool = _since(
        KubernetesVersion(1, 32),
        "What running sidecars request lowers the score of their node in NodeResourcesFit; "
        "before, only as long as the pod starts.",
        f"{_PULL}/127878",
    )
    skips_empty_balance: bool = _since(
        KubernetesVersion(1, 33),
        "NodeResourcesBalancedAllocation no longer scores nodes for a pod that requests nothing.",
        f"{_PULL}/130260",
    )
    resize_status: bool = _since(
        KubernetesVersion(1, 33),
        "A container that is resized takes what its status says, where that is more than its "
        "requests; before, its requests.",
        f"{_KEP}/1287",
    )
    merges_match_label_keys: bool = _since(
        KubernetesVersion(1, 34),
        "The API server writes matchLabelKeys into the labelSelector of each new pod, and refuses a pod "
        "whose selector holds such a key already.",
        f"{_PULL}/129874",
    )
    oversized_requests_are_unresolvable: bool = _since(
        KubernetesVersion(1, 34),
        "A node that is too small for the pod even when empty is reported as "
        "UnschedulableAndUnresolvable, and no pods are preempted on it; before, as Unschedulable.",
        f"{_PULL}/131345",
        message_only=True,
    )
    pod_resources: bool = _since(
        KubernetesVersion(1, 34),
        "spec.resources of a pod goes before the sum of its containers; before, it is dropped.",
        f"{_KEP}/2837",
    )
    sidecar_ports: bool = _since(
        KubernetesVersion(1, 34),
        "Host ports of sidecars are taken; before, they are not looked at.",
        f"{_PULL}/132040",
        backported=(KubernetesVersion(1, 33, 6),),
    )
    keeps_namespace_selector: bool = _since(
        KubernetesVersion(1, 34),
        "A namespaceSelector of NotIn or DoesNotExist alone in the incoming pod's affinity "
        "selects every namespace; before, those that it matches.",
        f"{_PULL}/132457",
    )
    names_taint: bool = _since(
        KubernetesVersion(1, 35),
        "The pod's condition no longer names the taint that a pod does not tolerate.",
        f"{_PULL}/134740",
        value=False,
        backported=(KubernetesVersion(1, 34, 2),),
        message_only=True,
    )
    image_volumes: bool = _since(
        KubernetesVersion(1, 35),
        "Image volumes are known; before, they are dropped, and the API server refuses a volume "
        "without a source.",
        f"{_KEP}/4639",
    )
    scores_balance_gain: bool = _since(
        KubernetesVersion(1, 36),
        "NodeResourcesBalancedAllocation scores how much more evenly resources are used with the pod; "
        "before, how evenly they are used then.",
        f"{_PULL}/135573",
    )
    scores_image_volumes: bool = _since(
        KubernetesVersion(1, 36),
        "ImageLocality also scores nodes by image volumes.",
        f"{_PULL}/130231",
    )
    pod_resize_status: bool = _since(
        KubernetesVersion(1, 36),
        "A pod that is resized as a whole takes what its status says; before, its requests.",
        f"{_KEP}/5419",
    )
    counts_image_volumes: bool = _since(
        KubernetesVersion(1, 37),
        "An image volume weighs no more than the image of a container in ImageLocality.",
        f"{_PULL}/138951",
    )

    @cached_property
    def reading(self) -> PodReading:
        """How the release reads pods."""
        return PodReading(
            amounts=AmountReading(*(getattr(self, name) for name in AmountReading._fields)),
            affinity_label_keys=self.affinity_label_keys,
            sidecar_ports=self.sidecar_ports,
        )

    @cached_property
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


#: Every change after the oldest release, in order. Source: each line's own.
CHANGES: Final[tuple[ReleaseChange, ...]] = tuple(
    sorted(
        (
            replace(change, field=entry.name)
            for entry in fields(Behavior)
            for change in entry.metadata[_CHANGES]
        ),
        key=lambda change: change.since,
    )
)

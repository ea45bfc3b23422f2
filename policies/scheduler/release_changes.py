"""The differences between releases of Kubernetes that decide where a pod goes, or which message it gets.

One table, oldest release first. A feature gate counts with its default. A change may have been given to patch
releases too; of a release without a patch the newest one is meant.
"""

from __future__ import annotations

from dataclasses import dataclass

from policies.model.version import MATCH_LABEL_KEYS_SINCE, KubernetesVersion

_PULL = "https://github.com/kubernetes/kubernetes/pull"
_TREE = "https://github.com/kubernetes/kubernetes/blob"
_KEP = "https://github.com/kubernetes/enhancements/issues"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChange:
    """One line of the table.

    Attributes:
        since: The first release that does so.
        field: The attribute of ``Behavior`` that changes.
        what: What changes, in one sentence for users of both releases.
        source: Where it is written.
        value: What it becomes.
        backported: The patch releases of older minor releases that do so too.
        message_only: Whether it changes only the message on a pod that fits nowhere.
    """

    since: KubernetesVersion
    field: str
    what: str
    source: str
    value: bool = True
    backported: tuple[KubernetesVersion, ...] = ()
    message_only: bool = False

    def is_in(self, version: KubernetesVersion) -> bool:
        """Return whether a release has the change."""
        of_minor = next((patch for patch in self.backported if patch == version), self.since)
        return version.reaches(of_minor)

    def after(self, version: KubernetesVersion) -> KubernetesVersion:
        """Return the first release that has the change, of those after one that has it not."""
        return min(release for release in (*self.backported, self.since) if not version.reaches(release))


#: Every change after the oldest release, in order. Source: each line's own.
CHANGES: tuple[ReleaseChange, ...] = (
    ReleaseChange(
        since=KubernetesVersion(1, 26),
        field="inclusion_policies",
        what="nodeAffinityPolicy and nodeTaintsPolicy count; before, node affinity is always honored and "
        "taints are always ignored.",
        source=f"{_KEP}/3094",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 26),
        field="says_prefilter_reason_once",
        what="Contradicting node names in a node affinity are named once in the pod's condition, not once "
        "for each node.",
        source=f"{_PULL}/110894",
        message_only=True,
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 26),
        field="zero_extended_requests_fit",
        what="A node that is overcommitted in an extended resource takes pods that request 0 of it; "
        "before, it refuses them.",
        source=f"{_TREE}/v1.26.0/pkg/scheduler/framework/plugins/noderesources/fit.go",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="min_domains",
        what="minDomains counts: with fewer eligible domains the global minimum is 0.",
        source=f"{_KEP}/3022",
    ),
    ReleaseChange(
        since=MATCH_LABEL_KEYS_SINCE,
        field="match_label_keys",
        what="matchLabelKeys counts: only pods with the incoming pod's own values of these labels are "
        "counted.",
        source=f"{_KEP}/3243",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="empty_selector_counts",
        what="A constraint with labelSelector {} counts no pods, so that it never refuses a node that has "
        "its topology key; before, it counts every pod of the namespace.",
        source=f"{_PULL}/116607",
        value=False,
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="scheduling_gates",
        what="A pod with schedulingGates waits until they are gone; before, the field is dropped.",
        source=f"{_KEP}/3521",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="checks_selectors",
        what="The API server refuses a constraint whose labelSelector is not valid; before, it takes it, and "
        "the scheduler fails on the pod.",
        source=f"{_TREE}/v1.27.0/pkg/apis/core/validation/validation.go",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="passes_over_conflicts",
        what="A term of the node affinity whose node names contradict is passed over; before, it "
        "makes every node refuse the pod, even where another term matches.",
        source=f"{_PULL}/116465",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="passes_over_gone_nodes",
        what="A node name in a node affinity that no node has is passed over; before, the scheduler "
        "fails on the pod, which stays pending.",
        source=f"{_TREE}/v1.27.0/pkg/scheduler/schedule_one.go",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="sums_exactly",
        what="What containers request is summed before it is rounded up to thousandths of cpu or to "
        "bytes; before, after.",
        source=f"{_PULL}/115367",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 27),
        field="scores_cpu_overhead",
        what="Nodes are scored with the incoming pod's overhead of cpu; before, with a thousandth of "
        "it, rounded up to a core.",
        source=f"{_PULL}/115367",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 28),
        field="zero_requests_fit",
        what="A node that is overcommitted in a resource takes pods that request none of it; before, it "
        "refuses them if they request anything else.",
        source=f"{_PULL}/116408",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 28),
        field="scores_spread_without_soft",
        what="PodTopologySpread no longer scores nodes for a pod without soft constraints; before, "
        "it gives all of them the same.",
        source=f"{_PULL}/118608",
        value=False,
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 29),
        field="sidecars",
        what="An init container with restartPolicy Always runs beside the containers; before, the "
        "policy is dropped, and the pod waits for the container to end.",
        source=f"{_KEP}/753",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 30),
        field="scores_init_images",
        what="ImageLocality also scores nodes by the images of init containers.",
        source=f"{_PULL}/123366",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 31),
        field="affinity_label_keys",
        what="matchLabelKeys and mismatchLabelKeys of pod affinity are merged into its selectors; "
        "before, they are dropped.",
        source=f"{_KEP}/3633",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 32),
        field="counts_left_out_nodes",
        what="Nodes that the node names in a node affinity leave out are counted in the pod's condition, as "
        "nodes that didn't satisfy NodeAffinity; before, they are not mentioned.",
        source=f"{_PULL}/126022",
        message_only=True,
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 32),
        field="assumes_sidecars",
        what="What running sidecars request lowers the score of their node in NodeResourcesFit; "
        "before, only as long as the pod starts.",
        source=f"{_PULL}/127878",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 33),
        field="skips_empty_balance",
        what="NodeResourcesBalancedAllocation no longer scores nodes for a pod that requests nothing.",
        source=f"{_PULL}/130260",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 33),
        field="resize_status",
        what="A container that is resized takes what its status says, where that is more than its "
        "requests; before, its requests.",
        source=f"{_KEP}/1287",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 34),
        field="merges_match_label_keys",
        what="The API server writes matchLabelKeys into the labelSelector of each new pod, and refuses a pod "
        "whose selector holds such a key already.",
        source=f"{_PULL}/129874",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 34),
        field="oversized_requests_are_unresolvable",
        what="A node that is too small for the pod even when empty is reported as "
        "UnschedulableAndUnresolvable, and no pods are preempted on it; before, as Unschedulable.",
        source=f"{_PULL}/131345",
        message_only=True,
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 34),
        field="pod_resources",
        what="spec.resources of a pod goes before the sum of its containers; before, it is dropped.",
        source=f"{_KEP}/2837",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 34),
        field="sidecar_ports",
        what="Host ports of sidecars are taken; before, they are not looked at.",
        source=f"{_PULL}/132040",
        backported=(KubernetesVersion(1, 33, 6),),
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 34),
        field="keeps_namespace_selector",
        what="A namespaceSelector of NotIn or DoesNotExist alone in the incoming pod's affinity "
        "selects every namespace; before, those that it matches.",
        source=f"{_PULL}/132457",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 35),
        field="names_taint",
        what="The pod's condition no longer names the taint that a pod does not tolerate.",
        source=f"{_PULL}/134740",
        value=False,
        backported=(KubernetesVersion(1, 34, 2),),
        message_only=True,
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 35),
        field="image_volumes",
        what="Image volumes are known; before, they are dropped, and the API server refuses a volume "
        "without a source.",
        source=f"{_KEP}/4639",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 36),
        field="scores_balance_gain",
        what="NodeResourcesBalancedAllocation scores how much more evenly resources are used with the pod; "
        "before, how evenly they are used then.",
        source=f"{_PULL}/135573",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 36),
        field="scores_image_volumes",
        what="ImageLocality also scores nodes by image volumes.",
        source=f"{_PULL}/130231",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 36),
        field="pod_resize_status",
        what="A pod that is resized as a whole takes what its status says; before, its requests.",
        source=f"{_KEP}/5419",
    ),
    ReleaseChange(
        since=KubernetesVersion(1, 37),
        field="counts_image_volumes",
        what="An image volume weighs no more than the image of a container in ImageLocality.",
        source=f"{_PULL}/138951",
    ),
    # Listed under v1.38.0-alpha.1 in CHANGELOG-1.38.md as a change since v1.37.0.
    ReleaseChange(
        since=KubernetesVersion(1, 38),
        field="empty_selector_counts",
        what="A constraint with labelSelector {} counts every pod of the namespace again, so that pods which "
        "were placed before an upgrade may stay pending after it.",
        source=f"{_PULL}/141340",
    ),
)

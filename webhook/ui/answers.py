"""The form of what the page is sent; its TypeScript types are made from these and ``bodies``."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, TypedDict

from policies.manifests.edits import FieldEdit
from policies.manifests.findings import Severity
from policies.manifests.json_patch import PatchOperation
from policies.manifests.wire import INLINE, Count
from policies.model.taints import Taint
from policies.placement.core.actions import ChangedNodes
from policies.placement.survive.damage import DomainImpact
from policies.reports.audit.json import AuditedWorkload
from policies.reports.explain.json import ExplainAnswer
from policies.reports.survive.json import LossResult
from policies.scheduler.rejections import RejectedNodes
from webhook.requests.autoscale import AutoscaleField


class ManifestProblem(TypedDict):
    """Something that is wrong with a manifest or a request.

    Attributes:
        line: The line of the manifest, from 1; 0 where it is about none.
        field: The field, as Kubernetes writes paths; empty where it is about none.
        rule: The rule that is broken.
        severity: How bad it is.
        message: What is wrong.
    """

    line: Count
    field: str
    rule: str
    severity: Severity
    message: str


class PageError(TypedDict):
    """Every error of the page's routes.

    Attributes:
        error: What is wrong, in one line.
        problems: Every field that is wrong; empty where the error is about none.
    """

    error: str
    problems: list[ManifestProblem]


class ClusterSource(TypedDict):
    """Where the cluster was read from.

    Attributes:
        kind: A snapshot file, or a live cluster.
        name: The file, or the context of the kubeconfig; empty for the current context.
        readAt: When it was read, RFC 3339; for a file, when that was last written.
        notes: What was left out, or is not known.
    """

    kind: Literal["file", "live"]
    name: str
    readAt: str
    notes: list[str]


class ChangedObjects(TypedDict):
    """The objects of one kind that are no more as they were read.

    Attributes:
        kind: The kind.
        objects: How many changed, came or went.
    """

    kind: str
    objects: Count


class ReadingStatus(TypedDict):
    """Which reading of the cluster is shown, and what is known of the next.

    Attributes:
        reading: Its number, from 1.
        repeatable: Whether the cluster can be read again.
        running: Whether it is being read.
        error: Why it could not be read the last time; empty if it could.
        watched: Whether changes of the cluster are noted.
        unwatched: Kinds whose changes are not noted, each with the reason.
        changed: What changed since the reading.
        dueInS: Seconds until the next reading that no one asks for.
    """

    reading: Count
    repeatable: bool
    running: bool
    error: str
    watched: bool
    unwatched: list[str]
    changed: list[ChangedObjects]
    dueInS: float


class LabelValues(TypedDict):
    """One label of all nodes.

    Attributes:
        values: The values.
        of: For each node the position of its value; -1 where it lacks the label.
    """

    values: list[str]
    of: list[int]


class NodeTaints(TypedDict):
    """The taints of all nodes.

    Attributes:
        values: The distinct lists of taints.
        of: For each node the position of its list.
    """

    values: list[list[Taint]]
    of: list[Count]


class NodeColumns(TypedDict):
    """The nodes, sorted by name.

    Attributes:
        names: Their names.
        cordoned: Positions of those that are unschedulable.
        notReady: Positions of those with a taint that says that they are not ready or unreachable.
        taints: Their taints.
        labels: Their labels, by key: those that may be topology keys.
    """

    names: list[str]
    cordoned: list[Count]
    notReady: list[Count]
    taints: NodeTaints
    labels: dict[str, LabelValues]


class WorkloadColumns(TypedDict):
    """The workloads, sorted by namespace, kind and name.

    Attributes:
        kinds: The distinct kinds.
        namespaces: The distinct namespaces.
        kind: For each workload the position of its kind.
        namespace: For each the position of its namespace.
        name: For each its name.
    """

    kinds: list[str]
    namespaces: list[str]
    kind: list[Count]
    namespace: list[Count]
    name: list[str]


class PodColumns(TypedDict):
    """The pods that have not finished, sorted by node.

    Attributes:
        node: For each pod the position of its node; -1 for a pod that is pending, -2 for one whose node is
            not known.
        workload: For each the position of its workload; -1 without a controller.
    """

    node: list[int]
    workload: list[int]


class PageAutoscaler(TypedDict):
    """The autoscaler that may add nodes for pending pods.

    Attributes:
        name: The value of the option that gives it: a file, or ``deduced``.
        documents: The ``autoscale`` of a request for it.
    """

    name: str
    documents: AutoscaleField


class ClusterMap(TypedDict):
    """The whole cluster: where every pod is.

    Attributes:
        kubernetesVersion: The release that the scheduler behaves as.
        source: Where it was read from.
        topologyKeys: The keys of ``nodes.labels``: zone, region and hostname first, then by name.
        otherKeys: How many more keys the nodes carry, which are left out.
        nodes: The nodes.
        workloads: The workloads.
        pods: The pods.
        opened: The manifest that is shown at first; empty for none.
        autoscale: The autoscaler that may add nodes; null for none.
        reading: Which reading of the cluster it is; positions in it are those of answers about the same one.
    """

    kubernetesVersion: str
    source: ClusterSource
    topologyKeys: list[str]
    otherKeys: Count
    nodes: NodeColumns
    workloads: WorkloadColumns
    pods: PodColumns
    opened: str
    autoscale: PageAutoscaler | None
    reading: Count


class AuditedEntry(NamedTuple):
    """A workload of the audit.

    Attributes:
        found: The workload.
        workload: Its position in the columns of the cluster.
        rank: Sorts by risk: the smallest is the riskiest.
    """

    found: Annotated[AuditedWorkload, INLINE]
    workload: Count
    rank: float


class AuditProgress(TypedDict):
    """The audit as far as it is; it runs in the background.

    Attributes:
        done: Whether these are the last ones.
        error: Why it ended early; empty if it did not.
        audited: How many objects have been looked at.
        total: How many there are.
        next: What to send as ``after`` next.
        unaudited: How many workloads of the cluster are not audited, for lack of a known number of replicas;
            0 until it is done, and where only some workloads were to be audited.
        workloads: The workloads after the number that was sent, as they were audited.
    """

    done: bool
    error: str
    audited: Count
    total: Count
    next: Count
    unaudited: Count
    workloads: list[AuditedEntry]


class WorkloadPod(TypedDict):
    """A pod of a workload.

    Attributes:
        name: Its name.
        node: Its node.
        revision: The value of the label that marks its revision; empty without one.
        ready: Whether it is ready; null where that is not known.
    """

    name: str
    node: str
    revision: str
    ready: bool | None


class WorkloadDetail(TypedDict):
    """One workload, or one Pod.

    Attributes:
        manifest: Its manifest, YAML.
        notes: What there is to know of the manifest, such as that it is made from a ReplicaSet.
        explain: Where its next pod would go, and why; null if the API server would refuse it.
        problems: Why it would.
        pods: Its pods that are bound and not being deleted, by name.
        rolledOut: Whether it is of a kind whose rollout is simulated, so that an edited copy of it replaces
            its pods.
        inCluster: Whether the cluster has it; false for a manifest of a person's own.
    """

    manifest: str
    notes: list[str]
    explain: ExplainAnswer | None
    problems: list[ManifestProblem]
    pods: list[WorkloadPod]
    rolledOut: bool
    inCluster: bool


class MovedPods(TypedDict):
    """The pods that lose their node, in the order in which they are scheduled again.

    Attributes:
        workload: The position of each one's workload in the columns of the cluster; -1 without a controller.
        origin: The position of the node that it was on.
        node: That of the node where its replacement goes: one of the cluster, or behind those an added one;
            -1 if it stays pending, -2 if nothing replaces it, -3 if that was not tried.
    """

    workload: list[int]
    origin: list[Count]
    node: list[int]


class ClusterOutcome(TypedDict):
    """The effect of some actions on all workloads of the cluster, as ``survive --all`` has it of a loss.

    Attributes:
        what: What happens, as the object of a sentence.
        verdict: Whether the cluster survives it, in a sentence.
        impact: What is gone with it, known before anything is scheduled again.
        result: What becomes of the pods that lose their node.
        damages: The damages of each of the result's workloads in words; empty where there is none.
        lostNodes: The positions of the nodes that are gone or unreachable.
        addedNodes: The names of new nodes.
        changedNodes: New nodes, and those that are otherwise than before.
        moved: Where each pod goes.
        notes: What was assumed, and what was not read, not judged or not scheduled, as sentences.
        notModeled: What else a scheduler looks at, which may refuse more nodes.
        rank: Sorts outcomes by damage, number by number: the smallest is the worst.
        command: The command that answers the same; empty where there is none.
    """

    what: str
    verdict: str
    rank: list[int]
    impact: DomainImpact
    result: LossResult
    damages: list[str]
    lostNodes: list[Count]
    addedNodes: list[str]
    changedNodes: list[ChangedNodes]
    moved: MovedPods
    notes: list[str]
    notModeled: list[str]
    command: str


class PodOfNode(TypedDict):
    """A pod on a node.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        workload: The position of its workload in the columns of the cluster; -1 without a controller.
        terminating: Whether it is being deleted.
    """

    namespace: str
    name: str
    workload: int
    terminating: bool


class FoundPod(TypedDict):
    """A pod that a search finds.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        node: Its node; empty for one that is pending.
        workload: The position of its workload in the columns of the cluster; -1 without a controller.
    """

    namespace: str
    name: str
    node: str
    workload: int


class FoundPods(TypedDict):
    """The pods that a search finds.

    Attributes:
        pods: The first of them: one of that very name, then by namespace and name.
        others: How many more there are.
    """

    pods: list[FoundPod]
    others: Count


class ResourceUse(TypedDict):
    """The used part of a resource; cpu in thousandths, all else in units.

    Attributes:
        allocatable: What the node offers.
        requested: What its pods request.
    """

    allocatable: Count
    requested: Count


class NodeDetail(TypedDict):
    """One node.

    Attributes:
        name: Its name.
        cordoned: Whether it is unschedulable.
        labels: Its labels.
        taints: Its taints.
        resources: What it offers, by resource.
        pods: The pods on it, by namespace and name.
    """

    name: str
    cordoned: bool
    labels: dict[str, str]
    taints: list[Taint]
    resources: dict[str, ResourceUse]
    pods: list[PodOfNode]


class PendingPodFields(TypedDict):
    """A pod without a node.

    Attributes:
        name: Its name.
        createdAt: When it was created, as the API writes it; empty if it does not say.
        condition: What the cluster's scheduler says of it; empty if it says nothing.
    """

    name: str
    createdAt: str
    condition: str


class PendingReason(TypedDict):
    """A reason why nodes refuse a pod.

    Attributes:
        nodes: How many nodes have it; a node may have several.
        text: It, in a sentence.
    """

    nodes: Count
    text: str


class PendingGroup(TypedDict):
    """The pending pods of one controller, or a single one without.

    Attributes:
        namespace: Their namespace.
        workload: The position of the workload in the columns of the cluster; -1 without a controller.
        count: How many there are.
        pods: The first of them, by name.
        message: What the model says of the first one: the scheduler's FitError; empty if it fits.
        feasibleNodes: How many nodes the first one fits in the model; null if it was not evaluated.
        reasons: Why nodes refuse it, those of most nodes first.
        rejections: The same as values.
        problems: Why it was not evaluated.
    """

    namespace: str
    workload: int
    count: Count
    pods: list[PendingPodFields]
    message: str
    feasibleNodes: Count | None
    reasons: list[PendingReason]
    rejections: list[RejectedNodes]
    problems: list[ManifestProblem]


class PendingAnswer(TypedDict):
    """The pods without a node.

    Attributes:
        pods: How many there are.
        notKept: How many of them are too many to be looked at.
        groups: Those of each controller: first those that fit no node, then those of which that is not known,
            then those that fit one; of each the most pods first.
        otherGroups: How many more groups there are, which are left out.
    """

    pods: Count
    notKept: Count
    groups: list[PendingGroup]
    otherGroups: Count


class EditedManifest(TypedDict):
    """A manifest with edits made.

    Attributes:
        manifest: The manifest; comments and layout are kept.
        diff: What has changed, as a unified diff.
    """

    manifest: str
    diff: str


class PatchAnswer(TypedDict):
    """The changes from one manifest to another.

    Attributes:
        mergePatch: A JSON merge patch (RFC 7386), as YAML; lists are replaced as a whole.
        jsonPatch: A JSON patch (RFC 6902).
        changes: The same as edits of fields, each with the value that it had.
        diff: A unified diff of the texts.
        command: The kubectl command that applies the merge patch; empty for a Pod or a Job, most of whose
            fields cannot be changed.
    """

    mergePatch: str
    jsonPatch: list[PatchOperation]
    changes: list[FieldEdit]
    diff: str
    command: str


class SavedReport(TypedDict):
    """A view of the page in one file.

    Attributes:
        html: The file, with a mark where the answers go that the view shows.
    """

    html: str


class CheckedObject(TypedDict):
    """The object of a manifest.

    Attributes:
        kind: Its kind, with its group.
        namespace: Its namespace.
        name: Its name; empty if it has none.
        replicas: How many replicas it wants; null for kinds without a number.
    """

    kind: str
    namespace: str
    name: str
    replicas: int | None


class CheckAnswer(TypedDict):
    """The problems of a manifest.

    Attributes:
        problems: In the order of their lines.
        object: Its object; null if it cannot be read as one.
    """

    problems: list[ManifestProblem]
    object: CheckedObject | None

"""The pod that a workload's controller would make next, as the scheduler would meet it.

Sources, Kubernetes 1.36: ``GetPodFromTemplate`` (``pkg/controller/controller_utils.go``), the controllers of
each kind below ``pkg/controller``, ``generateSelector`` (``pkg/registry/batch/job/strategy.go``) and the
admission plugin DefaultTolerationSeconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from policies.manifests.fields import ErrorList
from policies.model.labels import NAME_LENGTH, LabelSelector
from policies.model.pod import Owner, controller_of
from policies.model.revisions import Revision
from policies.model.taints import TaintEffect
from policies.model.validation import INT32_MAX
from policies.model.workload import WorkloadKind, descend

#: Stands where a controller writes a hash or a random suffix. Arbitrary; valid in names and label values.
PLACEHOLDER = "next"
#: Stands for the uid of an object that does not exist yet. Arbitrary; no object has it.
PLACEHOLDER_UID = "00000000-0000-0000-0000-000000000000"
#: The workloads whose selector kube-scheduler looks at when they own a pod, by group and kind:
#: ``DefaultSelector``, ``pkg/scheduler/framework/plugins/helper/spread.go``.
SELECTING_KINDS = frozenset({("", "ReplicationController"), ("apps", "ReplicaSet"), ("apps", "StatefulSet")})
#: The label with the name of a pod's revision: ``ControllerRevisionHashLabelKey``.
REVISION_HASH = "controller-revision-hash"
#: Seconds for which pods stay on a node that is not ready or cannot be reached: DefaultTolerationSeconds.
DEFAULT_TOLERATION_S = 300
#: The taints that every pod tolerates for a while, DaemonSet pods without end.
OUTAGE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
#: The NoSchedule taints that DaemonSet pods tolerate: ``AddOrUpdateDaemonPodTolerations``.
DAEMON_TAINTS = (
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
)
#: The one that DaemonSet pods on the host's network tolerate besides.
NETWORK_TAINT = "node.kubernetes.io/network-unavailable"


@dataclass(frozen=True, slots=True)
class PodRevision:
    """The revision of its workload that a pod belongs to.

    Attributes:
        hash: With which its controller marks it; None if the revision is not in the cluster yet, as far as
            is known, so that nobody knows.
    """

    hash: str | None

    @property
    def is_new(self) -> bool:
        """Whether it is judged as the first pod of a new revision."""
        return self.hash is None


@dataclass(frozen=True, slots=True)
class NextPod:
    """A pod that does not exist yet.

    Attributes:
        pod: The pod as the API writes it.
        owner: The controller that it would belong to; None for none.
        owner_selector: That controller's selector, if it is one whose selector kube-scheduler looks at; None
            where the cluster has the controller.
        revision: Its revision; None for the pods of a kind without revisions.
    """

    pod: dict[str, Any]
    owner: Owner | None
    owner_selector: LabelSelector | None
    revision: PodRevision | None = None


def next_pod(
    obj: Mapping[str, Any], kind: WorkloadKind, namespace: str, revision: Revision | None = None
) -> NextPod:
    """Return the pod that a workload's controller would make next.

    Nothing of the workload is changed, or copied deeper than the pod differs; what is of the wrong type stays
    as it is, for ``read_pending_pod`` to tell. The first pod of a StatefulSet stands for all. A DaemonSet's
    pod lacks the affinity to one node that its controller adds: it stands for the pods of all nodes.

    Args:
        obj: The workload, or a pod, which is returned as it is.
        kind: Its kind.
        namespace: The namespace that it belongs to.
        revision: The revision of the cluster that the pod belongs to; None for a new one.
    """
    metadata = _member(obj, "metadata")
    if kind.is_pod:
        return NextPod(dict(obj), controller_of(metadata), None)
    given = metadata.get("name")
    name = given if isinstance(given, str) and given else PLACEHOLDER
    template = descend(obj, kind.template, ErrorList())
    pod_name = _pod_name(obj, kind, name)
    pod = _make(template, _added_labels(obj, kind, name), daemon=kind.kind == "DaemonSet")
    label = _revision_label(kind)
    if revision is not None and label is not None and isinstance(pod["metadata"]["labels"], dict):
        pod["metadata"]["labels"][label] = revision.hash
    pod["metadata"] |= {"name": pod_name, "namespace": namespace}
    if kind.kind == "StatefulSet" and isinstance(pod["spec"], dict):
        _add_claims(pod["spec"], obj, pod_name)
    owner, selector = _owner(obj, kind, name, revision), None
    reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "controller": True}
    pod["metadata"]["ownerReferences"] = [reference]
    if (kind.group, kind.kind) in SELECTING_KINDS or kind.revision_label is not None:
        selector = kind.read_selector(obj)
    if kind.revision_label is not None and revision is not None:
        selector = None  # The ReplicaSet's own, which the cluster has.
    elif selector is not None and kind.revision_label is not None:
        selector = _narrowed(selector, kind.revision_label, pod["metadata"]["labels"])
    marked = None if label is None else PodRevision(None if revision is None else revision.hash)
    return NextPod(pod, owner, selector, marked)


def controller_labels(obj: Mapping[str, Any], kind: WorkloadKind) -> dict[str, str]:
    """Return the labels that the pods of a workload have besides, or instead of, those of its template.

    Args:
        obj: The workload.
        kind: Its kind; empty for a pod, and for a kind whose controller is not known here.

    >>> kind = WorkloadKind("apps", "Deployment", ("spec", "template"), revision_label="pod-template-hash")
    >>> controller_labels({"metadata": {"name": "web"}}, kind)
    {'pod-template-hash': 'next'}
    """
    if kind.is_pod:
        return {}
    given = _member(obj, "metadata").get("name")
    return _added_labels(obj, kind, given if isinstance(given, str) and given else PLACEHOLDER)


def _member(parent: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


def _revision_label(kind: WorkloadKind) -> str | None:
    """Return the label with which the controller of a kind marks the revision of each pod."""
    numbered = kind.group in ("apps", "apps.kruise.io") and kind.kind in ("StatefulSet", "DaemonSet")
    return REVISION_HASH if numbered else kind.revision_label


def _owner(obj: Mapping[str, Any], kind: WorkloadKind, name: str, revision: Revision | None) -> Owner:
    if kind.revision_label is not None:
        return Owner("apps/v1", "ReplicaSet", f"{name}-{PLACEHOLDER}" if revision is None else revision.name)
    if (kind.group, kind.kind) == ("batch", "CronJob"):
        return Owner("batch/v1", "Job", f"{name}-{PLACEHOLDER}")
    api_version = obj.get("apiVersion")
    return Owner(api_version if isinstance(api_version, str) else "", kind.kind, name)


def _narrowed(selector: LabelSelector, label: str, labels: object) -> LabelSelector:
    """Return the selector of the ReplicaSet that is made for one revision of a workload."""
    value = labels.get(label) if isinstance(labels, dict) else None
    others = tuple(pair for pair in selector.match_labels if pair[0] != label)
    return replace(
        selector, match_labels=(*others, (label, value if isinstance(value, str) else PLACEHOLDER))
    )


def _make(template: Mapping[str, Any], added: Mapping[str, str], *, daemon: bool) -> dict[str, Any]:
    """Return the pod of a template, without a name; a label of the template goes before an added one."""
    metadata, spec = _member(template, "metadata"), template.get("spec")
    kept = {name: metadata[name] for name in ("annotations", "finalizers") if name in metadata}
    labels = metadata.get("labels")
    if isinstance(labels, dict | None):
        labels = {**added, **(labels or {})}
    if isinstance(spec, dict | None):
        spec = dict(spec or {})
        tolerations = spec.get("tolerations")
        if isinstance(tolerations, list | None):
            own = tolerations or []
            more = _daemon_tolerations(spec) if daemon else _outage_tolerations(own)
            spec["tolerations"] = own + [entry for entry in more if entry not in own]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**kept, "labels": labels}, "spec": spec}


def _pod_name(obj: Mapping[str, Any], kind: WorkloadKind, name: str) -> str:
    if kind.kind != "StatefulSet":
        return f"{name}-{PLACEHOLDER}"
    start = _member(_member(obj, "spec"), "ordinals").get("start")
    return f"{name}-{start if type(start) is int and 0 <= start <= INT32_MAX else 0}"


def _added_labels(obj: Mapping[str, Any], kind: WorkloadKind, name: str) -> dict[str, str]:
    """Return the labels that a controller, or for Jobs the API server, puts on the pods of a kind."""
    if kind.revision_label is not None:
        return {kind.revision_label: PLACEHOLDER}
    match kind.group, kind.kind:
        case (("apps" | "apps.kruise.io"), "StatefulSet"):
            pod_name = _pod_name(obj, kind, name)
            return {
                REVISION_HASH: _label_value(f"{name}-{PLACEHOLDER}"),
                "statefulset.kubernetes.io/pod-name": _label_value(pod_name),
                "apps.kubernetes.io/pod-index": pod_name.rpartition("-")[2],
            }
        case (("apps" | "apps.kruise.io"), "DaemonSet"):
            return {REVISION_HASH: PLACEHOLDER}
        case "batch", "Job":
            uid = _member(obj, "metadata").get("uid")
            return _job_labels(_member(obj, "spec"), name, uid if isinstance(uid, str) else PLACEHOLDER_UID)
        case "batch", "CronJob":
            job = _member(_member(obj, "spec"), "jobTemplate")
            return _job_labels(_member(job, "spec"), f"{name}-{PLACEHOLDER}", PLACEHOLDER_UID)
    return {}


def _job_labels(spec: Mapping[str, Any], name: str, uid: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    if spec.get("manualSelector") is not True:
        for prefix in ("", "batch.kubernetes.io/"):
            labels |= {f"{prefix}job-name": _label_value(name), f"{prefix}controller-uid": uid}
    if spec.get("completionMode") == "Indexed":
        labels["batch.kubernetes.io/job-completion-index"] = "0"
    return labels


def _label_value(text: str) -> str:
    """Return a name cut to what a label can hold; a longer one makes no pods in a cluster."""
    return text[:NAME_LENGTH].rstrip("-.")


def _outage_tolerations(own: list[Any]) -> list[dict[str, Any]]:
    """Return what DefaultTolerationSeconds adds: a while on a failing node, unless the pod says how long."""
    tolerated = {
        entry.get("key") or ""
        for entry in own
        if isinstance(entry, dict) and entry.get("effect") in (None, "", TaintEffect.NO_EXECUTE)
        if isinstance(entry.get("key"), str | None)
    }
    return [
        _toleration(key, TaintEffect.NO_EXECUTE) | {"tolerationSeconds": DEFAULT_TOLERATION_S}
        for key in OUTAGE_TAINTS
        if not tolerated & {key, ""}
    ]


def _daemon_tolerations(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    keys = (*DAEMON_TAINTS, *((NETWORK_TAINT,) if spec.get("hostNetwork") is True else ()))
    return [
        *(_toleration(key, TaintEffect.NO_EXECUTE) for key in OUTAGE_TAINTS),
        *(_toleration(key, TaintEffect.NO_SCHEDULE) for key in keys),
    ]


def _toleration(key: str, effect: TaintEffect) -> dict[str, Any]:
    return {"key": key, "operator": "Exists", "effect": str(effect)}


def _add_claims(spec: dict[str, Any], obj: Mapping[str, Any], pod_name: str) -> None:
    """Give a StatefulSet's pod the volumes that its claim templates stand for."""
    templates = _member(obj, "spec").get("volumeClaimTemplates")
    volumes = spec.get("volumes")
    if not isinstance(templates, list) or not isinstance(volumes, list | None):
        return
    names = [
        name
        for template in templates
        if isinstance(template, dict) and isinstance(name := _member(template, "metadata").get("name"), str)
    ]
    if names:
        spec["volumes"] = (volumes or []) + [
            {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod_name}"}} for name in names
        ]

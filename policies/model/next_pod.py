"""The pod that a workload's controller would make next, as the scheduler would meet it.

Sources, Kubernetes 1.36: ``GetPodFromTemplate`` (``pkg/controller/controller_utils.go``), the controllers of
each kind below ``pkg/controller``, ``generateSelector`` (``pkg/registry/batch/job/strategy.go``) and the
admission plugin DefaultTolerationSeconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from policies.manifests.fields import descend, member, text_member
from policies.manifests.wire import SentAs, sent
from policies.model.controller_labels import (
    PLACEHOLDER,
    REVISION_HASH,
    controller_labels,
    pod_name,
)
from policies.model.labels import LabelSelector
from policies.model.revisions import Revision
from policies.model.taints import TaintEffect
from policies.model.workload import Owner, Workload
from policies.model.workload_kinds import POD_KIND, WorkloadKind

#: The workloads whose selector kube-scheduler looks at when they own a pod, by group and kind:
#: ``DefaultSelector``, ``pkg/scheduler/framework/plugins/helper/spread.go``.
SELECTING_KINDS = frozenset({("", "ReplicationController"), ("apps", "ReplicaSet"), ("apps", "StatefulSet")})
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
    """The revision of its workload that a pod belongs to."""

    #: With which its controller marks it; None if the revision is not in the cluster yet, as far as is known.
    hash: str | None

    @property
    @sent
    def is_new(self) -> Annotated[bool, SentAs("new")]:
        """Whether it is evaluated as the first pod of a new revision."""
        return self.hash is None


def next_pod(workload: Workload, revision: Revision | None = None) -> Workload:
    """Return the pod that a workload's controller would make next, as the API writes it.

    Nothing of the workload is changed, or copied deeper than the pod differs; what is of the wrong type stays
    as it is, for ``read_pod`` to report. The first pod of a StatefulSet stands for all. A DaemonSet's pod
    lacks the affinity to one node that its controller adds: it stands for the pods of all nodes.

    Args:
        workload: The workload, or a pod, which is returned as it is.
        revision: The revision of the cluster that the pod belongs to; None for a new one.

    Returns:
        A workload of kind Pod. Its ``owner_selector`` is the owner's, if that is one whose selector
        kube-scheduler looks at and that the cluster does not have yet.
    """
    kind, obj = workload.kind, workload.obj
    if kind.is_pod:
        return workload
    name = workload.name or PLACEHOLDER
    pod_title = pod_name(obj, kind, name)
    template = descend(obj, kind.template)
    pod = _make(template, controller_labels(workload), daemon=kind.kind == "DaemonSet")
    label = _revision_label(kind)
    if revision is not None and label is not None and isinstance(pod["metadata"]["labels"], dict):
        pod["metadata"]["labels"][label] = revision.hash
    pod["metadata"] |= {"name": pod_title, "namespace": workload.namespace}
    if kind.kind == "StatefulSet" and isinstance(pod["spec"], dict):
        _add_claims(pod["spec"], obj, pod_title)
    owner = _owner(obj, kind, name, revision)
    reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "controller": True}
    pod["metadata"]["ownerReferences"] = [reference]
    labels = pod["metadata"]["labels"]

    def owner_selector() -> LabelSelector | None:
        if kind.revision_label is None:
            return workload.selector if (kind.group, kind.kind) in SELECTING_KINDS else None
        if revision is not None or workload.selector is None:
            return None  # The ReplicaSet's own, which the cluster has, or of none.
        return _narrowed(workload.selector, kind.revision_label, labels)

    return Workload.read(
        pod, POD_KIND, workload.namespace, release=workload.release, read_owner_selector=owner_selector
    )


def pod_revision(workload: Workload, revision: Revision | None) -> PodRevision | None:
    """Return the revision of the next pod; None for the pods of a kind without revisions."""
    if _revision_label(workload.kind) is None:
        return None
    return PodRevision(None if revision is None else revision.hash)


def _revision_label(kind: WorkloadKind) -> str | None:
    """Return the label with which the controller of a kind marks the revision of each pod."""
    numbered = kind.group in ("apps", "apps.kruise.io") and kind.kind in ("StatefulSet", "DaemonSet")
    return REVISION_HASH if numbered else kind.revision_label


def _owner(obj: Mapping[str, Any], kind: WorkloadKind, name: str, revision: Revision | None) -> Owner:
    if kind.revision_label is not None:
        return Owner("apps/v1", "ReplicaSet", f"{name}-{PLACEHOLDER}" if revision is None else revision.name)
    if (kind.group, kind.kind) == ("batch", "CronJob"):
        return Owner("batch/v1", "Job", f"{name}-{PLACEHOLDER}")
    return Owner(text_member(obj, "apiVersion"), kind.kind, name)


def _narrowed(selector: LabelSelector, label: str, labels: object) -> LabelSelector:
    """Return the selector of the ReplicaSet that is made for one revision of a workload."""
    value = labels.get(label) if isinstance(labels, dict) else None
    others = tuple(pair for pair in selector.match_labels if pair[0] != label)
    return selector._replace(
        match_labels=(*others, (label, value if isinstance(value, str) else PLACEHOLDER))
    )


def _make(template: Mapping[str, Any], added: Mapping[str, str], *, daemon: bool) -> dict[str, Any]:
    """Return the pod of a template, without a name; a label of the template goes before an added one."""
    metadata, spec = member(template, "metadata"), template.get("spec")
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


def _outage_tolerations(own: list[Any]) -> list[dict[str, Any]]:
    """Return the tolerations that DefaultTolerationSeconds adds for outages, unless the pod has its own."""
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
    templates = member(obj, "spec").get("volumeClaimTemplates")
    volumes = spec.get("volumes")
    if not isinstance(templates, list) or not isinstance(volumes, list | None):
        return
    names = [
        name
        for template in templates
        if isinstance(template, dict) and isinstance(name := member(template, "metadata").get("name"), str)
    ]
    if names:
        spec["volumes"] = (volumes or []) + [
            {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod_name}"}} for name in names
        ]

"""The labels that controllers add to pods, and whether a selector selects the own pods of a workload.

Sources, Kubernetes 1.36: the controllers of each kind below ``pkg/controller``, and ``generateSelector``
(``pkg/registry/batch/job/strategy.go``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from policies.manifests.edits import Edit
from policies.manifests.fields import ErrorList, descend, member
from policies.model.constraint import INT32_MAX
from policies.model.labels import NAME_LENGTH, LabelSelector, Operator
from policies.model.workload import ConstraintEntry, Workload
from policies.model.workload_kinds import BUILT_IN_GROUPS, WorkloadKind

#: Stands where a controller writes a hash or a random suffix. Valid in names and label values.
PLACEHOLDER = "next"
#: Stands for the uid of an object that does not exist yet. No object has it.
PLACEHOLDER_UID = "00000000-0000-0000-0000-000000000000"
#: The label with the name of a pod's revision: ``ControllerRevisionHashLabelKey``.
REVISION_HASH = "controller-revision-hash"
#: The label of applications that belong together: who selects by it means all of them.
TOGETHER = "app.kubernetes.io/part-of"
#: Digits of the largest ordinal of a StatefulSet's pod, which is a little more than an int32.
MOST_DIGITS = 10
#: The groups whose controllers are known to add no labels but those of ``controller_labels``.
KNOWN_GROUPS = BUILT_IN_GROUPS | {"argoproj.io"}
#: Where a Rollout keeps the labels that its pods have for a while: ``spec.strategy``, Argo Rollouts 1.8.
PASSING_LABELS = (
    ("canary", "canaryMetadata"),
    ("canary", "stableMetadata"),
    ("blueGreen", "activeMetadata"),
    ("blueGreen", "previewMetadata"),
)


def controller_labels(workload: Workload) -> dict[str, str]:
    """Return the labels that the pods of a workload have besides, or instead of, those of its template.

    None for a pod, and for a kind whose controller is not known here.
    """
    return _added_labels(workload.obj, workload.kind, workload.name or PLACEHOLDER)


@cache
def controller_label_keys(kind: WorkloadKind) -> frozenset[str]:
    """Return the keys of the labels that the controller of a kind puts on every pod."""
    return frozenset(_added_labels({}, kind, PLACEHOLDER))


def own_mismatch(selector: LabelSelector, workload: Workload) -> str:
    """Return the requirements of a selector that the workload's pods surely do not meet, in words."""
    if _surely_matches(selector, workload.template.labels):
        return ""
    added = controller_labels(workload)
    judged = _evaluated(selector, workload, added)
    return judged.mismatch({**added, **workload.template.labels})


def own_selector_edits(workload: Workload, declared: ConstraintEntry) -> tuple[Edit, ...]:
    """Return the edit that gives a constraint the selector of its workload.

    Returns:
        Nothing where the workload has no selector of its own, where that does not select the template's
        labels, or where it names a key that ``matchLabelKeys`` lists: the API server would refuse the pods.
    """
    selector = workload.selector
    if selector is None or selector.empty or not selector.matches(workload.template.labels):
        return ()
    if not selector.keys.isdisjoint(declared.constraint.match_label_keys):
        return ()
    path = declared.path.child("labelSelector")
    return (Edit(path, declared.raw.get("labelSelector"), selector.to_dict()),)


def _surely_matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Return whether a selector matches whatever labels are added: without looking at what that would be."""
    return not selector.match_expressions and selector.matches(labels)


def _evaluated(selector: LabelSelector, workload: Workload, added: Mapping[str, str]) -> LabelSelector:
    """Return the part of a selector that can be evaluated before there is a pod.

    Its requirements of a value that the controller makes are left out (``selector-names-revision-label``),
    and of kinds that are not known well enough all labels that the template lacks.
    """
    open_keys = _passing_keys(workload)
    if workload.kind.group not in KNOWN_GROUPS or workload.kind.kind == "PodTemplate":
        open_keys |= selector.keys - workload.template.labels.keys()
    made = (added.keys() - workload.template.labels.keys()) | open_keys
    by_presence = {Operator.EXISTS, Operator.DOES_NOT_EXIST}
    return LabelSelector(
        tuple(pair for pair in selector.match_labels if pair[0] not in made),
        tuple(
            entry
            for entry in selector.match_expressions
            if entry.key not in (open_keys if entry.operator in by_presence else made)
        ),
    )


def _passing_keys(workload: Workload) -> set[str]:
    """Return the labels that Argo Rollouts puts on pods and takes away again."""
    if workload.kind.kind != "Rollout":
        return set()
    found = ErrorList()
    ways = (("spec", "strategy", *way, "labels") for way in PASSING_LABELS)
    return {key for way in ways for key in descend(workload.obj, way, found)}


def pod_name(obj: Mapping[str, Any], kind: WorkloadKind, name: str) -> str:
    """Return the name that a controller would give its next pod."""
    if kind.kind != "StatefulSet":
        return f"{name}-{PLACEHOLDER}"
    start = member(member(obj, "spec"), "ordinals").get("start")
    return f"{name}-{start if type(start) is int and 0 <= start <= INT32_MAX else 0}"


def ordinal_of(name: str, workload: str) -> int | None:
    """Return the ordinal of a StatefulSet's pod by its name; None for the pod of something else.

    >>> ordinal_of("web-10", "web"), ordinal_of("web-x", "web"), ordinal_of("web-01", "web")
    (10, None, None)
    """
    base, _, last = name.rpartition("-")
    is_number = last.isascii() and last.isdecimal() and (last == "0" or not last.startswith("0"))
    return int(last) if base == workload and is_number and len(last) <= MOST_DIGITS else None


def _added_labels(obj: Mapping[str, Any], kind: WorkloadKind, name: str) -> dict[str, str]:
    """Return the labels that a controller, or for Jobs the API server, puts on the pods of a kind."""
    if kind.revision_label is not None:
        return {kind.revision_label: PLACEHOLDER}
    match kind.group, kind.kind:
        case (("apps" | "apps.kruise.io"), "StatefulSet"):
            own = pod_name(obj, kind, name)
            return {
                REVISION_HASH: _label_value(f"{name}-{PLACEHOLDER}"),
                "statefulset.kubernetes.io/pod-name": _label_value(own),
                "apps.kubernetes.io/pod-index": own.rpartition("-")[2],
            }
        case (("apps" | "apps.kruise.io"), "DaemonSet"):
            return {REVISION_HASH: PLACEHOLDER}
        case "batch", "Job":
            uid = member(obj, "metadata").get("uid")
            return _job_labels(member(obj, "spec"), name, uid if isinstance(uid, str) else PLACEHOLDER_UID)
        case "batch", "CronJob":
            job = member(member(obj, "spec"), "jobTemplate")
            return _job_labels(member(job, "spec"), f"{name}-{PLACEHOLDER}", PLACEHOLDER_UID)
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

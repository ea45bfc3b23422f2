"""A field of a pod or its constraints that this release of Kubernetes drops.

## What it finds
`minDomains` before Kubernetes 1.27, `nodeAffinityPolicy` and `nodeTaintsPolicy` before 1.26,
`matchLabelKeys` before 1.27, if they differ from what that release does without them. Of pods
`schedulingGates` before 1.27, `restartPolicy` of init containers before 1.29, `matchLabelKeys` and
`mismatchLabelKeys` of pod affinity before 1.31, `resources` before 1.34 and `image` of volumes before 1.35;
in a Pod with a status, what resizes write there before 1.33. The release is that of `--kubernetes-version`,
the LintConfig or the live cluster; feature gates count with their defaults.

## Why it matters
The API server silently drops a field whose feature gate is off. The constraint then does something other
than what is written: it counts other nodes, other pods, or fewer domains; and the pod needs other nodes, or
never starts. Everything else evaluates the pod without the field, as that release does.

## Fails
```yaml
# Kubernetes 1.24
whenUnsatisfiable: DoNotSchedule
nodeTaintsPolicy: Honor
```

## Passes
```yaml
# Kubernetes 1.27
whenUnsatisfiable: DoNotSchedule
nodeTaintsPolicy: Honor
```

## How to fix
Upgrade the cluster, or write the manifest for what the release does without the field. If the message
names a release that is not yours, set `--kubernetes-version`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.manifests.fields import ErrorList, FieldPath
from policies.manifests.findings import Severity
from policies.manifests.scalars import has_placeholder
from policies.model.api_rules import ApiRule
from policies.model.workload import Workload
from policies.rules.base import Context, Problem
from policies.scheduler.release_changes import Behavior
from policies.scheduler.releases import LateField, dropped_fields, dropped_of_pod, field_since

ID = "field-not-in-release"
SEVERITY = Severity.WARNING
SEE = "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/"

#: What a release does that drops a field.
INSTEAD: Mapping[str, str] = {
    "minDomains": "domains that have no node yet are not counted",
    "nodeAffinityPolicy": "nodes outside the pod's node affinity are not counted",
    "nodeTaintsPolicy": "nodes with taints that the pod does not tolerate are counted",
    "matchLabelKeys": "pods with other values of these labels are counted too",
    LateField.SCHEDULING_GATES: "the pod is scheduled at once",
    LateField.SIDECARS: "the containers of the pod do not start before this one ends",
    LateField.MATCH_LABEL_KEYS: "pods with other values of these labels are selected too",
    LateField.MISMATCH_LABEL_KEYS: "pods with the same values of these labels are selected too",
    LateField.RESIZE_STATUS: "what the spec requests counts",
    LateField.POD_RESOURCES: "the sum of what its containers request counts",
    LateField.IMAGE_VOLUMES: "the volume has no source, and the pod is refused",
    LateField.POD_RESIZE_STATUS: "what the spec requests counts",
}


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each field with an effect that the release drops."""
    release = workload.release
    if not release.dropped and not release.drops_of_pods:
        return
    behavior, pod = context.behavior, workload.pod_path
    found = [*_of_constraints(workload, behavior)] if release.dropped else []
    status = workload.obj.get("status") if workload.kind.is_pod else None
    found += dropped_of_pod(workload.template.spec, pod.child("spec"), behavior, status)
    for name, path in found:
        text = (
            f"Kubernetes {context.version} drops this field, which takes effect from {field_since(name)} on"
        )
        yield Problem(path, f"{text}: {INSTEAD[name]}")


def _of_constraints(workload: Workload, behavior: Behavior) -> Iterator[tuple[str, FieldPath]]:
    """Yield the fields of constraints as they are written, whatever else is wrong with these."""
    told = {error.path for error in workload.errors}
    if any(error.rule == ApiRule.TOO_LARGE_TO_CHECK for error in workload.errors):
        return
    for where, entry in ErrorList().objects(workload.template.constraints, workload.kind.constraints_path):
        for name in dropped_fields(entry, behavior):
            if where.child(name) not in told and not has_placeholder(entry[name]):
                yield name, where.child(name)

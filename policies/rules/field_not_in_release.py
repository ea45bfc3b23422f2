"""A field of a constraint that this release of Kubernetes drops.

## What it finds
`minDomains` before Kubernetes 1.27, `nodeAffinityPolicy` and `nodeTaintsPolicy` before 1.26,
`matchLabelKeys` before 1.27, if they differ from what that release does without them. The release is that
of `--kubernetes-version`, the LintConfig or the live cluster; feature gates count with their defaults.

## Why it matters
The API server silently drops a field whose feature gate is off. The constraint then does something other
than what is written: it counts other nodes, other pods, or fewer domains. All other rules evaluate the
constraint without the field, as that release does.

## Fails
```yaml
# Kubernetes 1.24
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
          nodeTaintsPolicy: Honor
      containers: [{name: web, image: web}]
```

## Passes
```yaml
# Kubernetes 1.27
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
          nodeTaintsPolicy: Honor
      containers: [{name: web, image: web}]
```

## How to fix
Upgrade the cluster, or write the constraint for what the release does without the field. If the message
names a release that is not yours, set `--kubernetes-version`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.cel.check import NoCel
from policies.manifests.findings import Severity
from policies.model.workload import Workload
from policies.rules.base import Context, Problem
from policies.scheduler.releases import dropped_fields, field_since

SEVERITY = Severity.WARNING
SEE = "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/"
CEL = NoCel("finds nothing: every release with these policies has all fields of constraints")

#: What a release does that drops a field.
INSTEAD: Mapping[str, str] = {
    "minDomains": "domains that have no node yet are not counted",
    "nodeAffinityPolicy": "nodes outside the pod's node affinity are not counted",
    "nodeTaintsPolicy": "nodes with taints that the pod does not tolerate are counted",
    "matchLabelKeys": "pods with other values of these labels are counted too",
}


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each field with an effect that the release drops."""
    if not workload.release.dropped:
        return
    for declared in workload.constraints:
        for name in dropped_fields(declared.raw, context.behavior):
            yield Problem(
                declared.path.child(name),
                f"Kubernetes {context.version} drops this field, which takes effect from "
                f"{field_since(name)} on: {INSTEAD[name]}",
            )

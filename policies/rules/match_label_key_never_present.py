"""A key in `matchLabelKeys` that no pod of this workload will have.

## What it finds
A key by which controllers distinguish revisions, on a kind whose controller does not write it: for example
`pod-template-hash` on anything but a Deployment. Also any other keys, if the template has none of those
listed. Nothing is reported where another listed key distinguishes the revisions of this kind, nor for pods
and custom resources whose labels are not known, nor of a Deployment whose template an Argo Rollout uses
(`workloadRef`).

## Why it matters
Keys that a pod lacks are ignored. The pods of all revisions count together, and the skew that rolling
updates leave behind stays, which is what the key was to prevent.

## Fails
```yaml
kind: StatefulSet
spec:
  template:
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
```
```yaml
matchLabelKeys: [tier]
```

## Passes
```yaml
matchLabelKeys: [pod-template-hash]
```
```yaml
kind: StatefulSet
spec:
  template:
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash, controller-revision-hash]
```

## How to fix
Use the key of the kind: `pod-template-hash` for Deployments, `rollouts-pod-template-hash` for Argo Rollouts,
`controller-revision-hash` for StatefulSets and DaemonSets. Or leave the field out: Jobs have no revisions,
and for a StatefulSet whose volumes tie its pods to zones, counting each revision alone can leave its
pods without any zone that they may go to.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from policies.manifests.findings import Severity
from policies.model.controller_labels import KNOWN_GROUPS, REVISION_HASH, controller_labels
from policies.model.workload import ConstraintEntry, Workload, WorkloadPart
from policies.model.workload_kinds import REVISION_OWNERS
from policies.rules.base import Context, Problem

ID = "match-label-key-never-present"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kubernetes/issues/47554"
NEEDS = frozenset({WorkloadPart.MATCH_LABEL_KEYS})

#: The labels by which controllers distinguish the revisions of a workload.
REVISION_KEYS = frozenset({*REVISION_OWNERS, REVISION_HASH})
#: The kinds whose pods have labels of other origin: of whatever owns the pod, or makes use of the template.
UNKNOWN_KINDS = frozenset({"Pod", "PodTemplate"})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each match label key that no pod will have."""
    if workload.kind.group not in KNOWN_GROUPS or workload.kind.kind in UNKNOWN_KINDS:
        return
    for declared in workload.constraints:
        keys = declared.constraint.match_label_keys
        if all(key in workload.template.labels or key == workload.kind.revision_label for key in keys):
            continue
        if workload.is_patch or context.repository.lends_template(workload):
            return
        added = controller_labels(workload).keys()
        yield from _problems(workload, declared, workload.template.labels.keys() | added)


def _problems(workload: Workload, declared: ConstraintEntry, present: AbstractSet[str]) -> Iterator[Problem]:
    keys = declared.constraint.match_label_keys
    kind = workload.kind.kind
    own = sorted(present & REVISION_KEYS)
    tells_revisions_apart = not present.isdisjoint(REVISION_KEYS.intersection(keys))
    tells_anything_apart = not present.isdisjoint(keys)
    for position, key in enumerate(keys):
        if key in present:
            continue
        path = declared.path.child("matchLabelKeys").index(position)
        if key in REVISION_KEYS and not tells_revisions_apart:
            advice = f"use {own[0]}" if own else "it has no revision label"
            yield Problem(path, f"{key} is ignored: pods of a {kind} have no such label; {advice}")
        elif key not in REVISION_KEYS and not tells_anything_apart:
            yield Problem(path, f"{key} is ignored: the pod template has no such label")

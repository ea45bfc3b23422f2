"""A constraint that selects a value which a controller generates.

## What it finds
A `labelSelector` that requires a certain value of a label which the controller of this kind of workload
generates: `pod-template-hash` of a Deployment, `rollouts-pod-template-hash` of a Rollout,
`controller-revision-hash` of a StatefulSet or DaemonSet, the name or index of one pod of several, the
labels of one run of a Job.

## Why it matters
The value belongs to one revision, run or pod. Pods of the next one have another value, are not selected,
and are placed as if there were no constraint.

## Fails
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web, pod-template-hash: 6d4cf56db6}}
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
          labelSelector: {matchLabels: {app: web, apps.kubernetes.io/pod-index: "0"}}
```

## Passes
```yaml
labelSelector: {matchLabels: {app: web}}
matchLabelKeys: [pod-template-hash]
```

## How to fix
Remove the label from the selector. To count the pods of one revision only, list its key in
`matchLabelKeys`: the scheduler then takes the value from each pod.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.controller_labels import controller_labels
from policies.model.labels import LabelSelector, Operator
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import AtAdmission, Context, Problem

ID = "selector-names-revision-label"
SEVERITY = Severity.ERROR
SEE = "https://github.com/fluxcd/flagger/issues/801"
AT_ADMISSION = AtAdmission.DENY
NEEDS = frozenset({WorkloadPart.SELECTOR})

#: The labels by which the pods of one workload differ.
POD_LABELS = frozenset(
    {
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
    }
)


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each constraint whose selector requires a value that the controller generates."""
    made = controller_labels(workload)
    for declared in workload.constraints:
        selector = declared.constraint.selector
        if selector is None or selector.empty:
            continue
        for key, values in _pinned(selector):
            # A Job's name is the same on all its pods, and known.
            if key not in made or (made[key] in values and key not in POD_LABELS):
                continue
            wanted = f"{key}={values[0]}" if len(values) == 1 else f"{key} in ({','.join(values)})"
            path = declared.path.child("labelSelector")
            if key not in POD_LABELS:
                text = f"requires {wanted}, which the controller generates: it will not match future pods"
                yield Problem(path, text)
            elif len(values) < _pods(workload, context):
                pods = _pods(workload, context)
                yield Problem(path, f"requires {wanted}: it selects at most {len(values)} of {pods} pods")


def _pinned(selector: LabelSelector) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the keys of which a selector wants certain values, and these."""
    for key, value in selector.match_labels:
        yield key, (value,)
    for entry in selector.match_expressions:
        if entry.operator is Operator.IN:
            yield entry.key, entry.values


def _pods(workload: Workload, context: Context) -> int:
    """Return how many pods with different labels a workload has; 0 where that is not known."""
    replicas = context.repository.replicas(workload)
    if replicas is not None:
        return replicas.most
    spec = workload.obj.get("spec")
    completions = spec.get("completions") if isinstance(spec, dict) else None
    return completions if type(completions) is int else 0

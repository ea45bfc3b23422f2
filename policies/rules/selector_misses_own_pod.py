"""A constraint whose selector does not match the pod that carries it.

## What it finds
An entry of `topologySpreadConstraints` whose `labelSelector` does not select the labels of its own pod
template, together with those that the workload's controller adds.

## Why it matters
The scheduler counts the pods that the selector selects. A pod outside its own selector adds to no count, so
every replica may land in one zone without an error: the constraint does nothing for this workload.

## Fails
```yaml
labelSelector: {matchLabels: {app: api}}
matchLabelKeys: [pod-template-hash]
```

## Passes
```yaml
labelSelector: {matchLabels: {app: web}}
matchLabelKeys: [pod-template-hash]
```
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchExpressions:
        - {key: app, operator: In, values: [web]}
        - {key: pod-template-hash, operator: Exists}
```

## How to fix
Select labels of the pod template, preferably those of the workload's own selector. `evenkeel lint --fix`
writes that selector, unless the constraint selects the pods of another workload: that may be intended.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.controller_labels import own_mismatch, own_selector_edits
from policies.model.neighbors import named, titles
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem

ID = "selector-misses-own-pod"
SEVERITY = Severity.ERROR
SEE = "https://github.com/Dynatrace/dynatrace-operator/pull/1900"
FIXABLE = True
NEEDS = frozenset({WorkloadPart.SELECTOR})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each constraint whose selector misses the pod."""
    for declared in workload.constraints:
        selector = declared.constraint.selector
        if selector is None or selector.empty or not (mismatch := own_mismatch(selector, workload)):
            continue
        if workload.is_patch:
            return
        others = context.repository.others(workload, selector)
        also = f"; it selects {named(titles(others))}" if others else ""
        yield Problem(
            declared.path.child("labelSelector"),
            f"does not select this workload's pods: {mismatch}{also}",
            () if others else own_selector_edits(workload, declared),
        )

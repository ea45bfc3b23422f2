"""A constraint whose selector does not match the pod that carries it.

## What it finds
An entry of `topologySpreadConstraints` whose `labelSelector` does not select the labels of its own pod
template, together with those that the workload's controller adds.

## Why it matters
The scheduler counts the pods that the selector selects. A pod outside its own selector adds to no count, so
every replica may land in one zone and nothing objects: the constraint is there, and does nothing for this
workload.

## Fails
```yaml
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
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: api}}
          matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: web}]
```

## Passes
```yaml
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
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: web}]
```
```yaml
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
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchExpressions:
              - {key: app, operator: In, values: [web]}
              - {key: pod-template-hash, operator: Exists}
      containers: [{name: web, image: web}]
```

## How to fix
Select labels that the template itself has, best those of the workload's own selector if it has one. `evenkeel
fix` writes that selector, unless the constraint selects the pods of another workload: then somebody may have
meant it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.fields import ErrorList
from policies.findings import Severity
from policies.model.declared import Workload, titles
from policies.model.labels import LabelSelector, Operator
from policies.model.neighbors import named
from policies.model.next_pod import controller_labels
from policies.model.own_selector import is_patch, own_selector_edits
from policies.model.workload import descend
from policies.rules.base import Context, Problem

SEVERITY = Severity.ERROR
SEE = "https://github.com/Dynatrace/dynatrace-operator/pull/1900"
FIXABLE = True

#: The groups whose controllers are known to add no labels but those of ``controller_labels``.
KNOWN_GROUPS = frozenset({"", "apps", "batch", "argoproj.io"})
#: Where a Rollout keeps the labels that its pods have for a while: ``spec.strategy``, Argo Rollouts 1.8.
PASSING_LABELS = (
    ("canary", "canaryMetadata"),
    ("canary", "stableMetadata"),
    ("blueGreen", "activeMetadata"),
    ("blueGreen", "previewMetadata"),
)


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each constraint whose selector misses the pod."""
    for declared in workload.constraints:
        selector = declared.constraint.selector
        if selector is None or selector.empty or _surely_matches(selector, workload.labels):
            continue
        if is_patch(workload):
            return
        added = controller_labels(workload.obj, workload.kind)
        judged = _judged(selector, workload, added)
        labels = {**added, **workload.labels}
        if judged.matches(labels):
            continue
        # It may be meant so.
        others = context.repository.others(workload, selector)
        also = f"; it selects {named(titles(others))}" if others else ""
        yield Problem(
            declared.path.child("labelSelector"),
            f"does not select this pod: {judged.mismatch(labels)}{also}",
            () if others else own_selector_edits(workload, declared),
        )


def _surely_matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Tell whether a selector matches whatever labels are added: without looking at what that would be."""
    return not selector.match_expressions and selector.matches(labels)


def _judged(selector: LabelSelector, workload: Workload, added: Mapping[str, str]) -> LabelSelector:
    """Return the part of a selector that can be judged before there is a pod.

    What it asks of a value that the controller makes is left out (``selector-names-revision-label``), and of
    kinds that are not known well enough all labels that the template lacks.
    """
    open_keys = _passing_keys(workload)
    if workload.kind.group not in KNOWN_GROUPS or workload.kind.kind == "PodTemplate":
        open_keys |= selector.keys - workload.labels.keys()
    made = (added.keys() - workload.labels.keys()) | open_keys
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

"""A hard constraint whose `maxSkew` no number of this workload's pods can exceed.

## What it finds
A `DoNotSchedule` constraint that selects the workload's own pods only, with a `maxSkew` of at least as many
pods as there can be at once: the replicas, or the maximum that an autoscaler of the same repository may
make of them, and those that a rolling update makes besides unless `matchLabelKeys` sets them apart.
Workloads of one replica are left alone.

## Why it matters
The difference between two domains is never larger than the number of all pods. All of them may share one
node or one zone, and the constraint never objects.

## Fails
```yaml
maxSkew: 5
whenUnsatisfiable: DoNotSchedule
```

## Passes
```yaml
maxSkew: 2
whenUnsatisfiable: DoNotSchedule
```
```yaml
maxSkew: 5
whenUnsatisfiable: DoNotSchedule
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 3, maxReplicas: 12, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
```

## How to fix
Write how uneven the spread may be: `maxSkew: 1` in most cases. `maxSkew` is a difference between domains,
not the number of pods that one may hold.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.manifests.words import more
from policies.model.labels import LabelSelector
from policies.model.scaling import rolling_update
from policies.model.workload import ConstraintEntry, Workload, WorkloadPart
from policies.rules.base import AtAdmission, Context, Problem

ID = "max-skew-never-binds"
SEVERITY = Severity.WARNING
SEE = "https://github.com/FoundationDB/fdb-kubernetes-operator/issues/896"
AT_ADMISSION = AtAdmission.SKIP
NEEDS = frozenset({WorkloadPart.HARD})

#: The kinds that make no pod before an old one has gone.
WITHOUT_SURGE = frozenset({("apps", "StatefulSet"), ("apps", "ReplicaSet"), ("", "ReplicationController")})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each hard constraint that has more maxSkew than there are pods."""
    replicas = context.repository.replicas(workload)
    if replicas is None or replicas.most <= 1:
        return
    for declared in workload.constraints:
        if not declared.is_hard or declared.constraint.max_skew < replicas.most:
            continue
        if not _selects_own_pods_only(workload, declared):
            continue
        surge = 0 if _is_by_revision(workload, declared) else _surge(workload, replicas.most)
        pods, max_skew = replicas.most + surge, declared.constraint.max_skew
        if max_skew < pods:
            continue
        besides = f" ({replicas.most} {more(surge)} during an update)" if surge else ""
        text = (
            f"is {max_skew}, but there are at most {pods} pods{besides}{replicas.evidence}: all may run in "
            "one domain"
        )
        yield Problem(declared.path.child("maxSkew"), text)


def _selects_own_pods_only(workload: Workload, declared: ConstraintEntry) -> bool:
    """Return whether a constraint's selector is the workload's own, or narrower, and selects its pods.

    No two workloads of a namespace may have the same selector, so nothing else is selected then.
    """
    selector, own = declared.constraint.selector, workload.selector
    if selector is None or own is None or own.empty or not selector.matches(workload.template.labels):
        return False
    return _is_as_narrow(selector, own)


def _is_as_narrow(selector: LabelSelector, own: LabelSelector) -> bool:
    return set(own.match_labels) <= set(selector.match_labels) and set(own.match_expressions) <= set(
        selector.match_expressions
    )


def _is_by_revision(workload: Workload, declared: ConstraintEntry) -> bool:
    return workload.kind.revision_label in declared.constraint.match_label_keys


def _surge(workload: Workload, replicas: int) -> int:
    """Return how many pods an update makes besides the replicas, at most."""
    kind = (workload.kind.group, workload.kind.kind)
    if kind in WITHOUT_SURGE:
        return 0
    if kind != ("apps", "Deployment"):
        return replicas  # Of other kinds no more is known.
    update = rolling_update(workload, replicas)
    return 0 if update is None else update.surge

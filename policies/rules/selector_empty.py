"""A constraint whose `labelSelector` is `{}`.

## What it finds
An entry of `topologySpreadConstraints` with an empty selector that no key of `matchLabelKeys` narrows for
this workload's pods. The message says what it does in the release (`--kubernetes-version`).

## Why it matters
What `{}` means depends on the release. Up to 1.26 and from 1.38 on it counts every pod of the namespace.
From 1.27 to 1.37 the scheduler counts none, so the constraint does nothing; and after the upgrade that
makes it count again, pods that used to start may stay pending.

## Fails
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {}
```

## Passes
```yaml
labelSelector: {matchLabels: {app: web}}
matchLabelKeys: [pod-template-hash]
```
```yaml
labelSelector: {}
matchLabelKeys: [app]
```

## How to fix
Select the workload's own pods. If the pods of several workloads should count together, give them a label
in common and select that.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.controller_labels import controller_labels
from policies.model.version import KubernetesVersion
from policies.model.workload import ConstraintEntry, Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.release_changes import CHANGES, Behavior

ID = "selector-empty"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kubernetes/issues/141339"
NEEDS = frozenset({WorkloadPart.EMPTY_SELECTOR})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each constraint with an empty selector, and what the release makes of it."""
    for declared in workload.constraints:
        selector = declared.constraint.selector
        if selector is None or not selector.empty:
            continue
        behavior = context.behavior
        if not (behavior.match_label_keys and _is_narrowed(workload, declared)):
            path = declared.path.child("labelSelector")
            yield Problem(path, effect(behavior, context.version, is_hard=declared.is_hard))


def _is_narrowed(workload: Workload, declared: ConstraintEntry) -> bool:
    """Return whether a key of ``matchLabelKeys`` replaces the selector."""
    keys = declared.constraint.match_label_keys
    if not keys:
        return False
    return not workload.template.labels.keys().isdisjoint(keys) or not controller_labels(
        workload
    ).keys().isdisjoint(keys)


def effect(behavior: Behavior, version: KubernetesVersion, *, is_hard: bool) -> str:
    """Return the effect of an empty selector in a release, and from which release on it changes."""
    changes = [change for change in CHANGES if change.field == "empty_selector_counts"]
    following = next((change.since for change in changes if change.since > version), None)
    if behavior.empty_selector_counts:
        text = f"is empty: Kubernetes {version} counts every pod of the namespace, of any workload"
        return text if following is None else f"{text}; from {following} on it counts none"
    text = f"is empty: Kubernetes {version} counts no pods, so the constraint does nothing"
    if following is None:
        return text
    later = "and pods may stay pending" if is_hard else "of any workload"
    return f"{text}; from {following} on it counts every pod of the namespace, {later}"

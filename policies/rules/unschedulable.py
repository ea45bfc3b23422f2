"""A workload whose next pod would be unschedulable.

## What it finds
At admission, and only where the cluster is known: a Pod or workload whose next pod fits no node in the
current state of the cluster. Nothing is reported where pods may leave first, as in a rollout. It is not
checked, which a warning says, for pods whose scheduler has no known profile (`--scheduler-config`).
`evenkeel lint` does not run it; use `evenkeel explain` for a file.

## Why it matters
The pod would stay pending, and the user who applied the workload would notice much later, if at all. It is
a warning and never denies, since nodes may be added.

## Fails
```yaml
nodeSelector: {topology.kubernetes.io/zone: c}
---
apiVersion: v1
kind: Node
metadata: {name: one, labels: {topology.kubernetes.io/zone: a}}
status: {allocatable: {pods: "110"}}
```

## Passes
```yaml
nodeSelector: {topology.kubernetes.io/zone: a}
---
apiVersion: v1
kind: Node
metadata: {name: one, labels: {topology.kubernetes.io/zone: a}}
status: {allocatable: {pods: "110"}}
```

## How to fix
`kubectl evenkeel explain -f FILE --live` shows the smallest changes with which the pod would fit.
"""

from __future__ import annotations

from policies.manifests.findings import Severity
from policies.rules.base import RuleTarget

ID = "unschedulable"
SEVERITY = Severity.WARNING
SEE = "https://kubernetes.io/docs/tasks/debug/debug-application/debug-pods/#my-pod-stays-pending"
TARGET = RuleTarget.NEXT_POD
NEEDS_INVENTORY = True
NEEDS_PROFILE = True

"""A workload whose next pod fits on no node of the cluster.

## What it finds
At admission, and only where the cluster is known: a Pod or workload that is applied, the next pod of which no
node would take as the cluster stands. Nothing is said where pods may go before that, as in a rollout, or
where another scheduler decides. `evenkeel lint` does not run it: `evenkeel explain` says the same of a file.

## Why it matters
The pod would stay pending, and whoever applied the workload would read of it much later, if at all. It is a
warning and never denies: nodes may be added.

## Fails
```yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {topology.kubernetes.io/zone: c}
      containers: [{name: web, image: web}]
---
apiVersion: v1
kind: Node
metadata: {name: one, labels: {topology.kubernetes.io/zone: a}}
status: {allocatable: {pods: "110"}}
```

## Passes
```yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {topology.kubernetes.io/zone: a}
      containers: [{name: web, image: web}]
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
from policies.rules.base import Subject

SEVERITY = Severity.WARNING
SEE = "https://kubernetes.io/docs/tasks/debug/debug-application/debug-pods/#my-pod-stays-pending"
SUBJECT = Subject.NEXT_POD
NEEDS_INVENTORY = True

"""A field that the API does not have.

## What it finds
A name, in an entry of `topologySpreadConstraints` or in its selector, that Kubernetes 1.36 does not know. For
a newer release of Kubernetes nothing is told, since it may have brought the field.

## Why it matters
`kubectl` refuses the object, and whoever applies it without strict validation loses the field: the API
server drops it silently. A wrong indentation is the usual cause.

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
          labelSelector: {}
          matchLabels: {app: web}
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
        - maxskew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
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

## How to fix
Correct the spelling, or move the field to where it belongs.
"""

from __future__ import annotations

from policies.findings import Severity
from policies.model.api_rules import ApiRule
from policies.rules.base import api_check

SEVERITY = Severity.ERROR
SEE = "https://github.com/kubernetes/autoscaler/pull/4663"

check = api_check(ApiRule.UNKNOWN_FIELD)

"""A constraint with `minDomains` that is not `DoNotSchedule`.

## What it finds
An entry of `topologySpreadConstraints` that sets `minDomains` while its `whenUnsatisfiable` is something
else than `DoNotSchedule`.

## Why it matters
The API server rejects the object. `minDomains` says when a pod must wait for another domain to appear, and
a constraint that never keeps a pod waiting has no use for it.

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
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
          minDomains: 3
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
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
          minDomains: 3
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
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: web}]
```

## How to fix
Leave `minDomains` out, or write `DoNotSchedule` if pods should stay pending until there are so many
domains.
"""

from __future__ import annotations

from policies.cel.check import CelCheck, Over
from policies.manifests.findings import Severity
from policies.model.api_rules import ApiRule
from policies.rules.base import api_check

SEVERITY = Severity.ERROR
SEE = "https://github.com/kubernetes/kubernetes/pull/107674"
CEL = CelCheck(
    broken="constraint.hasMinDomains && constraint.whenUnsatisfiable != 'DoNotSchedule'",
    message=(
        "'.minDomains: Invalid value: ' + string(constraint.minDomains) "
        "+ ': can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ' "
        "+ constraint.whenUnsatisfiable"
    ),
    over=Over.CONSTRAINTS,
)

check = api_check(ApiRule.MIN_DOMAINS_WITH_SCHEDULE_ANYWAY)

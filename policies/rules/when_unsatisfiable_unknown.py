"""A constraint whose `whenUnsatisfiable` is missing or unknown.

## What it finds
An entry of `topologySpreadConstraints` whose `whenUnsatisfiable` is neither `DoNotSchedule` nor
`ScheduleAnyway`, in just this spelling.

## Why it matters
The API server rejects the object. There is no default: one value keeps pods pending, the other allows an
uneven spread.

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
          whenUnsatisfiable: scheduleAnyway
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
Write `ScheduleAnyway` to prefer an even spread, `DoNotSchedule` to insist on one and leave a pod pending
otherwise.
"""

from __future__ import annotations

from policies.cel.check import CelCheck, Over
from policies.manifests.findings import Severity
from policies.model.api_rules import ApiRule
from policies.rules.base import api_check

SEVERITY = Severity.ERROR
SEE = "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/"
CEL = CelCheck(
    broken="!(constraint.whenUnsatisfiable in ['DoNotSchedule', 'ScheduleAnyway'])",
    message=(
        "'.whenUnsatisfiable: Unsupported value: \"' + constraint.whenUnsatisfiable + "
        '\'": supported values: "DoNotSchedule", "ScheduleAnyway"\''
    ),
    over=Over.CONSTRAINTS,
)

check = api_check(ApiRule.WHEN_UNSATISFIABLE_UNKNOWN)

"""Two constraints with the same `topologyKey` and `whenUnsatisfiable`.

## What it finds
Entries of `topologySpreadConstraints` with the same `topologyKey` and `whenUnsatisfiable`. Each but the
last is reported.

## Why it matters
The API server rejects the object. This often happens when lists from the defaults of a chart and the values
of a team are merged.

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
        - maxSkew: 2
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
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: web}]
```

## How to fix
Keep one of them. To select by two conditions at once, write both into one `labelSelector`.
"""

from __future__ import annotations

from policies.cel.check import CelCheck, Over
from policies.manifests.findings import Severity
from policies.model.api_rules import ApiRule
from policies.rules.base import api_check

SEVERITY = Severity.ERROR
SEE = "https://github.com/kubernetes/website/pull/49962"
CEL = CelCheck(
    broken=(
        "workload.constraints.exists(other, other.index > constraint.index "
        "&& other.topologyKey == constraint.topologyKey "
        "&& other.whenUnsatisfiable == constraint.whenUnsatisfiable)"
    ),
    message=(
        "'.{topologyKey, whenUnsatisfiable}: Duplicate value: \"{' + constraint.topologyKey + ', ' "
        "+ constraint.whenUnsatisfiable + '}\"'"
    ),
    over=Over.CONSTRAINTS,
)

check = api_check(ApiRule.CONSTRAINT_REPEATED)

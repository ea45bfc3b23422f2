"""A constraint with `matchLabelKeys` but without a `labelSelector`.

## What it finds
An entry of `topologySpreadConstraints` that lists `matchLabelKeys` while its `labelSelector` is missing or
null.

## Why it matters
The API server rejects the object. The keys narrow a selector, and a constraint without a selector counts no
pods: there is nothing to narrow.

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
Select the labels of the workload's own selector, or for a Job, a CronJob or a Pod, which have none to copy, a
label of the template that no other pods have.
"""

from __future__ import annotations

from policies.cel.check import CelCheck, Over
from policies.manifests.findings import Severity
from policies.model.api_rules import ApiRule
from policies.rules.base import api_check

SEVERITY = Severity.ERROR
SEE = "https://github.com/kubernetes/kubernetes/issues/116535"
CEL = CelCheck(
    broken="!constraint.hasSelector && constraint.matchLabelKeys.size() > 0",
    message="'.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set'",
    over=Over.CONSTRAINTS,
)

check = api_check(ApiRule.MATCH_LABEL_KEYS_WITHOUT_SELECTOR)

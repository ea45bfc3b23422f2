"""A constraint without a `topologyKey`.

## What it finds
An entry of `topologySpreadConstraints` whose `topologyKey` is missing, null or empty.

## Why it matters
The API server rejects the object: without the key there are no domains. The usual cause is a template that
fills in a value which is not set.

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
          topologyKey: ""
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
Name a label that the nodes carry: `topology.kubernetes.io/zone` for zones, `kubernetes.io/hostname` for
nodes.
"""

from __future__ import annotations

from policies.cel.check import CelCheck, Over
from policies.manifests.findings import Severity
from policies.model.api_rules import ApiRule
from policies.rules.base import api_check

SEVERITY = Severity.ERROR
SEE = "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/"
CEL = CelCheck(
    broken="constraint.topologyKey == ''",
    message="'.topologyKey: Required value: can not be empty'",
    over=Over.CONSTRAINTS,
)

check = api_check(ApiRule.TOPOLOGY_KEY_MISSING)

"""A constraint whose node policy is neither `Honor` nor `Ignore`.

## What it finds
A `nodeAffinityPolicy` or `nodeTaintsPolicy` with another value than `Honor` and `Ignore`, in just this
spelling.

## Why it matters
The API server rejects the object. Early proposals of the fields used other words, such as `Respect`.

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
          nodeTaintsPolicy: Respect
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
          nodeTaintsPolicy: Honor
      containers: [{name: web, image: web}]
```

## How to fix
Write `Honor` to leave out nodes that the pod may not use, `Ignore` to count them all the same. Without the
fields, affinity is honored and taints are ignored.
"""

from __future__ import annotations

from policies.cel.check import CelCheck, Over
from policies.manifests.findings import Severity
from policies.model.api_rules import ApiRule
from policies.rules.base import api_check

SEVERITY = Severity.ERROR
SEE = "https://github.com/kubernetes/kubernetes/issues/106127"
CEL = CelCheck(
    broken=(
        "[constraint.nodeAffinityPolicy, constraint.nodeTaintsPolicy]"
        ".exists(policy, !(policy in ['Honor', 'Ignore']))"
    ),
    message=(
        "(constraint.nodeAffinityPolicy in ['Honor', 'Ignore'] "
        "? '.nodeTaintsPolicy: Unsupported value: \"' + constraint.nodeTaintsPolicy "
        ": '.nodeAffinityPolicy: Unsupported value: \"' + constraint.nodeAffinityPolicy) "
        '+ \'": supported values: "Honor", "Ignore"\''
    ),
    over=Over.CONSTRAINTS,
)

check = api_check(ApiRule.NODE_INCLUSION_POLICY_UNKNOWN)

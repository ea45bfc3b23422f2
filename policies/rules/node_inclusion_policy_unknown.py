"""A constraint whose node policy is neither `Honor` nor `Ignore`.

## What it finds
A `nodeAffinityPolicy` or `nodeTaintsPolicy` with another value than `Honor` and `Ignore`, in just this
spelling.

## Why it matters
The API server rejects the object. Early proposals of the fields used other words, such as `Respect`.

## Fails
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
    nodeTaintsPolicy: Respect
```

## Passes
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
    nodeTaintsPolicy: Honor
```

## How to fix
Write `Honor` to leave out nodes that the pod may not use, `Ignore` to count them all the same. Without the
fields, affinity is honored and taints are ignored.
"""

from __future__ import annotations

from policies.manifests.findings import Severity
from policies.model.api_rules import ApiRule
from policies.rules.base import api_check

SEVERITY = Severity.ERROR
SEE = "https://github.com/kubernetes/kubernetes/issues/106127"
NEEDS = frozenset({ApiRule.NODE_INCLUSION_POLICY_UNKNOWN})

check = api_check(ApiRule.NODE_INCLUSION_POLICY_UNKNOWN)

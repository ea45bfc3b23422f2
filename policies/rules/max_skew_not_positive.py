"""A constraint whose `maxSkew` is missing, zero or negative.

## What it finds
An entry of `topologySpreadConstraints` without `maxSkew`, or with one below 1.

## Why it matters
The API server rejects the object. With a skew of 0, no pod could be added once all domains hold equally
many, so 1 is the strictest there is.

## Fails
```yaml
maxSkew: 0
```
```yaml
topologySpreadConstraints:
  - topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

## Passes
```yaml
maxSkew: 1
```

## How to fix
Write `maxSkew: 1`, or how far apart the counts of two domains may be.
"""

from policies.model.api_rules import ApiRule

ID = ApiRule.MAX_SKEW_NOT_POSITIVE
SEE = "https://github.com/kubernetes/kubernetes/pull/77327"

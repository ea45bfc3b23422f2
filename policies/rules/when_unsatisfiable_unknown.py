"""A constraint whose `whenUnsatisfiable` is missing or unknown.

## What it finds
An entry of `topologySpreadConstraints` whose `whenUnsatisfiable` is neither `DoNotSchedule` nor
`ScheduleAnyway`, in just this spelling.

## Why it matters
The API server rejects the object. There is no default: one value keeps pods pending, the other allows an
uneven spread.

## Fails
```yaml
whenUnsatisfiable: scheduleAnyway
```
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

## Passes
```yaml
whenUnsatisfiable: ScheduleAnyway
```

## How to fix
Write `ScheduleAnyway` to prefer an even spread, `DoNotSchedule` to insist on one and leave a pod pending
otherwise.
"""

from policies.model.api_rules import ApiRule

ID = ApiRule.WHEN_UNSATISFIABLE_UNKNOWN
SEE = "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/"

"""Two constraints with the same `topologyKey` and `whenUnsatisfiable`.

## What it finds
Entries of `topologySpreadConstraints` with the same `topologyKey` and `whenUnsatisfiable`. Each but the
last is reported.

## Why it matters
The API server rejects the object. This often happens when lists from the defaults of a chart and the values
of a team are merged.

## Fails
```yaml
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
```

## Passes
```yaml
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
```

## How to fix
Keep one of them. To select by two conditions at once, write both into one `labelSelector`.
"""

from policies.model.api_rules import ApiRule

ID = ApiRule.CONSTRAINT_REPEATED
SEE = "https://github.com/kubernetes/website/pull/49962"

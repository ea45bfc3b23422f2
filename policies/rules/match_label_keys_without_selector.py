"""A constraint with `matchLabelKeys` but without a `labelSelector`.

## What it finds
An entry of `topologySpreadConstraints` that lists `matchLabelKeys` while its `labelSelector` is missing or
null.

## Why it matters
The API server rejects the object. The keys narrow a selector, and a constraint without a selector counts no
pods: there is nothing to narrow.

## Fails
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    matchLabelKeys: [pod-template-hash]
```

## Passes
```yaml
labelSelector: {matchLabels: {app: web}}
```

## How to fix
Select the labels of the workload's own selector, or for a Job, a CronJob or a Pod, which have none to copy, a
label of the template that no other pods have.
"""

from policies.model.api_rules import ApiRule

ID = ApiRule.MATCH_LABEL_KEYS_WITHOUT_SELECTOR
SEE = "https://github.com/kubernetes/kubernetes/issues/116535"

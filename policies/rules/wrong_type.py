"""A value whose type is not that of its field.

## What it finds
A value, in `topologySpreadConstraints` or in what rules read around them (labels, metadata, replicas,
selector, node affinity, tolerations), whose type is not the field's: text for a number, an object for a
list, a number beyond what the API can hold; or a workload with an empty `spec`. The rest of the object is
still checked: a quoted number counts as that number, and an unreadable selector is taken as correct.

## Why it matters
The API server cannot read the object and rejects it. In a chart the cause is mostly a quoted number, a
label value such as `true` without quotes, or a list that a default has as `{}`.

## Fails
```yaml
maxSkew: "1"
```
```yaml
spec: {template: {metadata: {labels: {canary: true}}}}
```

## Passes
```yaml
maxSkew: 1
```
```yaml
spec: {template: {metadata: {labels: {canary: "true"}}}}
```

## How to fix
Write numbers without quotes, label values that look like numbers or booleans with them, and lists and
objects as such. Give a workload the `spec` of its pods.
"""

from policies.model.api_rules import ApiRule

ID = ApiRule.WRONG_TYPE
SEE = "https://github.com/open-telemetry/opentelemetry-helm-charts/issues/746"

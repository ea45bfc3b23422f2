"""A constraint whose `labelSelector` is not valid.

## What it finds
A `labelSelector` with a key or value that labels cannot have, an operator that there is not, `In` or
`NotIn` without values, or `Exists` or `DoesNotExist` with some.

## Why it matters
The API server rejects the object. Older releases accepted such selectors, and then no pod with one could be
scheduled.

## Fails
```yaml
labelSelector: {matchExpressions: [{key: app, operator: In}]}
```
```yaml
labelSelector: {matchLabels: {app: my web}}
```

## Passes
```yaml
labelSelector: {matchLabels: {app: web}}
```
```yaml
labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}
```

## How to fix
Write labels of the pod's template below `matchLabels`, which is enough nearly always.
"""

from policies.model.api_rules import ApiRule

ID = ApiRule.LABEL_SELECTOR_INVALID
SEE = "https://github.com/kubernetes/kubernetes/pull/111802"

"""A constraint whose `minDomains` is zero or negative.

## What it finds
An entry of `topologySpreadConstraints` with a `minDomains` below 1.

## Why it matters
The API server rejects the object. 1 is what an absent `minDomains` means.

## Fails
```yaml
whenUnsatisfiable: DoNotSchedule
minDomains: 0
```

## Passes
```yaml
whenUnsatisfiable: DoNotSchedule
minDomains: 3
```

## How to fix
Write the number of domains below which a pod should rather wait, or leave the field out.
"""

from policies.model.api_rules import ApiRule

ID = ApiRule.MIN_DOMAINS_NOT_POSITIVE
SEE = "https://github.com/kubernetes/enhancements/pull/3030"

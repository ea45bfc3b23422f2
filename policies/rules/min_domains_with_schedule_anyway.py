"""A constraint with `minDomains` that is not `DoNotSchedule`.

## What it finds
An entry of `topologySpreadConstraints` that sets `minDomains` while its `whenUnsatisfiable` is something
else than `DoNotSchedule`.

## Why it matters
The API server rejects the object. `minDomains` says when a pod must wait for another domain to appear, and
a constraint that never keeps a pod waiting has no use for it.

## Fails
```yaml
whenUnsatisfiable: ScheduleAnyway
minDomains: 3
```

## Passes
```yaml
whenUnsatisfiable: DoNotSchedule
minDomains: 3
```
```yaml
whenUnsatisfiable: ScheduleAnyway
```

## How to fix
Leave `minDomains` out, or write `DoNotSchedule` if pods should stay pending until there are so many
domains.
"""

from policies.model.api_rules import ApiRule

ID = ApiRule.MIN_DOMAINS_WITH_SCHEDULE_ANYWAY
SEE = "https://github.com/kubernetes/kubernetes/pull/107674"

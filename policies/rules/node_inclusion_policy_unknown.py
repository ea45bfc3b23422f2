"""A constraint whose node policy is neither `Honor` nor `Ignore`.

## What it finds
A `nodeAffinityPolicy` or `nodeTaintsPolicy` with another value than `Honor` and `Ignore`, in just this
spelling.

## Why it matters
The API server rejects the object. Early proposals of the fields used other words, such as `Respect`.

## Fails
```yaml
nodeTaintsPolicy: Respect
```

## Passes
```yaml
nodeTaintsPolicy: Honor
```

## How to fix
Write `Honor` to leave out nodes that the pod may not use, `Ignore` to count them all the same. Without the
fields, affinity is honored and taints are ignored.
"""

from policies.model.api_rules import ApiRule

ID = ApiRule.NODE_INCLUSION_POLICY_UNKNOWN
SEE = "https://github.com/kubernetes/kubernetes/issues/106127"

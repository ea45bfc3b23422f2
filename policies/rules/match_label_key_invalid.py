"""An entry of `matchLabelKeys` that is not a label key.

## What it finds
An entry of `matchLabelKeys` that cannot be the key of a label: empty, too long, or with characters that
keys do not have.

## Why it matters
The API server rejects the object. A common mistake is a whole `key=value`; the value is always that of the
incoming pod.

## Fails
```yaml
matchLabelKeys: ["tier=front"]
```

## Passes
```yaml
matchLabelKeys: [pod-template-hash, tier]
```

## How to fix
List keys alone, such as `pod-template-hash`.
"""

from policies.model.api_rules import ApiRule

ID = ApiRule.MATCH_LABEL_KEY_INVALID
SEE = "https://github.com/kubernetes/enhancements/issues/3243"

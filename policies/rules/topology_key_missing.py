"""A constraint without a `topologyKey`.

## What it finds
An entry of `topologySpreadConstraints` whose `topologyKey` is missing, null or empty.

## Why it matters
The API server rejects the object: without the key there are no domains. The usual cause is a template that
fills in a value which is not set.

## Fails
```yaml
topologyKey: ""
```

## Passes
```yaml
topologyKey: topology.kubernetes.io/zone
```

## How to fix
Name a label that the nodes carry: `topology.kubernetes.io/zone` for zones, `kubernetes.io/hostname` for
nodes.
"""

from policies.model.api_rules import ApiRule

ID = ApiRule.TOPOLOGY_KEY_MISSING
SEE = "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/"

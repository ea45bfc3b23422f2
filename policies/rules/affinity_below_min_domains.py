"""A node affinity that leaves fewer domains than the constraint's `minDomains`.

## What it finds
A `DoNotSchedule` constraint with `minDomains` on a pod whose `nodeSelector` or required node affinity lists
fewer values of the topology key than `minDomains`, if there are more replicas than then fit.

## Why it matters
Domains outside the affinity do not count, so there are never enough domains: the global minimum is 0 and
every domain takes at most `maxSkew` pods. Adding nodes does not change this.

## Fails
```yaml
nodeSelector: {topology.kubernetes.io/zone: zone-a}
topologySpreadConstraints:
  - maxSkew: 1
    minDomains: 3
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

## Passes
```yaml
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions:
            - {key: topology.kubernetes.io/zone, operator: In, values: [zone-a, zone-b, zone-c]}
topologySpreadConstraints:
  - maxSkew: 1
    minDomains: 3
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

## How to fix
Lower `minDomains` to the number of values that the affinity allows, or allow more of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.manifests.words import IN_PHRASE, listed
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.workload_topology import counts_only_its_own

ID = "affinity-below-min-domains"
SEVERITY = Severity.ERROR
SEE = "https://github.com/MaterializeInc/materialize/pull/36516"
NEEDS = frozenset({WorkloadPart.MIN_DOMAINS})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each hard constraint whose affinity leaves too few domains."""
    replicas = context.repository.replicas(workload)
    asking = [entry for entry in workload.constraints if entry.is_hard and entry.constraint.min_domains > 1]
    if replicas is None or not asking:
        return
    for declared in asking:
        constraint = declared.constraint
        values = workload.affinity.values_of(constraint.topology_key)
        if values is None or not values or len(values) >= constraint.min_domains:
            continue
        room = constraint.max_skew * len(values)
        if replicas.least > room and counts_only_its_own(workload, declared, context.repository):
            yield Problem(
                declared.path.child("minDomains"),
                f"is {constraint.min_domains}, but node affinity allows {len(values)} domain(s) of "
                f"{constraint.topology_key} ({listed(sorted(values), IN_PHRASE)}), so the global minimum is "
                f"0: with maxSkew {constraint.max_skew} at most {room} of {replicas.least} replicas"
                f"{replicas.evidence} can run",
            )

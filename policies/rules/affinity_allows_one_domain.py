"""A constraint over a label of which the pod's node affinity allows one value.

## What it finds
A constraint whose `topologyKey` is a label that the pod's `nodeSelector` or required node affinity holds to
one value. A hard constraint with a larger `minDomains` is reported by `affinity-below-min-domains`.

## Why it matters
All pods go to that one domain and fail together with it; the constraint protects nothing. With
`nodeAffinityPolicy: Ignore` the other domains count as well, though no pod may go there: a hard constraint
then keeps all pods but `maxSkew` pending.

## Fails
```yaml
nodeSelector: {topology.kubernetes.io/zone: zone-a}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

## Passes
```yaml
nodeSelector: {topology.kubernetes.io/zone: zone-a}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

## How to fix
Spread over a label with several values in that domain, such as `kubernetes.io/hostname`, or allow the pod
nodes in other domains.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem

ID = "affinity-allows-one-domain"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kubernetes/issues/93565"
NEEDS = frozenset({WorkloadPart.NODE_AFFINITY})


def check(workload: Workload, context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Yield each constraint over a label that node affinity holds to one value."""
    for declared in workload.constraints:
        constraint = declared.constraint
        if declared.is_hard and constraint.min_domains > 1:
            continue
        values = workload.affinity.values_of(constraint.topology_key)
        if values is not None and len(values) == 1:
            yield Problem(
                declared.path.child("topologyKey"),
                f"has one domain that node affinity allows, {next(iter(values))}: there is nothing to spread "
                "over",
            )

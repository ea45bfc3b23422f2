"""An autoscaled workload that may shrink below the number of domains that it requires.

## What it finds
A `DoNotSchedule` constraint with `minDomains` of a workload whose HorizontalPodAutoscaler may go down to
fewer replicas than that, though the cluster has the domains for its pods. With the node groups of an
autoscaler (`lint --autoscale`) the least replicas are placed, and the domains in which nodes may come count.

## Why it matters
With `minDomains: 3`, losing one zone should leave two thirds of the pods. With `minReplicas: 2` there are
two pods at night, at least one zone has none, and the loss of one zone may take half of what runs.

## Fails
```yaml
# Nodes: a-1 in zone a, b-1 in zone b, c-1 in zone c
minDomains: 3
whenUnsatisfiable: DoNotSchedule
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 2, maxReplicas: 12, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
```

## Passes
```yaml
# Nodes: a-1 in zone a, b-1 in zone b, c-1 in zone c
minDomains: 3
whenUnsatisfiable: DoNotSchedule
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 3, maxReplicas: 12, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
```

## How to fix
Raise `minReplicas` to `minDomains`, or lower `minDomains` to what `minReplicas` can fill.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.manifests.words import IN_PHRASE, listed
from policies.model.scaling import AS_IT_IS, Autoscaler, outcomes
from policies.model.workload import ConstraintEntry, Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.workload_topology import WorkloadTopology

ID = "fewer-replicas-than-domains"
SEVERITY = Severity.NOTE
SEE = "https://github.com/aws-samples/appmod-blueprints/issues/892"
NEEDS_INVENTORY = True
DECIDABLE = True
NEEDS = frozenset({WorkloadPart.MIN_DOMAINS})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each constraint that requires more domains than the autoscaler leaves replicas."""
    scaler = context.repository.autoscaler(workload)
    if scaler is None or scaler.least < 1:
        return
    for declared in workload.constraints:
        constraint = declared.constraint
        if not declared.is_hard or constraint.min_domains <= scaler.least:
            continue
        decided = _decided(workload, declared, scaler, context)
        if decided is not None:
            yield from decided
            continue
        if context.inventory is None:
            continue
        topology = WorkloadTopology.of(workload, context.inventory, context.version)
        written = context.inventory.domains.get(constraint.topology_key, ())
        domains, _ = topology.known_values(constraint, written)
        wanted = min(constraint.min_domains, len(domains))
        if scaler.least >= wanted:
            continue
        text = (
            f"is {constraint.min_domains}, but {scaler.named(workload)} may scale down to {scaler.least} "
            f"replicas: then at least {wanted - scaler.least} of {len(domains)} domains of "
            f"{constraint.topology_key} have no pod"
        )
        yield Problem(declared.path.child("minDomains"), text)


def _decided(
    workload: Workload, declared: ConstraintEntry, scaler: Autoscaler, context: Context
) -> list[Problem] | None:
    """Return the problem, if there is one, where the nodes that come are known; None where they are not."""
    found = outcomes(context.scale_ups, workload, scaler.least, AS_IT_IS)
    if found is None:
        return None
    key, least = declared.constraint.topology_key, declared.constraint.min_domains
    domains, empty = found[0].pods.get(key, {}), sorted(found[0].empty(key))
    if len(domains) - len(empty) >= min(least, len(domains)):
        return []
    text = (
        f"is {least}, but {scaler.named(workload)} may scale down to {scaler.least} replicas: they leave "
        f"{listed(empty, IN_PHRASE)} without any{context.decided_with}"
    )
    return [Problem(declared.path.child("minDomains"), text)]

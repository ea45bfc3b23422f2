"""A hard zone constraint of an autoscaled workload that forgets zones without a node.

## What it finds
A `DoNotSchedule` constraint over `topology.kubernetes.io/zone` without `minDomains`, of a workload that a
HorizontalPodAutoscaler of the repository, or a ScaledObject of KEDA, scales to two pods or more. With the
setting `autoscaled`, every hard zone constraint of a workload with two replicas or more. Left alone are those
whose `maxSkew` is as many as there are pods, and Kubernetes before 1.27, which does not know the field.
With the node groups of an autoscaler (`lint --autoscale`) the least and the most replicas are placed: a
finding if a zone ends without a pod that gets some with `minDomains`.

## Why it matters
The scheduler knows a zone only while it has a node. In a cluster that grows and shrinks, the first pods may
meet nodes of one zone alone: that is one domain, always balanced, and all pods go there. Nothing is pending,
so the cluster autoscaler sees no reason for a node elsewhere. With `minDomains: 3` the missing zones count as
empty, the pods wait, and the nodes come.

## Fails
```yaml
whenUnsatisfiable: DoNotSchedule
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 3, maxReplicas: 12, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
```

## Passes
```yaml
minDomains: 3
whenUnsatisfiable: DoNotSchedule
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 3, maxReplicas: 12, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
```

## How to fix
Set `minDomains` to the number of zones that pods of this workload may use; more than there are keeps pods
pending. Where nodes never come and go, switch the rule off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policies.manifests.findings import Severity
from policies.manifests.wire import DocumentFields
from policies.manifests.words import IN_PHRASE, listed
from policies.model.scaling import AS_IT_IS, ReplicaRange, Variation, outcomes
from policies.model.topology_keys import ZONE
from policies.model.version import KubernetesVersion
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.workload_topology import may_bind

ID = "hard-zone-spread-without-min-domains"
SEVERITY = Severity.NOTE
SEE = "https://github.com/kubernetes/kubernetes/issues/105291"
DECIDABLE = True
NEEDS = frozenset({WorkloadPart.HARD})

#: The first release that knows ``minDomains`` by default (KEP-3022).
MIN_DOMAINS_SINCE = KubernetesVersion(1, 27)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params(DocumentFields):
    """The settings of the rule."""

    #: Whether the cluster adds and removes nodes by itself. Then every workload is checked.
    autoscaled: bool = False


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each hard zone constraint without minDomains, where something scales."""
    scaler = context.repository.autoscaler(workload)
    params = context.params or Params()
    if context.version < MIN_DOMAINS_SINCE or (scaler is None and not params.autoscaled):
        return
    replicas = context.repository.replicas(workload)
    if replicas is None or replicas.most < 2:
        return
    why = f"{scaler.named(workload)} runs up to {scaler.most} pods" if scaler else "the cluster autoscales"
    zones = context.inventory.values(ZONE) if context.inventory is not None else None
    if zones is not None and len(zones) < 2 and context.scale_ups is None:
        return
    known = f"; {len(zones)} zones are known: {', '.join(sorted(zones))}" if zones else ""
    for declared in workload.constraints:
        if declared.constraint.topology_key != ZONE or declared.raw.get("minDomains") is not None:
            continue
        if may_bind(workload, declared, replicas):
            decided = _decided(workload, replicas, context)
            if decided is None:
                decided = f"has no minDomains and {why}: a zone that has no node yet is not counted{known}"
            if decided:
                yield Problem(declared.path, decided)


def _decided(workload: Workload, replicas: ReplicaRange, context: Context) -> str | None:
    """Return which zones get no pod though they could; empty if none does, None where that is not known."""
    for number in dict.fromkeys((replicas.least, replicas.most)):
        known = outcomes(context.scale_ups, workload, number, AS_IT_IS, Variation(required=ZONE))
        if known is None:
            return None
        found, required = known
        spared = sorted({*found.empty(ZONE)} - {*required.empty(ZONE)})
        if spared and number > 1 and required.pending <= found.pending:
            return (
                f"has no minDomains: {number} replicas{replicas.evidence} leave {listed(spared, IN_PHRASE)} "
                f"without any, and do not with minDomains{context.decided_with}"
            )
    return ""

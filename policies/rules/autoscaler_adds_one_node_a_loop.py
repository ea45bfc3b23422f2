"""A hard constraint over zones on a workload that scales far: nodes are added for one zone at a time.

## What it finds
A `DoNotSchedule` constraint over zones, or another key than the host, on a workload whose
HorizontalPodAutoscaler may add more than `maxSkew` pods, where Cluster Autoscaler runs: the repository has
a workload with its image, or `in_use` is set. With its node groups (`lint --autoscale`) the loops are
counted: those for all replicas, if they are more than without the constraint.

## Why it matters
In each of its loops Cluster Autoscaler tries pending pods on new nodes of one node group. Where node groups
are zones, the constraint allows only `maxSkew` pods more than in the emptiest zone, so the autoscaler adds
nodes for these and handles the next zone in the next loop. A large scale-out takes many loops.

## Fails
```yaml
whenUnsatisfiable: DoNotSchedule
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 3, maxReplicas: 30, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
metadata: {name: cluster-autoscaler, namespace: kube-system}
spec:
  template:
    spec:
      containers: [{name: autoscaler, image: "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.2"}]
```

## Passes
```yaml
whenUnsatisfiable: DoNotSchedule
---
metadata: {name: cluster-autoscaler, namespace: kube-system}
spec:
  template:
    spec:
      containers: [{name: autoscaler, image: "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.2"}]
```

## How to fix
Raise `maxSkew` as far as the workload tolerates during a scale-out, keep spare nodes in every zone, or
accept the delay.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.manifests.words import plural
from policies.model.scaling import AS_IT_IS, Tool, Variation, outcomes
from policies.model.topology_keys import HOSTNAME
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.workload_topology import may_bind

ID = "autoscaler-adds-one-node-a-loop"
SEVERITY = Severity.NOTE
SEE = "https://github.com/kubernetes/autoscaler/issues/9150"
TOOL = Tool.CLUSTER_AUTOSCALER
DECIDABLE = True
NEEDS = frozenset({WorkloadPart.HARD})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each hard constraint over more than hosts, if the workload scales far."""
    replicas = context.repository.replicas(workload)
    if replicas is None:
        return
    for declared in workload.constraints:
        constraint = declared.constraint
        key, path = constraint.topology_key, declared.path.child("maxSkew")
        if key == HOSTNAME or replicas.most - replicas.least <= constraint.max_skew:
            continue
        if not may_bind(workload, declared, replicas):
            continue
        free = Variation(without=frozenset({key}))
        decided = outcomes(context.scale_ups_of(TOOL), workload, replicas.most, AS_IT_IS, free)
        if decided is None:
            yield Problem(
                path,
                f"is {constraint.max_skew}: in each loop Cluster Autoscaler adds nodes in one {key}, for at "
                f"most {constraint.max_skew} pod(s) above the minimum; it takes many loops from "
                f"{replicas.least} to {replicas.most} replicas{replicas.evidence}",
                short=(
                    f"is {constraint.max_skew}: Cluster Autoscaler needs many loops to scale from "
                    f"{replicas.least} to {replicas.most} replicas"
                ),
            )
            continue
        scaled, unbound = decided
        if scaled.loops > unbound.loops:
            yield Problem(
                path,
                f"is {constraint.max_skew}: Cluster Autoscaler takes {plural(scaled.loops, 'loop')} to "
                f"add {plural(scaled.nodes, 'node')} for {replicas.most} replicas{replicas.evidence}, "
                f"and {plural(unbound.loops, 'loop')} without a constraint over {key}{context.decided_with}",
            )

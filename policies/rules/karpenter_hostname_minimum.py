"""A hard constraint over hosts, for which Karpenter adds more nodes than the scheduler needs.

## What it finds
A `DoNotSchedule` constraint over `kubernetes.io/hostname` with more replicas than its `maxSkew`, where
Karpenter runs: the repository has an object of the group `karpenter.sh`, or `in_use` is set. With its
NodePools (`lint --autoscale`) the nodes are counted: those for all replicas, if they are more than without
the constraint.

## Why it matters
Karpenter takes the minimum over hosts to be 0 always, since it can add an empty one. To it `maxSkew: 1`
means one pod a node, however much capacity the nodes have left: 25 replicas need 25 nodes. The scheduler,
once every node has a pod, would place a second one.

## Fails
```yaml
topologyKey: kubernetes.io/hostname
whenUnsatisfiable: DoNotSchedule
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec: {template: {spec: {requirements: []}}}
```

## Passes
```yaml
topologyKey: topology.kubernetes.io/zone
whenUnsatisfiable: DoNotSchedule
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec: {template: {spec: {requirements: []}}}
```

## How to fix
Raise `maxSkew` to the number of pods that may share a node, or spread over zones and leave hosts to the
size of the pods.
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

ID = "karpenter-hostname-minimum"
SEVERITY = Severity.NOTE
SEE = "https://github.com/aws/karpenter-provider-aws/issues/4666"
TOOL = Tool.KARPENTER
DECIDABLE = True
NEEDS = frozenset({WorkloadPart.HARD})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the hard constraint over hosts."""
    replicas = context.repository.replicas(workload)
    if replicas is None:
        return
    for declared in workload.constraints:
        constraint = declared.constraint
        if constraint.topology_key != HOSTNAME or not may_bind(workload, declared, replicas):
            continue
        free = Variation(without=frozenset({HOSTNAME}))
        decided = outcomes(context.scale_ups_of(TOOL), workload, replicas.most, AS_IT_IS, free)
        path, for_all = declared.path.child("maxSkew"), f"for {replicas.most} replicas{replicas.evidence}"
        if decided is None:
            nodes = -(-replicas.most // constraint.max_skew)
            yield Problem(
                path,
                f"is {constraint.max_skew}, and Karpenter treats that as the limit of pods per node: it "
                f"needs {nodes} nodes {for_all}, whatever their size",
            )
            continue
        scaled, unbound = decided
        if scaled.nodes > unbound.nodes:
            yield Problem(
                path,
                f"is {constraint.max_skew}: Karpenter adds {plural(scaled.nodes, 'node')} {for_all}, "
                f"and {unbound.nodes:,} without a constraint over hosts{context.decided_with}",
            )

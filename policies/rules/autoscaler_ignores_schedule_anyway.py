"""A soft constraint alone, which Cluster Autoscaler ignores.

## What it finds
A workload that spreads over zones, or another key than the host, with `ScheduleAnyway` only, where Cluster
Autoscaler runs: the repository has a workload with its image, or `in_use` is set.

## Why it matters
Cluster Autoscaler uses the scheduler's filters to decide whether a pod would fit on a new node, and never
its scores. A soft constraint is a score: new nodes are added in any zone, all in one if that is cheapest,
and the scheduler then has no choice.

## Fails
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
---
metadata: {name: cluster-autoscaler, namespace: kube-system}
spec:
  template:
    spec:
      containers: [{name: autoscaler, image: "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.2"}]
```

## Passes
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
---
metadata: {name: cluster-autoscaler, namespace: kube-system}
spec:
  template:
    spec:
      containers: [{name: autoscaler, image: "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.2"}]
```

## How to fix
Where losing a zone must not take all replicas, make the constraint `DoNotSchedule` with `minDomains`;
otherwise let the autoscaler balance its node groups (`--balance-similar-node-groups`) and accept the
result.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.scaling import Tool
from policies.model.topology_keys import HOSTNAME
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem

SEVERITY = Severity.NOTE
SEE = "https://github.com/kubernetes/enhancements/issues/3990"
TOOL = Tool.CLUSTER_AUTOSCALER
NEEDS = frozenset({WorkloadPart.SOFT})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the first soft constraint of a workload that has no hard one of such a key."""
    replicas = context.repository.replicas(workload)
    wide = [entry for entry in workload.constraints if entry.constraint.topology_key != HOSTNAME]
    if not wide or any(entry.is_hard for entry in wide) or replicas is None or replicas.most < 2:
        return
    keys = " and ".join(entry.constraint.topology_key for entry in wide)
    yield Problem(
        wide[0].path.child("whenUnsatisfiable"),
        f"is ScheduleAnyway, which Cluster Autoscaler ignores: for {replicas.most} replicas"
        f"{replicas.evidence} it may add nodes in a single {keys}",
    )

"""A soft constraint alone, which Cluster Autoscaler ignores.

## What it finds
A workload that spreads over zones, or another key than the host, with `ScheduleAnyway` only, where Cluster
Autoscaler runs: the repository has a workload with its image, or `in_use` is set. With its node groups
(`lint --autoscale`) the replicas are placed: a finding if they end more uneven than `maxSkew` allows, and
less so with `DoNotSchedule` and `minDomains`.

## Why it matters
Cluster Autoscaler uses the scheduler's filters to decide whether a pod would fit on a new node, and never
its scores. A soft constraint is a score: new nodes are added in any zone, all in one if that is cheapest,
and the scheduler then has no choice.

## Fails
```yaml
whenUnsatisfiable: ScheduleAnyway
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
Where losing a zone must not take all replicas, make the constraint `DoNotSchedule` with `minDomains`;
otherwise let the autoscaler balance its node groups (`--balance-similar-node-groups`) and accept the
result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from policies.manifests.findings import Severity
from policies.model.scaling import AS_IT_IS, ReplicaRange, Tool, Variation, outcomes
from policies.model.topology_keys import HOSTNAME
from policies.model.workload import ConstraintEntry, Workload, WorkloadPart
from policies.rules.base import Context, Problem

ID = "autoscaler-ignores-schedule-anyway"
SEVERITY = Severity.NOTE
SEE = "https://github.com/kubernetes/enhancements/issues/3990"
TOOL = Tool.CLUSTER_AUTOSCALER
DECIDABLE = True
NEEDS = frozenset({WorkloadPart.SOFT})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the first soft constraint of a workload that has no hard one of such a key."""
    replicas = context.repository.replicas(workload)
    wide = [entry for entry in workload.constraints if entry.constraint.topology_key != HOSTNAME]
    if not wide or any(entry.is_hard for entry in wide) or replicas is None or replicas.most < 2:
        return
    decided = list(_decided(wide, workload, replicas, context))
    if len(decided) == len(wide):
        yield from chain.from_iterable(decided)
        return
    keys = " and ".join(entry.constraint.topology_key for entry in wide)
    yield Problem(
        wide[0].path.child("whenUnsatisfiable"),
        f"is ScheduleAnyway, which Cluster Autoscaler ignores: for {replicas.most} replicas"
        f"{replicas.evidence} it may add nodes in a single {keys}",
    )


def _decided(
    entries: Iterable[ConstraintEntry], workload: Workload, replicas: ReplicaRange, context: Context
) -> Iterator[list[Problem]]:
    """Yield the problems of each constraint for which the nodes that come are known: one or none."""
    known = context.scale_ups_of(TOOL)
    for entry in entries:
        key = entry.constraint.topology_key
        found = outcomes(known, workload, replicas.most, AS_IT_IS, Variation(required=key))
        if found is None:
            continue
        soft, hard = found
        skew, better = soft.skews.get(key, 0), hard.skews.get(key, 0)
        if skew <= entry.constraint.max_skew or better >= skew or hard.pending > soft.pending:
            yield []
            continue
        text = (
            f"is ScheduleAnyway, which Cluster Autoscaler ignores: {replicas.most} replicas"
            f"{replicas.evidence} end with skew {skew} over {key} if domains without a node yet count, "
            f"and with {better} by DoNotSchedule and minDomains"
        )
        path = entry.path.child("whenUnsatisfiable")
        yield [Problem(path, f"{text}{context.decided_with}")]

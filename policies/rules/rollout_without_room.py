"""A rolling update that can never start: the old pods leave no capacity, and none may be removed first.

## What it finds
A Deployment whose rolling update keeps all replicas (`maxUnavailable` comes to 0) while hard constraints,
or a required pod anti-affinity, that count the old revision's pods too have room for exactly as many pods
as it has.

## Why it matters
The first pod of the new revision fits nowhere, and no old pod is removed before it runs: the rollout hangs
until a pod is deleted by hand. `maxUnavailable: 25%`, the default, comes to 0 for 3 replicas or fewer.

## Fails
```yaml
# Nodes: worker-1, worker-2
spec:
  replicas: 2
  template:
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
```

## Passes
```yaml
# Nodes: worker-1, worker-2
spec:
  replicas: 2
  strategy: {rollingUpdate: {maxUnavailable: 1}}
  template:
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
```

## How to fix
Set `maxUnavailable: 1`, or let constraints distinguish revisions: `matchLabelKeys: [pod-template-hash]`
(Kubernetes 1.27 for spread constraints, 1.31 for pod anti-affinity).
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.fields import FieldPath
from policies.manifests.findings import Severity
from policies.model.scaling import rolling_update
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.capacity import DomainCapacities
from policies.scheduler.workload_topology import (
    REVISION_LABELS,
    WorkloadTopology,
    counts_only_its_own,
    nodes_are_added,
)

SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kubernetes/issues/116891"
NEEDS_INVENTORY = True
NEEDS = frozenset({WorkloadPart.HARD, WorkloadPart.POD_AFFINITY})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the constraint that keeps the first new pod from running, or the first of several."""
    replicas = context.repository.replicas(workload)
    if context.inventory is None or not context.inventory.nodes or replicas is None:
        return
    if (
        nodes_are_added(context.repository, context.inventory)
        or rolling_update(workload, replicas.most) is None
    ):
        return
    topology = WorkloadTopology.of(workload, context.inventory, context.version)
    limits = list(_limits(workload, topology, context))
    alone = [[limit] for limit in limits]
    for chosen in [*alone, limits] if len(limits) > 1 else alone:
        room = topology.max_pods([capacity for _, capacity in chosen], replicas.most + 1)
        if room is None or not replicas.least <= room <= replicas.most or room == 0:
            continue
        if len(chosen) == 1 and _is_unreachable(chosen[0], workload, topology, room):
            continue  # unreachable-domain-counted has the cause.
        update = rolling_update(workload, room)
        if update is not None and update.unavailable == 0:
            keys = " and ".join(dict.fromkeys(capacity.key for _, capacity in chosen))
            yield Problem(
                chosen[0][0],
                f"allows {room} pods on {keys}, old revisions included: with {room} "
                f"replicas{replicas.evidence}, maxUnavailable 0 and maxSurge {update.surge} the first new "
                "pod of a rollout is unschedulable",
                short=f"allows {room} pods on {keys}: the first new pod of a rollout is unschedulable",
            )
            return


def _is_unreachable(
    limit: tuple[FieldPath, DomainCapacities], workload: Workload, topology: WorkloadTopology, room: int
) -> bool:
    """Return whether a constraint has no room only for domains that no pod can reach."""
    of_limit = (entry for entry in workload.constraints if entry.path == limit[0])
    return any(topology.has_no_room_for_surge(declared, room) for declared in of_limit)


def _limits(
    workload: Workload, topology: WorkloadTopology, context: Context
) -> Iterator[tuple[FieldPath, DomainCapacities]]:
    """Yield the capacities by constraints that count pods of every revision, and by each key's first term."""
    for declared in workload.constraints:
        if not declared.is_hard or REVISION_LABELS & set(declared.constraint.match_label_keys):
            continue
        if counts_only_its_own(workload, declared, context.repository):
            yield declared.path, topology.capacities(declared.constraint)
    for term in workload.pod_affinity.separations(workload.namespace, workload.template.labels):
        capacity = topology.one_pod_per_domain(term.topology_key)
        if capacity is not None:
            yield term.path, capacity

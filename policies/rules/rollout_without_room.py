"""A rolling update that can never start: the old pods leave no capacity, and none may be removed first.

## What it finds
A Deployment whose rolling update keeps all replicas (`maxUnavailable` comes to 0) while hard constraints,
or a required pod anti-affinity, that count the old revision's pods too have room for exactly as many pods
as it has. With the node groups of an autoscaler (`lint --autoscale`) the replicas are placed, and a pod of
another revision beside them.

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
from policies.model.scaling import AS_IT_IS, ReplicaRange, Variation, outcomes, rolling_update
from policies.model.workload import ConstraintEntry, Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.capacity import DomainCapacities
from policies.scheduler.workload_topology import (
    REVISION_LABELS,
    WorkloadTopology,
    counts_only_its_own,
    nodes_are_added,
)

ID = "rollout-without-room"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kubernetes/issues/116891"
NEEDS_INVENTORY = True
DECIDABLE = True
NEEDS = frozenset({WorkloadPart.HARD, WorkloadPart.POD_AFFINITY})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the constraint that keeps the first new pod from running, or the first of several."""
    replicas = context.repository.replicas(workload)
    if replicas is None or rolling_update(workload, replicas.most) is None:
        return
    decided = _decided(workload, replicas, context)
    if decided is not None:
        yield from decided
        return
    if context.inventory is None or not context.inventory.nodes:
        return
    if nodes_are_added(context.repository, context.inventory):
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


def _decided(workload: Workload, replicas: ReplicaRange, context: Context) -> list[Problem] | None:
    """Return the problem, if there is one, where the nodes that come are known; None where they are not.

    As many replicas run as fit, and a pod of another revision comes beside them.
    """
    found = outcomes(context.scale_ups, workload, replicas.most, AS_IT_IS)
    if found is None:
        return None
    limits = list(_variations(workload, context))
    running = replicas.most - found[0].pending
    update = rolling_update(workload, running)
    if not limits or update is None or update.unavailable or not replicas.least <= running or not running:
        return []
    all_of_them = Variation(
        without=frozenset[str]().union(*(each.without for _, each in limits)),
        together=frozenset[str]().union(*(each.together for _, each in limits)),
    )
    tried = [limit[1] for limit in limits] + [all_of_them] * (len(limits) > 1)
    asked = [AS_IT_IS, *tried]
    found = outcomes(context.scale_ups, workload, running, *(each._replace(updated=True) for each in asked))
    if found is None:
        return None
    as_it_is, *freed = (outcome.pending for outcome in found)
    path = next((limits[number % len(limits)][0] for number, left in enumerate(freed) if not left), None)
    if not as_it_is or path is None:
        return []
    # unreachable-domain-counted has the cause.
    honoring = (Variation(honoring=key, updated=True) for _, each in limits for key in each.without)
    found = outcomes(context.scale_ups, workload, running, *honoring)
    if found is None or any(not outcome.pending for outcome in found):
        return None if found is None else []
    return [
        Problem(
            path,
            f"counts old revisions, too: beside {running} replicas{replicas.evidence}, with maxUnavailable "
            f"0 and maxSurge {update.surge}, the first new pod of a rollout is unschedulable, also on nodes "
            f"that may come{context.decided_with}",
        )
    ]


def _variations(workload: Workload, context: Context) -> Iterator[tuple[FieldPath, Variation]]:
    """Yield what counts pods of every revision, and the workload without it."""
    for declared in _of_every_revision(workload, context):
        yield declared.path, Variation(without=frozenset({declared.constraint.topology_key}))
    for term in workload.pod_affinity.separations(workload.namespace, workload.template.labels):
        yield term.path, Variation(together=frozenset({term.topology_key}))


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
    for declared in _of_every_revision(workload, context):
        yield declared.path, topology.capacities(declared.constraint)
    for term in workload.pod_affinity.separations(workload.namespace, workload.template.labels):
        capacity = topology.one_pod_per_domain(term.topology_key)
        if capacity is not None:
            yield term.path, capacity


def _of_every_revision(workload: Workload, context: Context) -> Iterator[ConstraintEntry]:
    """Yield the hard constraints that count the pods of every revision."""
    for declared in workload.constraints:
        if not declared.is_hard or REVISION_LABELS & set(declared.constraint.match_label_keys):
            continue
        if counts_only_its_own(workload, declared, context.repository):
            yield declared

"""Hard constraints that can each be satisfied, but not together.

## What it finds
Two or more `DoNotSchedule` constraints, such as one over zones and one over hosts, that cannot be satisfied
together for all replicas on the existing nodes, in whatever order pods are placed. With the node groups of an
autoscaler (`lint --autoscale`) the replicas are placed: a finding if more stay pending than with any of the
constraints alone.

## Why it matters
Zones with different numbers of nodes are enough to cause this. With 3 nodes in one zone and 1 in another,
spreading over zones allows the big zone 2 pods as long as the small one has 1; spreading over hosts allows
no second pod on a host while another is empty, and one of the three in the big zone always is. The fourth
replica stays pending, although every node has free capacity.

## Fails
```yaml
# Nodes: a-1 in zone a, a-2 in zone a, a-3 in zone a, b-1 in zone b
spec:
  replicas: 4
  template:
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
```

## Passes
```yaml
# Nodes: a-1 in zone a, a-2 in zone a, a-3 in zone a, b-1 in zone b
spec:
  replicas: 4
  template:
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
```

## How to fix
Keep the constraint over zones hard and make the one over hosts `ScheduleAnyway`, or give it a larger
`maxSkew`.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.manifests.words import IN_PHRASE, listed
from policies.model.scaling import AS_IT_IS, ReplicaRange, Variation, outcomes
from policies.model.topology_keys import HOSTNAME
from policies.model.workload import ConstraintEntry, Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.capacity import DomainCapacities
from policies.scheduler.workload_topology import (
    WorkloadTopology,
    counts_only_its_own,
    nodes_are_added,
)

ID = "constraints-unsatisfiable-together"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kubernetes/issues/128832"
NEEDS_INVENTORY = True
DECIDABLE = True
NEEDS = frozenset({WorkloadPart.HARD})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the last hard constraint where only all of them together leave too little room."""
    replicas = context.repository.replicas(workload)
    hard = [entry for entry in workload.constraints if entry.is_hard]
    if replicas is None or len(hard) < 2:
        return
    decided = _decided(workload, hard, replicas, context)
    if decided is not None:
        yield from decided
        return
    if context.inventory is None or not context.inventory.nodes:
        return
    # A node that is added for the pending pods gives the small zone what it lacks.
    if nodes_are_added(context.repository, context.inventory):
        return
    topology = WorkloadTopology.of(workload, context.inventory, context.version)
    capacities = [topology.capacities(entry.constraint) for entry in hard]
    room = topology.max_pods(capacities, replicas.least)
    if room is None or not topology.usable:
        return
    if any(topology.max_pods([capacity], replicas.least) is not None for capacity in capacities):
        return
    if all(counts_only_its_own(workload, entry, context.repository) for entry in hard):
        described = " and ".join(map(_described, capacities))
        yield Problem(
            hard[-1].path,
            f"cannot be satisfied together with the other constraints: {described} allow at most {room} of "
            f"{replicas.least} replicas{replicas.evidence}, in any order of placement",
            short=(
                f"cannot be satisfied together with the other constraints: they allow at most {room} of "
                f"{replicas.least} replicas"
            ),
        )


def _decided(
    workload: Workload, hard: list[ConstraintEntry], replicas: ReplicaRange, context: Context
) -> list[Problem] | None:
    """Return the problem, if there is one, where the nodes that come are known; None where they are not."""
    keys = [entry.constraint.topology_key for entry in hard]
    each_alone = [Variation(without=frozenset(keys) - {key}) for key in keys]
    found = outcomes(context.scale_ups, workload, replicas.least, AS_IT_IS, *each_alone)
    if found is None:
        return None
    together, *alone = (outcome.pending for outcome in found)
    if together <= max(alone):
        return []
    if not all(counts_only_its_own(workload, entry, context.repository) for entry in hard):
        return []
    text = (
        f"cannot be satisfied together with the other constraints: with {listed(keys, IN_PHRASE)} {together} "
        f"of {replicas.least} replicas{replicas.evidence} stay pending, and {max(alone) or 'none'} with one "
        f"of them alone{context.decided_with}"
    )
    return [Problem(hard[-1].path, text)]


def _described(capacity: DomainCapacities) -> str:
    limit = f"maxSkew {capacity.limit}"
    if capacity.key == HOSTNAME:
        return f"{capacity.key} ({limit}, {len(capacity.domains)} nodes)"
    sizes = listed(
        sorted(f"{value} with {len(nodes)} node(s)" for value, nodes in capacity.domains.items()), IN_PHRASE
    )
    return f"{capacity.key} ({limit}, {sizes})"

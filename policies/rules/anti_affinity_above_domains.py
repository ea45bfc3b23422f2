"""A required pod anti-affinity over fewer domains than the workload has replicas.

## What it finds
A required `podAntiAffinity` that selects the workload's own pods, on a workload with more replicas than
there are domains for them; or one that cannot be satisfied together with the workload's hard spread
constraints. With the node groups of an autoscaler (`lint --autoscale`) the replicas are placed: a finding if
some stay pending that would not without the term.

## Why it matters
Such a term allows one replica in a domain. Once every domain has its own, the others stay pending.
Together with a spread constraint it is stricter than it looks: a zone with one node then holds one pod,
and `maxSkew: 1` gives every other zone two at most.

## Fails
```yaml
# Nodes: a-1 in zone a, b-1 in zone b
kind: StatefulSet
spec:
  template:
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}
```

## Passes
```yaml
# Nodes: a-1 in zone a, b-1 in zone b
kind: StatefulSet
spec:
  replicas: 2
  template:
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}
```

## How to fix
Use `topologySpreadConstraints` instead, which allows a second pod in a domain once every domain has one; or
use at most as many replicas as there are domains.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.pod_affinity import AffinityTerm
from policies.model.scaling import AS_IT_IS, ReplicaRange, Variation, outcomes
from policies.model.topology_keys import HOSTNAME
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.capacity import DomainCapacities
from policies.scheduler.workload_topology import (
    REVISION_LABELS,
    WorkloadTopology,
    counts_only_its_own,
    nodes_are_added,
)

ID = "anti-affinity-above-domains"
SEVERITY = Severity.WARNING
SEE = "https://github.com/emissary-ingress/emissary/pull/1391"
NEEDS_INVENTORY = True
DECIDABLE = True
NEEDS = frozenset({WorkloadPart.POD_AFFINITY})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the first term that alone, or together with the hard constraints, leaves too little room."""
    replicas, inventory = context.repository.replicas(workload), context.inventory
    if replicas is None or replicas.least < 2:
        return
    labels = workload.template.labels
    terms = workload.pod_affinity.separations(
        workload.namespace, labels, alike=labels.keys() | REVISION_LABELS
    )
    decided = _decided(workload, terms, replicas, context)
    if decided is not None:
        yield from decided
        return
    if not terms or inventory is None or not inventory.nodes:
        return
    topology = WorkloadTopology.of(workload, inventory, context.version)
    hard = [entry for entry in workload.constraints if entry.is_hard]
    are_own = all(counts_only_its_own(workload, entry, context.repository) for entry in hard)
    capacities = [topology.capacities(entry.constraint) for entry in hard] if are_own else []
    grows = nodes_are_added(context.repository, inventory)
    for term in terms:
        if not topology.usable or (grows and (term.topology_key == HOSTNAME or capacities)):
            continue
        listed = inventory.domains.get(term.topology_key, ())
        message = _lack(topology, capacities, term.topology_key, listed, replicas=replicas)
        if message is not None:
            yield Problem(term.path, f"allows one pod per {term.topology_key}{message}")
            return


def _decided(
    workload: Workload, terms: list[AffinityTerm], replicas: ReplicaRange, context: Context
) -> list[Problem] | None:
    """Return the first term that keeps replicas pending, if one does; None where that is not known."""
    for term in terms:
        key = term.topology_key
        free = Variation(together=frozenset({key}))
        found = outcomes(context.scale_ups, workload, replicas.least, AS_IT_IS, free)
        if found is None:
            return None
        apart, together = found
        if apart.pending > together.pending:
            text = (
                f"allows one pod per {key}: {apart.pending} of {replicas.least} replicas{replicas.evidence} "
                f"stay pending, and {together.pending or 'none'} without it{context.decided_with}"
            )
            return [Problem(term.path, text)]
    return [] if terms and context.scale_ups is not None else None


def _lack(
    topology: WorkloadTopology,
    capacities: list[DomainCapacities],
    key: str,
    listed: tuple[str, ...],
    *,
    replicas: ReplicaRange,
) -> str | None:
    """Return the sentence on why the wanted replicas do not fit; None if all may fit."""
    separate = topology.one_pod_per_domain(key)
    if separate is None:
        return None
    domains, wanted = len(separate.domains.keys() | set(listed)), replicas.least
    if domains < wanted:
        return (
            f", and {domains} are eligible: at most {domains} of {wanted} replicas{replicas.evidence} can run"
        )
    room = topology.max_pods([*capacities, separate], wanted)
    if room is None or not capacities or topology.max_pods(capacities, wanted) is not None:
        return None
    keys = " and ".join(capacity.key for capacity in capacities)
    return (
        f": together with the constraint(s) on {keys} at most {room} of {wanted} replicas{replicas.evidence} "
        f"can run, although {domains} domains are eligible"
    )

"""A `minDomains` that the cluster has too few domains for, with more replicas than then fit.

## What it finds
A `DoNotSchedule` constraint whose `minDomains` is more than the eligible domains that the cluster has (or
that the policy's `topology` lists), on a workload with more replicas than those domains then take. With the
node groups of an autoscaler (`lint --autoscale`) their domains count, and replicas that stay pending.

## Why it matters
With fewer eligible domains than `minDomains` the minimum counts as 0, whatever is running. Every domain
then takes at most `maxSkew` pods; the other replicas stay pending until a domain is added.

## Fails
```yaml
# Nodes: a-1 in zone a, b-1 in zone b
minDomains: 3
whenUnsatisfiable: DoNotSchedule
```

## Passes
```yaml
# Nodes: a-1 in zone a, b-1 in zone b
minDomains: 2
whenUnsatisfiable: DoNotSchedule
```

## How to fix
Lower `minDomains` to the number of domains, or bring the missing ones. Where an autoscaler adds nodes,
which is what `minDomains` is mostly for, list the domains that it can reach in the policy's `topology`.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.manifests.words import IN_PHRASE, listed
from policies.model.scaling import AS_IT_IS, ReplicaRange, outcomes
from policies.model.topology import ClusterTopology
from policies.model.workload import ConstraintEntry, Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.workload_topology import (
    WorkloadTopology,
    counts_only_its_own,
    nodes_are_added,
)

ID = "min-domains-above-domains"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kubernetes/issues/115320"
NEEDS_INVENTORY = True
DECIDABLE = True
NEEDS = frozenset({WorkloadPart.MIN_DOMAINS})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each hard constraint that requires more domains than there are."""
    replicas = context.repository.replicas(workload)
    if replicas is None:
        return
    for declared in workload.constraints:
        constraint = declared.constraint
        if not declared.is_hard or constraint.min_domains == 1:
            continue
        selected = workload.affinity.values_of(constraint.topology_key)
        if selected is not None and len(selected) < constraint.min_domains:
            continue  # Too few whatever the cluster has: affinity-below-min-domains reports it.
        found = _decided(workload, declared, replicas, context)
        if found is None and context.inventory is not None:
            found = _estimated(workload, declared, replicas, context.inventory, context)
        if found:
            yield Problem(declared.path.child("minDomains"), found)


def _estimated(
    workload: Workload,
    declared: ConstraintEntry,
    replicas: ReplicaRange,
    inventory: ClusterTopology,
    context: Context,
) -> str:
    """Return the problem by the domains that there are now; empty if there is none."""
    constraint = declared.constraint
    topology = WorkloadTopology.of(workload, inventory, context.version)
    written = inventory.domains.get(constraint.topology_key, ())
    if not written and (not inventory.nodes or nodes_are_added(context.repository, inventory)):
        return ""  # Which domains there will be is not known.
    there, reachable = topology.known_values(constraint, written)
    if not there:
        return ""  # No node suits its pods at all, which no number of domains would change.
    room = constraint.max_skew * len(reachable)
    if len(there) >= constraint.min_domains or replicas.least <= room:
        return ""
    if not counts_only_its_own(workload, declared, context.repository):
        return ""
    barred = len(there - reachable)
    but = f"; {barred} of them ineligible" if barred else ""
    return (
        f"is {constraint.min_domains}, but {constraint.topology_key} has {len(there)} domain(s) "
        f"({listed(sorted(there), IN_PHRASE) or 'none'}{but}), so the global minimum is 0: with "
        f"maxSkew {constraint.max_skew} at most {room} of {replicas.least} replicas"
        f"{replicas.evidence} can run"
    )


def _decided(
    workload: Workload, declared: ConstraintEntry, replicas: ReplicaRange, context: Context
) -> str | None:
    """Return the problem where the nodes that come are known: empty for none, None where they are not."""
    found = outcomes(context.scale_ups, workload, replicas.least, AS_IT_IS)
    if found is None:
        return None
    (scaled,) = found
    key, least = declared.constraint.topology_key, declared.constraint.min_domains
    domains = sorted(scaled.pods.get(key, ()))
    if not scaled.pending or len(domains) >= least:
        return ""
    return (
        f"is {least}, but {key} has {len(domains)} domain(s) with nodes that are there or may come "
        f"({listed(domains, IN_PHRASE) or 'none'}): {scaled.pending} of {replicas.least} replicas"
        f"{replicas.evidence} stay pending{context.decided_with}"
    )

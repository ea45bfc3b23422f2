"""A constraint over a label that has the same value on all nodes that count.

## What it finds
A `topologyKey` with one domain only, among the nodes that the constraint takes in: those that the pod's
node selector and affinity allow, and with `nodeTaintsPolicy: Honor` those whose taints it tolerates.
Domains that a policy lists count too, and with the node groups of an autoscaler (`lint --autoscale`) those in
which nodes may come for the pods. A hard constraint with a larger `minDomains`, and a topology key of
which node affinity allows one value, are reported by other rules.

## Why it matters
With one domain there is nothing to spread over. All pods share it and fail together with it; the constraint
protects nothing.

## Fails
```yaml
# Nodes: one in zone a, two in zone a
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

## Passes
```yaml
# Nodes: one in zone a, two in zone b
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

## How to fix
Spread over a label with several values, such as `kubernetes.io/hostname`, allow the pod nodes in other
domains, or exempt the workload in clusters that have just one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policies.manifests.findings import Severity
from policies.model.node import Node
from policies.model.topology import ClusterTopology
from policies.model.topology_keys import HOSTNAME
from policies.model.workload import ConstraintEntry, Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.workload_topology import EligibleDomain, WorkloadTopology

ID = "single-domain"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kubernetes/issues/93565"
NEEDS_INVENTORY = True
DECIDABLE = True
NEEDS = frozenset({WorkloadPart.HARD, WorkloadPart.SOFT})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each constraint that has but one domain."""
    for declared in workload.constraints:
        constraint = declared.constraint
        if declared.is_hard and constraint.min_domains > 1:
            continue
        if len(workload.affinity.values_of(constraint.topology_key) or ()) == 1:
            continue
        text = _text(workload, declared, context)
        if text is not None:
            yield Problem(declared.path.child("topologyKey"), text)


def _text(workload: Workload, declared: ConstraintEntry, context: Context) -> str | None:
    inventory = context.inventory
    if context.scale_ups is not None:
        return _text_with_new_nodes(workload, declared, context)
    if inventory is None:
        return None
    key = declared.constraint.topology_key
    listed = inventory.domains.get(key, ())
    if inventory.nodes is None:
        return (
            f"has one domain, {listed[0]}: there is nothing to spread over" if len(set(listed)) == 1 else None
        )
    domains = _domains(workload, declared, inventory, context)
    if len(domains) != 1 or set(listed) - {domains[0].value}:
        return None
    value, nodes = domains[0].value, domains[0].nodes
    node = nodes[0].name if len(nodes) == 1 else f"all {len(nodes)} nodes"
    carrying = inventory.nodes_with(key)
    if len(carrying) == 1:
        return f"has one domain: {node} with {key} {_have(nodes)} the value {value}"
    all_nodes = sum(map(len, carrying.values()))
    return (
        f"has one eligible domain: of {all_nodes} nodes in {len(carrying)} domains only "
        f"{len(nodes)} in {value} can run these pods"
    )


def _text_with_new_nodes(workload: Workload, declared: ConstraintEntry, context: Context) -> str | None:
    """Return the problem where the nodes that come are known; each of them is a domain of hosts."""
    key, known = declared.constraint.topology_key, context.scale_ups
    if known is None or key == HOSTNAME:
        return None
    values = set(known.domains(workload, key))
    if context.inventory is not None:
        values |= {domain.value for domain in _domains(workload, declared, context.inventory, context)}
        values.update(context.inventory.domains.get(key, ()))
    if len(values) != 1:
        return None
    return (
        f"has one domain with nodes that are there or may come for these pods, {values.pop()}: there is "
        f"nothing to spread over{context.decided_with}"
    )


def _domains(
    workload: Workload, declared: ConstraintEntry, inventory: ClusterTopology, context: Context
) -> list[EligibleDomain]:
    topology = WorkloadTopology.of(workload, inventory, context.version, hard=declared.is_hard)
    return topology.domains(declared.constraint)


def _have(nodes: Sequence[Node]) -> str:
    return "has" if len(nodes) == 1 else "have"

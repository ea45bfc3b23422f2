"""A hard constraint that counts domains which its pods cannot use, so the minimum stays 0.

## What it finds
A `DoNotSchedule` constraint that counts a domain in which no node accepts the pod: because of a taint that
it does not tolerate, or, with `nodeAffinityPolicy: Ignore`, because of the pod's own node affinity. It is
reported only if there are more replicas than can then run, or if they leave no capacity for the first new
pod of a rolling update that keeps all old ones. Cordons and taints for passing conditions, such as
`node.kubernetes.io/not-ready`, are ignored. With the node groups of an autoscaler (`lint --autoscale`) the
replicas, and a new pod of a rollout, are placed with and without these domains.

## Why it matters
By default the scheduler counts tainted nodes (`nodeTaintsPolicy: Ignore`). A domain that no pod can enter
holds 0 pods forever, which makes 0 the minimum: every other domain then takes at most `maxSkew` pods. The
other replicas stay pending, although nodes have free capacity.

## Fails
```yaml
# Nodes: worker-1, worker-2
topologyKey: kubernetes.io/hostname
whenUnsatisfiable: DoNotSchedule
---
apiVersion: v1
kind: Node
metadata: {name: control-plane, labels: {kubernetes.io/hostname: control-plane}}
spec: {taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]}
```

## Passes
```yaml
# Nodes: worker-1, worker-2
topologyKey: kubernetes.io/hostname
whenUnsatisfiable: DoNotSchedule
nodeTaintsPolicy: Honor
---
apiVersion: v1
kind: Node
metadata: {name: control-plane, labels: {kubernetes.io/hostname: control-plane}}
spec: {taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]}
```

## How to fix
Set `nodeTaintsPolicy: Honor` (Kubernetes 1.26), which leaves tainted nodes out of the counts, or tolerate
the taint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from policies.manifests.edits import Edit
from policies.manifests.findings import Severity
from policies.manifests.words import IN_PHRASE, listed
from policies.model.constraint import Constraint
from policies.model.node import Node
from policies.model.scaling import AS_IT_IS, ReplicaRange, RollingUpdate, Variation, outcomes, rolling_update
from policies.model.topology_keys import HOSTNAME
from policies.model.workload import ConstraintEntry, Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.workload_topology import (
    REVISION_LABELS,
    EligibleDomain,
    WorkloadTopology,
    counts_only_its_own,
    honoring_both,
    nodes_are_added,
)

ID = "unreachable-domain-counted"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kops/pull/18535"
NEEDS_INVENTORY = True
DECIDABLE = True
FIXABLE = True
NEEDS = frozenset({WorkloadPart.HARD})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each hard constraint that such a domain leaves too little room."""
    replicas = context.repository.replicas(workload)
    if context.inventory is None or not context.inventory.nodes or replicas is None:
        return
    hard = [entry for entry in workload.constraints if entry.is_hard]
    if all(replicas.most < entry.constraint.max_skew for entry in hard):
        return
    topology = WorkloadTopology.of(workload, context.inventory, context.version)
    grows = nodes_are_added(context.repository, context.inventory)
    for declared in hard:
        constraint = declared.constraint
        domains = topology.domains(constraint)
        barred = [domain for domain in domains if not domain.usable]
        if not barred:
            continue
        effect = _decided(workload, declared, replicas, context)
        if effect is None:
            known = len(domains) >= constraint.min_domains and topology.usable
            if not known or (constraint.topology_key == HOSTNAME and grows):
                continue
            effect = _too_little(workload, topology, declared, replicas, grows=grows)
        if effect is None or not effect.text:
            continue
        if not counts_only_its_own(workload, declared, context.repository):
            continue
        yield Problem(
            declared.path,
            f"with maxSkew {constraint.max_skew} {effect.text}: {_barred(topology, constraint, barred)} keep "
            f"the global minimum at 0{effect.evidence}",
            _edits(topology, declared, barred) if effect.fixable else (),
        )


class _Effect(NamedTuple):
    """What comes of such domains."""

    text: str = ""  #: That; empty where nothing does.
    fixable: bool = False  #: Whether it does not if the constraint leaves them out.
    evidence: str = ""  #: What it was decided with, in brackets.


def _decided(
    workload: Workload, declared: ConstraintEntry, replicas: ReplicaRange, context: Context
) -> _Effect | None:
    """Return what comes of them where the nodes that come are known; None where they are not."""
    most, constraint = replicas.most, declared.constraint
    better = Variation(honoring=constraint.topology_key)
    found = outcomes(context.scale_ups, workload, most, AS_IT_IS, better)
    if found is None:
        return None
    counted, honored = (outcome.pending for outcome in found)
    if counted > honored:
        without = f"and {honored or 'none'} if they did not count"
        text = f"{counted} of {most} replicas{replicas.evidence} stay pending, {without}"
        return _Effect(text, fixable=True, evidence=context.decided_with)
    update = rolling_update(workload, most)
    if update is None or update.unavailable or REVISION_LABELS & set(constraint.match_label_keys):
        return _Effect()
    new, new_better = AS_IT_IS._replace(updated=True), better._replace(updated=True)
    found = outcomes(context.scale_ups, workload, most, new, new_better)
    if found is None:
        return None
    if found[0].pending <= max(counted, found[1].pending):
        return _Effect()
    return _Effect(_surge_text(replicas, update), fixable=True, evidence=context.decided_with)


def _too_little(
    workload: Workload,
    topology: WorkloadTopology,
    declared: ConstraintEntry,
    replicas: ReplicaRange,
    *,
    grows: bool,
) -> _Effect | None:
    """Return what comes of the room that they leave, where that is too little."""
    most = replicas.most
    room = topology.max_pods([topology.capacities(declared.constraint)], most)
    if room is not None:
        text = f"at most {room} of {most} replicas{replicas.evidence} can run"
        return _Effect(text, _helps(topology, declared, room))
    update = rolling_update(workload, most)
    if grows or update is None or update.unavailable or not topology.has_no_room_for_surge(declared, most):
        return None
    return _Effect(_surge_text(replicas, update), _helps(topology, declared, most))


def _surge_text(replicas: ReplicaRange, update: RollingUpdate) -> str:
    most = replicas.most
    return (
        f"{most} pods are allowed, old revisions included, so with {most} "
        f"replicas{replicas.evidence}, maxUnavailable 0 and maxSurge {update.surge} the first new pod of a "
        "rollout is unschedulable"
    )


def _helps(topology: WorkloadTopology, declared: ConstraintEntry, room: int) -> bool:
    """Return whether there is more room if the constraint leaves out what no pod can enter."""
    honoring = honoring_both(declared.constraint)
    return topology.max_pods([topology.capacities(honoring)], room + 1) is None


def _barred(topology: WorkloadTopology, constraint: Constraint, barred: list[EligibleDomain]) -> str:
    nodes = [node for domain in barred for node in domain.nodes]
    reasons = sorted({_reason(topology, node) for node in nodes})
    found = f"{len(nodes)} counted but ineligible node(s) ({listed(reasons, IN_PHRASE)})"
    if constraint.topology_key == HOSTNAME:
        return f"{found}, {listed(sorted(domain.value for domain in barred), IN_PHRASE)},"
    where = listed(sorted(domain.value for domain in barred), IN_PHRASE)
    return f"{found}, all nodes of {constraint.topology_key} {where},"


def _reason(topology: WorkloadTopology, node: Node) -> str:
    taint = topology.taint(node)
    if taint is not None:
        return f"taint {taint}"
    return "outside the pod's node affinity"


def _edits(
    topology: WorkloadTopology, declared: ConstraintEntry, barred: Iterable[EligibleDomain]
) -> tuple[Edit, ...]:
    """Honor what bars the nodes, if the release can."""
    if not topology.behavior.inclusion_policies:
        return ()
    tainted = {topology.taint(node) is not None for domain in barred for node in domain.nodes}
    return tuple(
        Edit(declared.path.child(field), declared.raw.get(field), "Honor")
        for field, is_bar in (("nodeTaintsPolicy", True in tainted), ("nodeAffinityPolicy", False in tainted))
        if is_bar and declared.raw.get(field) != "Honor"
    )

"""A constraint or a term of pod affinity over a label that no node has.

## What it finds
A `topologyKey` of a constraint, of `podAffinity` or of `podAntiAffinity` that none of the cluster's nodes
carries, and of which no policy lists domains. A label that only nodes of a pool will have which is scaled
to zero is best listed in the `topology` of a SpreadPolicy; with the node groups of an autoscaler
(`lint --autoscale`) those of nodes that may come for the pods count, too. Nothing is reported for
Karpenter's own labels where the repository has an object of the group `karpenter.sh`, nor for names such as
`zone`, which `topology-key-unqualified` reports.

## Why it matters
With `DoNotSchedule` every node is rejected because of the missing label, and all pods stay pending. With
`ScheduleAnyway` no node takes part in the score: the constraint does nothing, and neither do the other
`ScheduleAnyway` constraints of the pod, for a node must have the labels of them all. Required pod affinity
keeps all pods pending too; anti-affinity and preferred terms do nothing. What keeps pods pending is an
error, the rest a warning.

## Fails
```yaml
# Nodes: one in zone a, two in zone b
topologyKey: example.com/rack
```

## Passes
```yaml
# Nodes: one in zone a, two in zone b
topologyKey: topology.kubernetes.io/zone
```

## How to fix
Name a label that the nodes have, or label the nodes. If nodes have a label with a similar name, the message
names it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from policies.manifests.fields import FieldPath
from policies.manifests.findings import Severity
from policies.model.scaling import KARPENTER_LABELS, Tool
from policies.model.topology import ClusterTopology
from policies.model.topology_keys import HOSTNAME, is_mistaken, similar_keys
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem

ID = "topology-key-on-no-node"
SEVERITY = Severity.ERROR
SEE = "https://github.com/cozystack/cozystack/issues/3358"
NEEDS_INVENTORY = True
DECIDABLE = True
NEEDS = frozenset({WorkloadPart.HARD, WorkloadPart.SOFT, WorkloadPart.POD_AFFINITY})

#: What comes of a key without which no node is taken.
_PENDING = "every pod stays pending"
#: Keys of one workload that are compared with the labels of nodes, which takes some milliseconds each.
_ADVISED = 5
#: The cluster of a run that knows node groups alone.
_NOTHING_KNOWN = ClusterTopology()


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each constraint and each term whose key is on no node."""
    inventory = context.inventory or _NOTHING_KNOWN
    # A cluster without any node has yet to get some.
    if not inventory.nodes and context.scale_ups is None:
        return
    keys = {entry.constraint.topology_key for entry in workload.constraints}
    keys |= {term.topology_key for term in workload.pod_affinity.terms}
    # Of each key once: a pod may have hundreds of terms, and a cluster thousands of domains.
    on_no_node = {key for key in keys if _is_missing(key, workload, context, inventory)}
    for number, (path, key, effect) in enumerate(_uses(workload, on_no_node) if on_no_node else ()):
        similar = similar_keys(key, inventory.keys) if number < _ADVISED else []
        yield _problem(path, key, effect, similar, context)


def _uses(workload: Workload, keys: Collection[str]) -> Iterator[tuple[FieldPath, str, str]]:
    """Yield what uses some keys: where, which one, and what comes of it if no node has that."""
    soft = f"the constraint does nothing{_also(workload)}"
    for entry in workload.constraints:
        if (key := entry.constraint.topology_key) in keys:
            yield entry.path, key, _PENDING if entry.is_hard else soft
    for term in workload.pod_affinity.terms:
        if term.topology_key in keys:
            yield term.path, term.topology_key, _PENDING if term.needs_label else "the term does nothing"


def _is_missing(key: str, workload: Workload, context: Context, inventory: ClusterTopology) -> bool:
    # What is a mistake in any cluster has a rule of its own, which needs no nodes.
    return (
        not inventory.values(key)
        and not is_mistaken(key)
        and not _comes_with_new_nodes(key, workload, context)
    )


def _comes_with_new_nodes(key: str, workload: Workload, context: Context) -> bool:
    """Return whether the nodes that are added for pending pods carry a label that none has yet."""
    known = context.scale_ups
    if known is not None and (key == HOSTNAME or known.domains(workload, key)):
        return True
    if not key.startswith(KARPENTER_LABELS):
        return False
    return Tool.KARPENTER in context.repository.tools or context.scale_ups_of(Tool.KARPENTER) is not None


def _problem(path: FieldPath, key: str, effect: str, similar: list[str], context: Context) -> Problem:
    count = len(context.inventory.nodes or ()) if context.inventory is not None else 0
    severity = Severity.ERROR if effect == _PENDING else Severity.WARNING
    advice = f"; did you mean {' or '.join(similar)}?" if similar else ""
    nodes = "the only node does not have" if count == 1 else f"none of the {count} nodes has"
    text = f"{nodes} the label {key}"
    if context.scale_ups is not None:
        come = "that may come for these pods"
        text = f"{text}, nor has any {come}" if count else f"no node {come} has the label {key}"
    text = f"{text}, so {effect}{context.decided_with}{advice}"
    return Problem(path.child("topologyKey"), text, severity=severity)


def _also(workload: Workload) -> str:
    """Report that a node without one key of the soft constraints has no part in the score of any.

    Source: ``initPreScoreState``, ``podtopologyspread/scoring.go``, Kubernetes 1.36.
    """
    others = sum(not declared.is_hard for declared in workload.constraints) - 1
    if not others:
        return ""
    return f", nor do{'' if others > 1 else 'es'} the other ScheduleAnyway constraint{'s'[: others - 1]}"

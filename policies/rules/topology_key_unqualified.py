"""A topology key such as `zone` or `hostname`, bare or below a wrong prefix: a label that no node has.

## What it finds
The `topologyKey` of a constraint, of `podAffinity` or of `podAntiAffinity` is one of `zone`, `region`,
`hostname`, `host` and `node`, as in many examples, or a mixture of two names, such as
`topology.kubernetes.io/hostname` and `kubernetes.io/zone`, or one of them with a letter too much, or no name
of a label at all, such as one with a blank. Nothing is reported where a policy's `topology` knows the key, or
a node of the cluster has it. `topology-key-on-no-node` leaves what is reported here alone.

## Why it matters
Kubernetes and the cloud providers put `topology.kubernetes.io/zone`, `topology.kubernetes.io/region` and
`kubernetes.io/hostname` on nodes, no others. A node without the label takes no pod of a hard constraint or
of required pod affinity, so every pod stays pending: an error. Soft constraints, preferred terms and
anti-affinity do nothing: a warning.

## Fails
```yaml
topologyKey: zone
whenUnsatisfiable: DoNotSchedule
```

```yaml
topologyKey: topology.kubernetes.io/hostname
whenUnsatisfiable: DoNotSchedule
```

```yaml
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: hostname, labelSelector: {matchLabels: {app: web}}}
```

## Passes
```yaml
topologyKey: topology.kubernetes.io/zone
whenUnsatisfiable: DoNotSchedule
```

## How to fix
Use the name in the message, or else a label that nodes have. `evenkeel lint --fix` writes the name unless
another constraint has it or no node of the cluster does. If your nodes do carry this label, list it in the
`topology` of a SpreadPolicy, or lint with `--cluster`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath, shown
from policies.manifests.findings import Severity
from policies.model.labels import label_key_problems
from policies.model.topology_keys import SET_BY_KUBERNETES, is_mistaken, meant_key
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem

ID = "topology-key-unqualified"
SEVERITY = Severity.ERROR
FIXABLE = True
SEE = "https://github.com/kyverno/policies/tree/main/other-mpol/spread-pods-across-topology"
NEEDS = frozenset({WorkloadPart.HARD, WorkloadPart.SOFT, WorkloadPart.POD_AFFINITY})

#: What comes of a key without which no node is taken.
PENDING = "every pod stays pending"


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each constraint and each term over a wrong name of which nothing is known."""
    for declared in workload.constraints:
        effect = PENDING if declared.is_hard else "the constraint does nothing"
        for problem in _problem(declared.path, declared.constraint.topology_key, effect, context):
            # Two constraints of one key are what the API server refuses.
            action = declared.constraint.when_unsatisfiable
            edits = tuple(edit for edit in problem.edits if not workload.lists_pair(str(edit.new), action))
            yield replace(problem, edits=edits)
    for term in workload.pod_affinity.terms:
        effect = PENDING if term.needs_label else "the term does nothing"
        yield from _problem(term.path, term.topology_key, effect, context)


def _problem(path: FieldPath, key: str, effect: str, context: Context) -> Iterator[Problem]:
    # Nearly every constraint ends here, in every review.
    if key in SET_BY_KUBERNETES:
        return
    inventory = context.inventory
    if not is_mistaken(key) or (inventory is not None and inventory.values(key)):
        return
    severity = Severity.ERROR if effect == PENDING else Severity.WARNING
    path, edits = path.child("topologyKey"), tuple[Edit, ...]()
    meant = meant_key(key)
    if meant is None:
        text = f"no node can have the label {shown(key)}, so {effect}: {label_key_problems(key)[0]}"
    else:
        text = f"Kubernetes sets no node label {key}, so {effect}"
        if inventory is None or not inventory.nodes or inventory.values(meant):
            text, edits = f"{text}; use {meant}", (Edit(path, key, meant),)
        else:
            text = f"{text}; no node has {meant} either"
    yield Problem(path, text, edits, severity=severity)

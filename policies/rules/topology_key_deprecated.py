"""A constraint or a term of pod affinity over a deprecated node label.

## What it finds
The `topologyKey` of a constraint, of `podAffinity` or of `podAntiAffinity` is one of the labels
that got a new name when they became stable in Kubernetes 1.17: `failure-domain.beta.kubernetes.io/zone` and
`…/region`, `beta.kubernetes.io/instance-type`, `…/os` and `…/arch`.

## Why it matters
A node need not carry the old label any more. A node without it takes no pod of a hard constraint and is
ignored by a soft one; where only some nodes have it, a cluster of three zones looks like one of two.
Required pod affinity takes no such node, and anti-affinity lets replicas share it. The API server itself
warns.

## Fails
```yaml
topologyKey: failure-domain.beta.kubernetes.io/zone
whenUnsatisfiable: DoNotSchedule
```
```yaml
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: failure-domain.beta.kubernetes.io/zone
          labelSelector: {matchLabels: {app: web}}
```

## Passes
```yaml
topologyKey: topology.kubernetes.io/zone
whenUnsatisfiable: DoNotSchedule
```

## How to fix
Write the new name. `evenkeel lint --fix` does, unless the list already has the new key with the same
`whenUnsatisfiable` (then delete one of the two) or the known nodes do not carry it.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Severity
from policies.model.topology_keys import RENAMED, RENAMED_SINCE
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem

ID = "topology-key-deprecated"
SEVERITY = Severity.WARNING
SEE = "https://github.com/grafana/helm-charts/pull/2496"
FIXABLE = True
NEEDS = frozenset({WorkloadPart.HARD, WorkloadPart.SOFT, WorkloadPart.POD_AFFINITY})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each constraint and each term over a deprecated label."""
    if context.version < RENAMED_SINCE:
        return
    for declared in workload.constraints:
        old = declared.constraint.topology_key
        if (new := RENAMED.get(old)) is None:
            continue
        if workload.lists_pair(new, declared.constraint.when_unsatisfiable):
            text = f"{_text(old, new)}, which another entry with the same whenUnsatisfiable already has"
            yield Problem(declared.path.child("topologyKey"), text)
        else:
            yield _renamed(declared.path, old, new, context)
    for term in workload.pod_affinity.terms:
        if (new := RENAMED.get(term.topology_key)) is not None:
            yield _renamed(term.path, term.topology_key, new, context)


def _text(old: str, new: str) -> str:
    return f"{old} is deprecated since Kubernetes {RENAMED_SINCE}; use {new}"


def _renamed(path: FieldPath, old: str, new: str, context: Context) -> Problem:
    path, text = path.child("topologyKey"), _text(old, new)
    if context.inventory is not None and context.inventory.values(new) == frozenset():
        return Problem(path, f"{text}, which none of the known nodes has yet")
    return Problem(path, text, (Edit(path, old, new),))

"""A term of pod affinity or pod anti-affinity without a `labelSelector`, which selects no pod.

## What it finds
A term of `podAffinity` or `podAntiAffinity` whose `labelSelector` is missing or null. It is an error if the
term is a required one of `podAffinity`.

## Why it matters
Without a selector a term selects no pod, where `{}` would select every pod. Anti-affinity then keeps
nothing apart: replicas may share a node. A preferred affinity does nothing. A required affinity can never
be satisfied: every pod stays pending.

## Fails
```yaml
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
```
```yaml
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - {topologyKey: topology.kubernetes.io/zone, namespaces: [cache]}
  containers: [{name: web, image: web}]
```

## Passes
```yaml
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
```

## How to fix
Give the term a `labelSelector`: that of the workload's own pods to keep replicas apart, or `{}` for every
pod of the namespace.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.pod_affinity import AffinityTerm
from policies.model.topology_keys import domain_noun
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem

ID = "affinity-term-without-selector"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kubernetes/pull/117025"
NEEDS = frozenset({WorkloadPart.POD_AFFINITY})


def check(workload: Workload, _context: Context) -> Iterator[Problem]:
    """Yield each term without a selector."""
    for term in workload.pod_affinity.terms:
        if term.selector is None:
            severity, effect = _effect(term)
            text = f"has no labelSelector, so it selects no pods: {effect}"
            yield Problem(term.path, text, severity=severity)


def _effect(term: AffinityTerm) -> tuple[Severity, str]:
    if term.anti:
        return Severity.WARNING, f"replicas may share {domain_noun(term.topology_key)}"
    if term.required:
        return Severity.ERROR, "every pod stays pending"
    return Severity.WARNING, "the term does nothing"

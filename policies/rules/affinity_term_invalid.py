"""A term of pod affinity or pod anti-affinity that the API server rejects.

## What it finds
A term of `podAffinity` or `podAntiAffinity` with a missing or impossible `topologyKey`, an invalid
selector, a `weight` that is not from 1 to 100, label keys without a `labelSelector`, an unknown field, or
the form of the other list: `weight` and `podAffinityTerm` belong to preferred terms only.

## Why it matters
The API server rejects such a workload of Kubernetes' own kinds. It checks nothing in a custom resource: the
object is stored, and its controller fails to create the pods.

## Fails
```yaml
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector: {matchLabels: {app: web}}
```

## Passes
```yaml
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector: {matchLabels: {app: web}}
```

## How to fix
Write a required term as `{topologyKey, labelSelector}`, and a preferred one as `{weight, podAffinityTerm}`
with these inside `podAffinityTerm`.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.fields import UNKNOWN_FIELD
from policies.manifests.findings import Severity
from policies.model.version import KNOWN_VERSION
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem

ID = "affinity-term-invalid"
SEVERITY = Severity.ERROR
SEE = "https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity"
NEEDS = frozenset({WorkloadPart.POD_AFFINITY})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the errors that the API server would report in the terms."""
    for error in workload.pod_affinity.errors:
        # A newer release may have brought the field.
        if error.rule != UNKNOWN_FIELD or context.version <= KNOWN_VERSION:
            yield Problem(error.path, error.problem)

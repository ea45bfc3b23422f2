"""A constraint that counts the pods of another application too.

## What it finds
A constraint whose selector also matches the pods of another workload of its namespace in the repository,
where the two say that they are different applications: they differ in a label such as `app`,
`app.kubernetes.io/name` or `app.kubernetes.io/component`. Canary and primary, or blue and green, of one
application are left alone, and so are Jobs. Manifests without a namespace are compared only where they carry
the same `app.kubernetes.io/instance`.

## Why it matters
The scheduler counts whatever the selector matches. Ten workers in zone a make room for web pods only in zones
b and c: each looks balanced, neither is. A hard constraint can even keep pods of one application pending
because of where those of the other run: a warning, where a soft constraint is a note.

## Fails
```yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-web, namespace: shop}
spec:
  replicas: 3
  strategy: {type: Recreate}
  selector: {matchLabels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: web}}
  template:
    metadata: {labels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: web}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app.kubernetes.io/name: shop}}
      containers: [{name: web, image: web}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-worker, namespace: shop}
spec:
  replicas: 10
  selector: {matchLabels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: worker}}
  template:
    metadata: {labels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: worker}}
    spec:
      containers: [{name: worker, image: worker}]
```

## Passes
```yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-web, namespace: shop}
spec:
  replicas: 3
  strategy: {type: Recreate}
  selector: {matchLabels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: web}}
  template:
    metadata: {labels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: web}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: web}}
      containers: [{name: web, image: web}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-worker, namespace: shop}
spec:
  replicas: 10
  selector: {matchLabels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: worker}}
  template:
    metadata: {labels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: worker}}
    spec:
      containers: [{name: worker, image: worker}]
```

## How to fix
Select by labels that only this workload's pods have, best those of its own selector. Where applications are
meant to be spread together, select by `app.kubernetes.io/part-of`, which this rule takes as meant, or ignore
the rule with that reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from policies.findings import Severity
from policies.model.declared import DeclaredConstraint, Workload
from policies.model.own_selector import TOGETHER
from policies.model.workload import REVISION_OWNERS
from policies.rules.base import Context, Problem

SEVERITY = Severity.WARNING
SEE = "https://github.com/zalando-incubator/kubernetes-on-aws/pull/8254"

#: Labels that name an application or its part: two pods that differ in one are different applications.
IDENTITY = (
    "app",
    "app.kubernetes.io/name",
    "app.kubernetes.io/component",
    "k8s-app",
    "component",
    "role",
)
#: Labels that name one installation: where they are equal, manifests without a namespace share one.
INSTALLATION = ("app.kubernetes.io/instance", "release")
#: Labels whose value differs with every revision, and so with every workload.
_REVISIONS = frozenset(REVISION_OWNERS) | {"controller-revision-hash"}
#: Kinds whose pods come and go.
_TRANSIENT = ("CronJob", "Job", "PodTemplate")
#: How the names of variants of one application end.
_VARIANT = re.compile(r"-(canary|primary|stable|baseline|preview|active|blue|green)$")
#: How many other workloads a message names. Arbitrary; keeps one line readable.
_SHOWN = 3


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the first constraint of each selector that counts pods of other applications."""
    seen = set()
    neighbors = None
    for declared in workload.constraints:
        constraint = declared.constraint
        selector = constraint.selector
        counted = (selector, constraint.match_label_keys)
        if selector is None or selector.empty or TOGETHER in selector.keys or counted in seen:
            continue
        seen.add(counted)
        if _REVISIONS & set(constraint.match_label_keys) or not selector.matches(workload.labels):
            continue
        if neighbors is None:
            neighbors = list(_neighbors(workload, context))
        if shared := [other for other in neighbors if _counts(declared, workload.labels, other.labels)]:
            severity = Severity.WARNING if declared.is_hard else Severity.NOTE
            path = declared.path.child("labelSelector")
            yield Problem(path, _message(workload, shared), severity=severity)


def _neighbors(workload: Workload, context: Context) -> Iterator[Workload]:
    """Yield the other applications of the namespace whose pods stay."""
    name = _VARIANT.sub("", workload.name)
    for other in context.repository.workloads.get(workload.namespace, ()):
        if other is workload or other.kind.kind in _TRANSIENT or _VARIANT.sub("", other.name) == name:
            continue
        if not (workload.namespace or _same_installation(workload, other)):
            continue
        if context.repository.goes_with(workload, other.folder) and _difference(workload, other):
            yield other


def _same_installation(workload: Workload, other: Workload) -> bool:
    return any(
        key in workload.labels and workload.labels[key] == other.labels.get(key) for key in INSTALLATION
    )


def _difference(workload: Workload, other: Workload) -> str | None:
    """Return the first label that says that two workloads are different applications."""
    differing = (key for key in IDENTITY if workload.labels.get(key) != other.labels.get(key))
    return next(differing, None)


def _counts(declared: DeclaredConstraint, own: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    constraint = declared.constraint
    if constraint.selector is None or not constraint.selector.matches(labels):
        return False
    return all(labels.get(key) == own[key] for key in constraint.match_label_keys if key in own)


def _message(workload: Workload, shared: list[Workload]) -> str:
    named = [
        f"{other.title} ({key}={other.labels[key]})"
        if (key := _difference(workload, other) or "") in other.labels
        else f"{other.title} (no {key})"
        for other in shared[:_SHOWN]
    ]
    more = f" and {len(shared) - _SHOWN} more" if len(shared) > _SHOWN else ""
    key = _difference(workload, shared[0]) or ""
    own = f"{key}={workload.labels[key]}" if key in workload.labels else f"no {key}"
    return f"counts the pods of {', '.join(named)}{more} with those of this workload ({own})"

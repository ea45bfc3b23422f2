"""A constraint that also counts the pods of another application.

## What it finds
A constraint whose selector also matches the pods of another workload of its namespace in the repository,
where the labels show different applications: they differ in a label such as `app`, `app.kubernetes.io/name`
or `app.kubernetes.io/component`. Canary and primary, or blue and green, of one application are not
reported, nor are Jobs. Manifests without a namespace are compared only where they carry the same
`app.kubernetes.io/instance`.

## Why it matters
The scheduler counts every pod that the selector matches. Ten workers in zone a leave only zones b and c for
web pods: the sum is balanced, neither application is. A hard constraint can even keep pods of one
application pending because of where those of the other run: a warning, where a soft constraint is a note.

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
Select by labels that only this workload's pods have, preferably those of its own selector. Where
applications are meant to be spread together, select by `app.kubernetes.io/part-of`, which this rule
accepts, or exempt the workload with that reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from policies.manifests.findings import Severity
from policies.model.constraint import Constraint
from policies.model.controller_labels import TOGETHER
from policies.model.labels import LabelSelector
from policies.model.neighbors import AppKey, named
from policies.model.workload import Workload, WorkloadPart
from policies.model.workload_kinds import REVISION_OWNERS
from policies.rules.base import Context, Problem

ID = "selector-shared"
SEVERITY = Severity.WARNING
SEE = "https://github.com/zalando-incubator/kubernetes-on-aws/pull/8254"
NEEDS = frozenset({WorkloadPart.SELECTOR})

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


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the first constraint of each selector that counts pods of other applications."""
    if context.repository.is_alone(workload):
        return
    seen = set()
    for declared in workload.constraints:
        constraint = declared.constraint
        selector = constraint.selector
        counted = (selector, constraint.match_label_keys)
        if selector is None or selector.empty or TOGETHER in selector.keys or counted in seen:
            continue
        seen.add(counted)
        if _REVISIONS & set(constraint.match_label_keys) or not selector.matches(workload.template.labels):
            continue
        if shared := context.repository.others(
            workload, _narrowed(constraint, workload.template.labels), _app_key
        ):
            severity = Severity.WARNING if declared.is_hard else Severity.NOTE
            path = declared.path.child("labelSelector")
            yield Problem(path, _message(workload, shared), severity=severity)


def _narrowed(constraint: Constraint, labels: Mapping[str, str]) -> LabelSelector:
    """Return a constraint's selector narrowed by the pod's own values of ``matchLabelKeys``."""
    selector = constraint.selector or LabelSelector()
    own = ((key, labels[key]) for key in constraint.match_label_keys if key in labels)
    return LabelSelector((*selector.match_labels, *own), selector.match_expressions)


def _app_key(workload: Workload) -> AppKey:
    """Return the key by which a workload is another application, whose pods stay."""
    labels = workload.template.labels
    scopes: tuple[object, ...] = (None,)
    if not workload.namespace:
        scopes = tuple((key, labels[key]) for key in INSTALLATION if key in labels)
    return AppKey(
        name=_VARIANT.sub("", workload.name),
        application=tuple(labels.get(key) for key in IDENTITY),
        scopes=scopes,
        stays=workload.kind.kind not in _TRANSIENT,
    )


def _difference(workload: Workload, other: Workload) -> str | None:
    """Return the first label by which two workloads are different applications."""
    differing = (
        key for key in IDENTITY if workload.template.labels.get(key) != other.template.labels.get(key)
    )
    return next(differing, None)


def _message(workload: Workload, shared: list[Workload]) -> str:
    others = [
        f"{other.title} ({key}={other.template.labels[key]})"
        if (key := _difference(workload, other) or "") in other.template.labels
        else f"{other.title} (no {key})"
        for other in shared
    ]
    key = _difference(workload, shared[0]) or ""
    own = f"{key}={workload.template.labels[key]}" if key in workload.template.labels else f"no {key}"
    return f"also counts the pods of {named(others)}, together with those of this workload ({own})"

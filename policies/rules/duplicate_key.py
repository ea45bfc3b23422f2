"""A key that appears twice in a mapping.

## What it finds
A key that appears more than once in the same mapping of a Kubernetes object, in YAML or JSON. It is a
warning in workloads, in policies and in other objects with constraints, and a note elsewhere and where both
values are the same.

## Why it matters
`kubectl`, Helm and the API server take the last value and drop the others silently: a second `labels` or
`topologySpreadConstraints` replaces the first instead of adding to it. Kustomize rejects the file, and so
do other readers of YAML. A merge of two branches or a block that was pasted in is the usual cause.

## Fails
```yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: web}]
```

```yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: web, name: shop}  # a note
```

## Passes
```yaml
whenUnsatisfiable: DoNotSchedule
```

## How to fix
Keep one of the values, or merge both. `evenkeel lint --fix` does not change values of duplicate keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policies.manifests.documents import ManifestObject, RepeatedKey
from policies.manifests.fields import FieldPath, member, shown
from policies.manifests.findings import Severity
from policies.manifests.words import IN_MESSAGE, listed
from policies.model.embedded import embedded_lists
from policies.model.foreign_policies.detect import extract
from policies.model.repository import AUTOSCALER, BUDGET, SCALED_OBJECT, is_scheduler_config
from policies.model.workload_kinds import WorkloadKinds
from policies.rules.base import Context, Problem, RuleTarget

ID = "duplicate-key"
SEVERITY = Severity.WARNING
SEE = "https://github.com/neuvector/neuvector-helm/issues/398"
TARGET = RuleTarget.MANIFEST


#: The group and the kind of policies of our own (``policies.config.spread_policy``).
SPREAD_POLICY = ("evenkeel.dev", "SpreadPolicy")
#: The kinds besides those with constraints that other rules read.
_JUDGED_KINDS = frozenset({*WorkloadKinds(), AUTOSCALER, SCALED_OBJECT, BUDGET, SPREAD_POLICY})
#: The kind whose values are in no report.
_SECRET = "Secret"  # noqa: S105  # a kind


def check(manifest: ManifestObject, _context: Context) -> Iterator[Problem]:
    """Yield each key of the object that its mapping has more than once."""
    start = len(manifest.path.segments)
    ignored: dict[FieldPath, list[RepeatedKey]] = {}
    for key in manifest.document.repeated:
        if key.path.segments[:start] == manifest.path.segments:
            ignored.setdefault(FieldPath(key.path.segments[start:]), []).append(key)
    if not ignored:
        return
    is_judged = _is_judged(manifest.value)
    for path, keys in ignored.items():
        dropped = _dropped(keys, is_secret=manifest.value.get("kind") == _SECRET)
        if all(key.same for key in keys):
            text = f"duplicate key with one value: {dropped} the same"
            yield Problem(path, text, severity=Severity.NOTE)
        else:
            text = f"duplicate key: only the last value is used, {dropped} ignored"
            yield Problem(path, text, severity=None if is_judged else Severity.NOTE)


def _is_judged(obj: Mapping[str, Any]) -> bool:
    """Return whether other rules look at an object: at its pods, its constraints, or fields about them."""
    group, kind = str(obj.get("apiVersion")).rpartition("/")[0], str(obj.get("kind"))
    if (group, kind) in _JUDGED_KINDS or is_scheduler_config(obj) or member(obj, "spec").get("template"):
        return True
    return bool(extract(obj)) or any(True for _ in embedded_lists(obj))


def _dropped(keys: list[RepeatedKey], *, is_secret: bool) -> str:
    """Return which values are dropped, and the verb: by their lines, or else by what they are."""
    if all(key.earlier for key in keys):
        named, where = [str(key.earlier) for key in keys], " on line"
    elif not is_secret and all(key.text for key in keys):
        named, where = [shown(key.text) for key in keys], ""
    else:
        return "the others are"
    if len(keys) == 1:
        return f"the value{where} {named[0]} is"
    return f"the values{where and f'{where}s'} {listed(named, IN_MESSAGE)} are"

"""A key that appears twice in a mapping.

## What it finds
A key that appears more than once in the same mapping of a Kubernetes object, in YAML or JSON.

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
metadata: {name: web, name: shop}
```

## Passes
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
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: web}]
```

## How to fix
Keep one of the values, or merge both. `evenkeel fix` does not change values of duplicate keys.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.cel.check import NEEDS_FILES
from policies.manifests.documents import ManifestObject
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Severity
from policies.rules.base import Context, Problem, RuleTarget

SEVERITY = Severity.WARNING
SEE = "https://github.com/neuvector/neuvector-helm/issues/398"
TARGET = RuleTarget.MANIFEST
CEL = NEEDS_FILES


#: Lines that a message lists: what keeps it readable.
_LINES = 5


def check(manifest: ManifestObject, _context: Context) -> Iterator[Problem]:
    """Yield each key of the object that its mapping has more than once."""
    start = len(manifest.path.segments)
    ignored: dict[FieldPath, list[int]] = {}
    for key in manifest.document.repeated:
        if key.path.segments[:start] == manifest.path.segments:
            ignored.setdefault(FieldPath(key.path.segments[start:]), []).append(key.earlier)
    for path, lines in ignored.items():
        yield Problem(path, f"duplicate key: only the last value is used, {_dropped(lines)} ignored")


def _dropped(lines: list[int]) -> str:
    """Return which values are dropped, and the verb: by their lines, if the document has lines."""
    if not all(lines):
        return "the others are"
    if len(lines) == 1:
        return f"the value on line {lines[0]} is"
    more = f" and {len(lines) - _LINES} more" if len(lines) > _LINES else ""
    return f"the values on lines {', '.join(map(str, lines[:_LINES]))}{more} are"

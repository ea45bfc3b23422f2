"""A constraint whose `labelSelector` is not valid.

## What it finds
A `labelSelector` with a key or value that labels cannot have, an operator that there is not, `In` or
`NotIn` without values, or `Exists` or `DoesNotExist` with some.

## Why it matters
The API server rejects the object. Older releases accepted such selectors, and then no pod with one could be
scheduled.

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
          labelSelector: {matchExpressions: [{key: app, operator: In}]}
          matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: web}]
```
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
          labelSelector: {matchLabels: {app: my web}}
          matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: web}]
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
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: web}]
```
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
          labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}
          matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: web}]
```

## How to fix
Write labels of the pod's template below `matchLabels`, which is enough nearly always.
"""

from __future__ import annotations

from policies.cel.check import CelCheck, Over
from policies.cel.labels import is_label_key, is_label_value
from policies.manifests.findings import Severity
from policies.model.api_rules import ApiRule
from policies.rules.base import api_check

SEVERITY = Severity.ERROR
SEE = "https://github.com/kubernetes/kubernetes/pull/111802"
_LABELS = (
    f"constraint.matchLabels.exists(key, !{is_label_key('key')} "
    "|| (type(constraint.matchLabels[key]) == string "
    f"&& !{is_label_value('constraint.matchLabels[key]')}))"
)
_REQUIREMENTS = (
    f"constraint.matchExpressions.exists(e, !{is_label_key('e.key')} "
    "|| !(e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist']) "
    "|| (e.operator in ['In', 'NotIn']) == (e.values.size() == 0) "
    f"|| e.values.exists(value, !{is_label_value('value')}))"
)
CEL = CelCheck(
    broken=f"{_LABELS} || {_REQUIREMENTS}",
    message=(
        f"({_LABELS} ? '.labelSelector.matchLabels: Invalid value: must be keys and values of labels' "
        ": '.labelSelector.matchExpressions: Invalid value: must have a label key, one of the operators In, "
        "NotIn, Exists and DoesNotExist, and values of labels for the first two only')"
    ),
    over=Over.CONSTRAINTS,
)

check = api_check(ApiRule.LABEL_SELECTOR_INVALID)

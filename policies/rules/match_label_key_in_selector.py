"""A label key in both `matchLabelKeys` and `labelSelector`.

## What it finds
A key of `matchLabelKeys` that the `labelSelector` of the same constraint names too. A pod is not reported
for the requirement that the API server itself has added while it was created.

## Why it matters
Since Kubernetes 1.34 the API server writes the keys into the selector of each new pod and rejects one whose
selector then names a key twice. It does not look at the templates of workloads: the Deployment is accepted,
and then none of its pods can be created.

## Fails
```yaml
labelSelector: {matchLabels: {app: web}}
matchLabelKeys: [app]
```
```yaml
labelSelector: {matchExpressions: [{key: pod-template-hash, operator: Exists}]}
matchLabelKeys: [pod-template-hash]
```

## Passes
```yaml
labelSelector: {matchLabels: {app: web}}
matchLabelKeys: [pod-template-hash]
```

## How to fix
Use the key in one of them only: `labelSelector` says which pods count, `matchLabelKeys` distinguishes
revisions. `evenkeel lint --fix` removes it from `matchLabelKeys` if the selector requires exactly the value
that the template has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath
from policies.model.api_rules import ApiRule
from policies.model.controller_labels import controller_labels
from policies.model.labels import LabelSelector, Operator, label_selector_errors
from policies.model.workload import Workload
from policies.rules.base import Context, Problem, api_check

ID = ApiRule.MATCH_LABEL_KEY_IN_SELECTOR
SEE = "https://github.com/kubernetes/kubernetes/pull/129874"
FIXABLE = True
NEEDS = frozenset({ApiRule.MATCH_LABEL_KEY_IN_SELECTOR})

_find = api_check(ApiRule.MATCH_LABEL_KEY_IN_SELECTOR)


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each match label key that the selector names too."""
    for problem in _find(workload, context):
        yield Problem(problem.path, problem.message, tuple(_edits(workload, problem.path)))


def _edits(workload: Workload, path: FieldPath) -> Iterator[Edit]:
    """Yield the edit that takes a key out of ``matchLabelKeys``, if it then counts the same pods.

    That is so where the selector requires just the value that the template has.
    """
    *_, constraint, _, position = path.segments
    entry: Any = workload.template.spec["topologySpreadConstraints"][constraint]
    keys, raw = entry["matchLabelKeys"], entry["labelSelector"]
    if not isinstance(position, int) or label_selector_errors(raw, FieldPath()):
        return
    key = keys[position]
    # A value that the controller writes is another on the pods than in the template.
    if keys.count(key) > 1 or key in controller_labels(workload):
        return
    if _requires_value(LabelSelector.parse(raw), key, workload.template.labels.get(key)):
        yield Edit(path, key, None)


def _requires_value(selector: LabelSelector, key: str, value: str | None) -> bool:
    """Return whether all that a selector requires of a label is that it has one value."""
    required: list[tuple[str, ...]] = [(given,) for name, given in selector.match_labels if name == key]
    required += [
        entry.values if entry.operator is Operator.IN else ()
        for entry in selector.match_expressions
        if entry.key == key
    ]
    return value is not None and all(values == (value,) for values in required)

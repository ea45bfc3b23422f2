"""A key that appears twice in `matchLabelKeys`.

## What it finds
A workload whose constraint lists the same key in `matchLabelKeys` more than once.

## Why it matters
Since Kubernetes 1.34 the API server writes each entry into the selector of a new pod, and then rejects the
pod because its selector names a key twice. It does not look at the templates of workloads: the Deployment
is accepted, and none of its pods that has the label can be created.

## Fails
```yaml
matchLabelKeys: [pod-template-hash, pod-template-hash]
```

## Passes
```yaml
matchLabelKeys: [pod-template-hash]
```

## How to fix
List each key once. `evenkeel lint --fix` takes the repeats away.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.edits import Edit
from policies.manifests.findings import Severity
from policies.model.constraint import repeated_match_label_keys
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem

ID = "match-label-key-repeated"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kubernetes/pull/129874"
FIXABLE = True
NEEDS = frozenset({WorkloadPart.MATCH_LABEL_KEYS})


def check(workload: Workload, _context: Context) -> Iterator[Problem]:
    """Yield each match label key that repeats one before it."""
    if workload.kind.is_pod:
        return  # The API server refuses the pod itself: match-label-key-in-selector.
    if all(_has_no_repeats(declared.constraint.match_label_keys) for declared in workload.constraints):
        return
    raw = workload.template.constraints
    for path, key in repeated_match_label_keys(raw, workload.kind.constraints_path):
        text = f"{key} is listed twice: Kubernetes 1.34+ rejects every pod that has this label"
        yield Problem(path, text, (Edit(path, key, None),))


def _has_no_repeats(keys: tuple[str, ...]) -> bool:
    return len(keys) == len(set(keys))

"""A constraint without a `labelSelector`.

## What it finds
An entry of `topologySpreadConstraints` whose `labelSelector` is missing or null. (With `matchLabelKeys` it is
an error of the API: `match-label-keys-without-selector`.)

## Why it matters
Without a selector no pod counts, not even the pod itself. The count of every domain is 0, and the
constraint does nothing. The API server only warns, and charts that leave the selector to their users
contain it.

## Fails
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
```

## Passes
```yaml
labelSelector: {matchLabels: {app: web}}
matchLabelKeys: [pod-template-hash]
```

## How to fix
Select the labels of the workload's own selector, or for a Job, a CronJob or a Pod, which have none to copy, a
label of the template that no other pods have. `evenkeel lint --fix` writes the workload's selector where it
selects the template. (The selector of a Job is generated, with a value that is not known before.)
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.controller_labels import own_selector_edits
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import AtAdmission, Context, Problem

ID = "selector-missing"
SEVERITY = Severity.ERROR
SEE = "https://github.com/kubernetes/kubernetes/issues/135797"
AT_ADMISSION = AtAdmission.DENY
FIXABLE = True
NEEDS = frozenset({WorkloadPart.NO_SELECTOR})


def check(workload: Workload, _context: Context) -> Iterator[Problem]:
    """Yield each constraint that has no selector."""
    for declared in workload.constraints:
        if declared.constraint.selector is not None or workload.is_patch:
            continue
        key = declared.constraint.topology_key
        # A finding points at the nearest thing that is there: the constraint.
        yield Problem(
            declared.path.child("labelSelector"),
            f"is missing: no pods are counted, so nothing is spread over {key}",
            own_selector_edits(workload, declared),
        )

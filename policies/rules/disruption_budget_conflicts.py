"""A disruption budget that never allows evicting a pod of a workload with constraints.

## What it finds
A PodDisruptionBudget of the repository that selects the pods of a workload with constraints and allows no
eviction at all: `maxUnavailable: 0`, or a `minAvailable` equal to the number of replicas (with an
autoscaler: to its maximum). For a budget over several workloads, their replicas are added up.

## Why it matters
Constraints only apply when pods are placed. Afterwards, only evictions restore the balance: draining a
node, an autoscaler that consolidates, a descheduler. Such a budget rejects all of them, so a drain waits
forever and the skew after the loss of a zone remains.

## Fails
```yaml
whenUnsatisfiable: DoNotSchedule
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}
```

## Passes
```yaml
whenUnsatisfiable: DoNotSchedule
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
```

## How to fix
Allow at least one eviction: `maxUnavailable: 1` stays correct when the number of replicas changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.scaling import DisruptionBudget, scaled
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem

ID = "disruption-budget-conflicts"
SEVERITY = Severity.WARNING
SEE = "https://github.com/nais/naiserator/pull/268"
NEEDS = frozenset({WorkloadPart.HARD, WorkloadPart.SOFT})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each budget that allows no eviction, at the list of constraints."""
    if not workload.constraints:
        return
    for budget in context.repository.budgets(workload):
        pods = context.repository.pods(workload.namespace, budget)
        reason = None if pods is None else _refusal(budget, pods)
        if reason is not None:
            text = (
                f"PodDisruptionBudget {budget.name} never allows an eviction ({reason}): node drains hang, "
                "and the spread cannot be restored"
            )
            yield Problem(workload.kind.constraints_path, text)


def _refusal(budget: DisruptionBudget, pods: int) -> str | None:
    """Return why a budget refuses every eviction while all pods are healthy, None if it need not.

    Percentages are rounded up, of ``maxUnavailable`` too: ``getExpectedPodCount``,
    ``pkg/controller/disruption``, Kubernetes 1.36.
    """
    if budget.max_unavailable is not None:
        none = scaled(budget.max_unavailable, pods) == 0
        return f"maxUnavailable {budget.max_unavailable}" if none else None
    needed = scaled(budget.min_available, pods)
    if needed is None or needed < pods:
        return None
    return f"minAvailable {budget.min_available} of {pods} replicas"

"""A constraint with `minDomains`, which the descheduler does not know.

## What it finds
A `DoNotSchedule` constraint with `minDomains` above 1 where the descheduler evicts pods by spread
constraints: a policy in the repository uses its plugin `RemovePodsViolatingTopologySpreadConstraint`, or
`in_use` is set.

## Why it matters
The plugin uses the smallest count of the existing domains as the minimum. With fewer domains than
`minDomains` the scheduler uses 0: what is balanced for the descheduler is a violation for the scheduler. So
pods that were placed before a domain was lost stay where they are, and those that are evicted for another
reason stay pending.

## Fails
```yaml
minDomains: 3
whenUnsatisfiable: DoNotSchedule
---
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: default
    plugins: {balance: {enabled: [RemovePodsViolatingTopologySpreadConstraint]}}
```

## Passes
```yaml
minDomains: 3
whenUnsatisfiable: DoNotSchedule
---
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: default
    plugins: {deschedule: {enabled: [RemovePodsViolatingNodeTaints]}}
```

## How to fix
Do not count on the descheduler to restore the spread of this workload after a domain was lost, or leave
it out of the plugin's namespaces or label selector.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.scaling import Tool
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem

ID = "descheduler-ignores-min-domains"
SEVERITY = Severity.NOTE
SEE = "https://github.com/kubernetes-sigs/descheduler/issues/855"
TOOL = Tool.DESCHEDULER
NEEDS = frozenset({WorkloadPart.MIN_DOMAINS})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each hard constraint with minDomains."""
    if not context.behavior.min_domains:
        return
    for declared in workload.constraints:
        if declared.is_hard and declared.constraint.min_domains > 1:
            yield Problem(
                declared.path.child("minDomains"),
                f"is {declared.constraint.min_domains}, which the descheduler ignores: with fewer domains of "
                f"{declared.constraint.topology_key} it takes for balanced what kube-scheduler rejects",
            )

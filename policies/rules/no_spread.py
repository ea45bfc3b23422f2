"""A workload of several replicas that nothing spreads.

## What it finds
A workload that runs at least two replicas and has neither `topologySpreadConstraints` nor
`podAntiAffinity`. The rule is opt-in: enable it with `--enable no-spread`, or set its severity in a
SpreadPolicy, which limits it to the policy's scope.

## Why it matters
Nothing but kube-scheduler's built-in defaults spreads such pods. They only prefer nodes and zones with fewer
of them, and give way to other preferences. Replicas that share a node or a zone are lost with it.

## Fails
```yaml
spec: {replicas: 3}
```

## Passes
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

## How to fix
Add `topologySpreadConstraints`; `evenkeel lint --fix --inject --policy builtin:soft-spread` writes soft ones
over zones and nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policies.manifests.fields import descend
from policies.manifests.findings import Severity
from policies.manifests.wire import DocumentFields
from policies.model.workload import Workload
from policies.rules.base import Context, Problem

ID = "no-spread"
SEVERITY = Severity.WARNING
SEE = "https://github.com/stackrox/kube-linter/issues/894"
OPT_IN = True


@dataclass(frozen=True, slots=True)
class Params(DocumentFields):
    """Settings."""

    min_replicas: int = 2  #: The replicas from which a workload must be spread.


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the workload if it has several replicas and no spread."""
    replicas = context.repository.replicas(workload)
    if replicas is None or replicas.most < context.params.min_replicas:
        return
    if workload.is_patch or _is_spread(workload):
        return
    text = (
        f"has no topologySpreadConstraints and no podAntiAffinity: {replicas.most} replicas may share a node"
    )
    yield Problem(workload.pod_path.child("spec"), text)


def _is_spread(workload: Workload) -> bool:
    """Return whether a workload has any spread of its own, valid or not."""
    affinity = descend(workload.template.spec, ("affinity",))
    return bool(workload.template.constraints or affinity.get("podAntiAffinity"))

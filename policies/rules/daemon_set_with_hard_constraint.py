"""A hard constraint on a DaemonSet, whose pods have no choice of node.

## What it finds
A `DoNotSchedule` constraint in the pod template of a DaemonSet.

## Why it matters
The DaemonSet controller ties each of its pods to one node by node affinity. With `nodeAffinityPolicy:
Honor`, the default, only that node counts, so the constraint spreads nothing: its only effect is to keep
pods off nodes without the topology key. With `Ignore` all nodes count, and where zones differ in the number
of their nodes, the larger ones never get all their pods.

## Fails
```yaml
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: agent}}
      containers: [{name: agent, image: agent}]
```

## Passes
```yaml
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers: [{name: agent, image: agent}]
```

## How to fix
Remove the constraint. For a fixed number of spread pods use a Deployment.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.constraint import NodeInclusionPolicy
from policies.model.topology_keys import HOSTNAME
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem

ID = "daemon-set-with-hard-constraint"
SEVERITY = Severity.WARNING
SEE = "https://github.com/FairwindsOps/polaris/issues/911"
NEEDS = frozenset({WorkloadPart.DAEMON_SET})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each hard constraint of a DaemonSet."""
    if workload.kind.kind != "DaemonSet":
        return
    knows_policies = context.behavior.inclusion_policies
    for declared in workload.constraints:
        if not declared.is_hard:
            continue
        constraint = declared.constraint
        counts_all = knows_policies and constraint.node_affinity_policy is NodeInclusionPolicy.IGNORE
        if counts_all and constraint.topology_key != HOSTNAME:
            effect = (
                f"counts all nodes (nodeAffinityPolicy Ignore): a domain of {constraint.topology_key} gets "
                f"at most {constraint.max_skew} pod(s) more than the smallest, its other nodes get none"
            )
        else:
            effect = (
                f"cannot spread over {constraint.topology_key}: each pod of a DaemonSet is bound to its "
                "node, so the constraint can only keep pods off nodes"
            )
        yield Problem(declared.path, effect)

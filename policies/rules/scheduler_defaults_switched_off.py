"""A single soft constraint that switches off both default constraints of the scheduler.

## What it finds
A Deployment, ReplicaSet, StatefulSet or Rollout with two replicas or more whose only constraint is soft and
over `kubernetes.io/hostname` or over `topology.kubernetes.io/zone`, with no pod anti-affinity over the
other one. Nothing is reported where the pod's node selector or affinity leaves a single value of the other
one, where the pod's profile has other defaults (`--scheduler-config`, or a KubeSchedulerConfiguration of the
repository), and before Kubernetes 1.24. It is not checked for a pod whose scheduler has no known profile.

## Why it matters
A pod without constraints is spread by two built-in ones: over nodes (`maxSkew: 3`) and over zones
(`maxSkew: 5`). A pod with one constraint of its own loses both. With only a zone constraint nothing keeps
all pods of a zone off the same node; with only a node constraint they may be on different nodes of one
zone.

## Fails
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

## Passes
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [pod-template-hash]
```

## How to fix
Write the other constraint beside it, soft as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.manifests.fields import ErrorList, FieldPath, descend
from policies.manifests.findings import Severity
from policies.model.interpod_terms import PREFERRED, REQUIRED
from policies.model.version import KubernetesVersion
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.configuration import SYSTEM_CONSTRAINTS

ID = "scheduler-defaults-switched-off"
SEVERITY = Severity.NOTE
SEE = "https://github.com/kubernetes-sigs/karpenter/pull/3183"
NEEDS = frozenset({WorkloadPart.SOFT})
NEEDS_PROFILE = True

#: The first release whose built-in defaults are on for good (KEP-1258).
DEFAULTS_SINCE = KubernetesVersion(1, 24)
#: The kinds whose pods always have a selector for the defaults: that of their ReplicaSet or StatefulSet.
DEFAULTED_KINDS = frozenset(
    [("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("argoproj.io", "Rollout")]
)
#: The built-in defaults by topology key.
BUILT_IN = {entry.topology_key: entry for entry in SYSTEM_CONSTRAINTS}


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the only constraint, if it replaces both defaults and covers only one of them."""
    entries = workload.template.constraints
    if not isinstance(entries, list) or len(entries) != 1 or len(workload.constraints) != 1:
        return
    if workload.is_patch:
        return  # The manifest that it is merged into may have others.
    declared = workload.constraints[0]
    key = declared.constraint.topology_key
    kind = (workload.kind.group, workload.kind.kind)
    if declared.is_hard or key not in BUILT_IN or kind not in DEFAULTED_KINDS:
        return
    replicas = context.repository.replicas(workload)
    lost = next(entry for entry in SYSTEM_CONSTRAINTS if entry.topology_key != key)
    if replicas is None or replicas.most < 2 or lost.topology_key in _apart(workload):
        return
    held = workload.affinity.values_of(lost.topology_key)
    if held is not None and len(held) < 2:
        return  # Pods that are held to one zone lose nothing by not being spread over zones.
    if context.version < DEFAULTS_SINCE:
        return
    if any(profile.constraints != SYSTEM_CONSTRAINTS for profile in context.profiles_of(workload)):
        return
    text = (
        f"replaces both built-in default constraints: nothing spreads the {replicas.most} "
        f"replicas{replicas.evidence} over {lost.topology_key} (default: maxSkew {lost.max_skew}, "
        f"{lost.when_unsatisfiable})"
    )
    yield Problem(declared.path, text)


def _apart(workload: Workload) -> set[Any]:
    """Return the topology keys over which anti-affinity separates pods."""
    found = ErrorList()
    terms = descend(workload.template.spec, ("affinity", "podAntiAffinity"), found)
    required = found.objects(terms.get(REQUIRED), FieldPath())
    preferred = found.objects(terms.get(PREFERRED), FieldPath())
    keys = {term.get("topologyKey") for _, term in required}
    for _, term in preferred:
        inner = term.get("podAffinityTerm")
        if isinstance(inner, dict):
            keys.add(inner.get("topologyKey"))
    return {key for key in keys if isinstance(key, str)}

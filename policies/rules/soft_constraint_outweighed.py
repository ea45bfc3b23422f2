"""A soft constraint under a scheduler that gives more weight to packing nodes.

## What it finds
A `ScheduleAnyway` constraint, where the pod's profile either does not run `PodTopologySpread` for scoring, or
scores `NodeResourcesFit` by `MostAllocated` with a greater weight than `PodTopologySpread`. The profile is
that of `--scheduler-config`, or of a KubeSchedulerConfiguration of the repository if one alone has it. It is
not checked for a pod whose scheduler has no known profile.

## Why it matters
A soft constraint is one score among others: 0 to 100, times the weight of its plugin. `MostAllocated` gives
the fullest node the highest score. With a greater weight it wins over the spread, and pods go where the
others are.

## Fails
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
---
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins:
      score:
        enabled: [{name: NodeResourcesFit, weight: 5}]
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy: {type: MostAllocated}
```

## Passes
```yaml
whenUnsatisfiable: DoNotSchedule
---
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins:
      score:
        enabled: [{name: NodeResourcesFit, weight: 5}]
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy: {type: MostAllocated}
```

## How to fix
Where the spread matters, make the constraint hard; or give `PodTopologySpread` the greater weight.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.constraint import WhenUnsatisfiable
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.profile import Plugin, Profile, StrategyType

ID = "soft-constraint-outweighed"
SEVERITY = Severity.NOTE
SEE = "https://github.com/kubernetes/kubernetes/issues/91234"
NEEDS = frozenset({WorkloadPart.SOFT})
NEEDS_PROFILE = True

#: The plugin of the constraints, and the one that packs nodes with a strategy.
SPREADING, PACKING = Plugin.POD_TOPOLOGY_SPREAD, Plugin.NODE_RESOURCES_FIT


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each soft constraint that the configured scheduler overrules."""
    soft = [declared for declared in workload.constraints if not declared.is_hard]
    profiles = context.profiles_of(workload) if soft else []
    if len(profiles) == 1 and (reason := _overruled(profiles[0].plugins)) is not None:
        short = f"profile {profiles[0].scheduler_name} outweighs it"
        for declared in soft:
            path = declared.path.child("whenUnsatisfiable")
            yield Problem(
                path, f"is ScheduleAnyway, but {reason}", short=f"is ScheduleAnyway, but the {short}"
            )


def _overruled(profile: Profile) -> str | None:
    name = profile.scheduler_name
    if not profile.spreads(WhenUnsatisfiable.SCHEDULE_ANYWAY):
        return f"profile {name} has no {SPREADING} score plugin: it has no effect"
    if profile.fit.strategy is not StrategyType.MOST_ALLOCATED:
        return None
    packing, spreading = profile.weight(PACKING), profile.weight(SPREADING)
    if packing <= spreading:
        return None
    return (
        f"profile {name} gives bin packing ({PACKING} {StrategyType.MOST_ALLOCATED}, weight {packing}) more "
        f"weight than spreading ({SPREADING}, weight {spreading}): a node that is fuller by "
        f"{100 * spreading // packing + 1} points wins over the best spread"
    )

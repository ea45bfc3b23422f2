"""A soft constraint under a scheduler that gives more weight to packing nodes.

## What it finds
A `ScheduleAnyway` constraint, where the repository has exactly one KubeSchedulerConfiguration and the pod's
profile there either does not run `PodTopologySpread` for scoring, or scores `NodeResourcesFit` by
`MostAllocated` with a greater weight than `PodTopologySpread`.

## Why it matters
A soft constraint is one score among others: 0 to 100, times the weight of its plugin. `MostAllocated` gives
the fullest node the highest score. With a greater weight it wins over the spread, and pods go where the
others are.

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
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: web}]
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
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: web}]
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

from collections.abc import Iterator, Mapping
from typing import Any

from policies.manifests.fields import ErrorList, FieldPath, descend
from policies.manifests.findings import Severity
from policies.model.workload import Workload
from policies.rules.base import Context, Problem
from policies.scheduler.configuration import DEFAULT_SCHEDULER, PLUGIN, build, config_errors

SEVERITY = Severity.NOTE
SEE = "https://github.com/kubernetes/kubernetes/issues/91234"

#: The plugin that packs nodes with this scoring strategy.
PACKING, MOST_ALLOCATED = "NodeResourcesFit", "MostAllocated"
#: Weights of the default profile: ``default_plugins.go``, Kubernetes 1.36.
DEFAULT_WEIGHTS = {PLUGIN: 2, PACKING: 1}


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each soft constraint that the configured scheduler overrules."""
    soft = [declared for declared in workload.constraints if not declared.is_hard]
    if not soft or len(context.repository.scheduler_configs) != 1:
        return
    config = context.repository.scheduler_configs[0]
    if config_errors(config):
        return
    name = workload.template.spec.get("schedulerName") or DEFAULT_SCHEDULER
    raw = _raw_profile(config, name)
    reason = None if raw is None else _overruled(raw, config, name)
    if reason is not None:
        for declared in soft:
            path, short = declared.path.child("whenUnsatisfiable"), f"profile {name} outweighs it"
            yield Problem(
                path, f"is ScheduleAnyway, but {reason}", short=f"is ScheduleAnyway, but the {short}"
            )


def _raw_profile(config: Mapping[str, Any], name: object) -> Mapping[str, Any] | None:
    profiles = config.get("profiles")
    entries = [profiles] if isinstance(profiles, dict) else (profiles or [])
    named = (
        entry for entry in entries if entry and (entry.get("schedulerName") or DEFAULT_SCHEDULER) == name
    )
    return next(named, None)


def _overruled(raw: Mapping[str, Any], config: Mapping[str, Any], name: str) -> str | None:
    if _is_switched_off(raw, config, name):
        return f"profile {name} has no {PLUGIN} score plugin: it has no effect"
    if _strategy(raw) != MOST_ALLOCATED:
        return None
    packing, spreading = _weight(raw, PACKING), _weight(raw, PLUGIN)
    if packing <= spreading:
        return None
    return (
        f"profile {name} gives bin packing ({PACKING} {MOST_ALLOCATED}, weight {packing}) more weight "
        f"than spreading ({PLUGIN}, weight {spreading}): a node that is fuller by "
        f"{100 * spreading // packing + 1} points wins over the best spread"
    )


def _is_switched_off(raw: Mapping[str, Any], config: Mapping[str, Any], name: str) -> bool:
    """Return whether the plugin is disabled for soft constraints: then the built-in ones have no effect."""
    built_in = {**raw, "schedulerName": name, "pluginConfig": []}
    return not build({**config, "profiles": [built_in]}).constraints_for(name)


def _strategy(raw: Mapping[str, Any]) -> object:
    for _, entry in ErrorList().objects(raw.get("pluginConfig"), FieldPath()):
        if entry.get("name") == PACKING:
            return descend(entry, ("args", "scoringStrategy"), ErrorList()).get("type")
    return None


def _weight(raw: Mapping[str, Any], plugin: str) -> int:
    """Return a plugin's weight at the score point: as said there, else everywhere, else the default."""
    for point in ("score", "multiPoint"):
        settings = descend(raw, ("plugins", point), ErrorList())
        for _, entry in ErrorList().objects(settings.get("enabled"), FieldPath()):
            if entry.get("name") == plugin:
                weight = entry.get("weight")
                return weight if type(weight) is int and weight > 0 else 1
        disabled = ErrorList().objects(settings.get("disabled"), FieldPath())
        if any(entry.get("name") in (plugin, "*") for _, entry in disabled):
            return 0
    return DEFAULT_WEIGHTS[plugin]

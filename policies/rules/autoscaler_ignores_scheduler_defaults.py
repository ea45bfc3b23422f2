"""A hard default constraint of the scheduler, which the node autoscaler does not know.

## What it finds
In a KubeSchedulerConfiguration, a `DoNotSchedule` entry of `defaultConstraints` where nodes are added by
Karpenter, or by a Cluster Autoscaler without `--scheduler-config-file`: the repository has an object of the
group `karpenter.sh` or a workload with the autoscaler's image, or `in_use` is set.

## Why it matters
Default constraints are in the configuration of the scheduler, not in the pods. The scheduler keeps a pod
pending because of them; the autoscaler sees a pod without constraints that fits on an existing node, and
adds none. The pod stays pending, and its manifest shows no reason.

## Fails
```yaml
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: PodTopologySpread
        args:
          defaultingType: List
          defaultConstraints:
            - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec: {template: {spec: {requirements: []}}}
```

## Passes
```yaml
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: PodTopologySpread
        args:
          defaultingType: List
          defaultConstraints:
            - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec: {template: {spec: {requirements: []}}}
```

## How to fix
Keep the scheduler's defaults at `ScheduleAnyway` and write hard constraints into the pods, by hand or at
admission, where every tool sees them. Cluster Autoscaler can be given the same file with
`--scheduler-config-file`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policies.manifests.fields import ErrorList, FieldPath
from policies.manifests.findings import Severity
from policies.model.constraint import WhenUnsatisfiable
from policies.model.repository import Repository
from policies.model.scaling import Tool, reads_scheduler_config
from policies.rules.base import Context, Problem, RuleTarget, ToolParams
from policies.scheduler.configuration import PLUGIN, config_errors

ID = "autoscaler-ignores-scheduler-defaults"
SEVERITY = Severity.NOTE
SEE = "https://github.com/kubernetes-sigs/karpenter/pull/3183"
TARGET = RuleTarget.SCHEDULER_CONFIG
Params = ToolParams


def check(config: Mapping[str, Any], context: Context) -> Iterator[Problem]:
    """Yield each hard default constraint."""
    tools = _unaware(context.repository)
    if not tools and context.params is not None and context.params.in_use:
        tools = ["the node autoscaler"]
    if not tools or config_errors(config):
        return
    for path, entry in _default_constraints(config):
        if entry.get("whenUnsatisfiable") == WhenUnsatisfiable.DO_NOT_SCHEDULE:
            yield Problem(
                path.child("whenUnsatisfiable"),
                f"keeps pods pending to spread them over {entry.get('topologyKey')}, but "
                f"{' and '.join(tools)} ignores default constraints and adds no node for them",
            )


def _unaware(repository: Repository) -> list[str]:
    """Return the tools that add nodes and do not read the scheduler's configuration."""
    tools: list[str] = []
    if any(not reads_scheduler_config(workload) for workload in repository.autoscalers_of_nodes):
        tools.append(Tool.CLUSTER_AUTOSCALER)
    return [*tools, Tool.KARPENTER] if Tool.KARPENTER in repository.tools else tools


def _default_constraints(config: Mapping[str, Any]) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """Yield the entries of every profile's list, of a configuration without errors."""
    found = ErrorList()
    for where, profile in found.objects(config.get("profiles"), FieldPath(("profiles",))):
        for at, plugin in found.objects(profile.get("pluginConfig"), where.child("pluginConfig")):
            if plugin.get("name") == PLUGIN:
                path = at.child("args", "defaultConstraints")
                arguments = found.mapping(plugin.get("args"), at)
                yield from found.objects(arguments.get("defaultConstraints"), path)

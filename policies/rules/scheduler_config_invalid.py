"""A KubeSchedulerConfiguration with which kube-scheduler does not start.

## What it finds
In a document of kind KubeSchedulerConfiguration: `PodTopologySpread` arguments
with `defaultingType: System` and a list besides, with a `labelSelector` (which is deduced, and so
forbidden), with a `maxSkew` below 1, an invalid or missing `topologyKey`, an unknown `whenUnsatisfiable`, a
pair of both that appears twice; invalid arguments of `NodeResourcesFit`, `NodeResourcesBalancedAllocation`,
`NodeAffinity` and `InterPodAffinity`; plugins at extension points that they do not implement, repeated
plugins, profiles without a plugin that sorts the queue or binds pods; profiles of one name; a plugin that is
configured twice; unknown fields; an unknown version. Arguments of other plugins are not checked.

## Why it matters
kube-scheduler validates its configuration once, when it starts, and exits. With one scheduler, or one file
for all of them, no pod of the cluster is placed from then on.

## Fails
```yaml
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: PodTopologySpread
        args:
          defaultingType: System
          defaultConstraints:
            - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
```
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
            - maxSkew: 1
              topologyKey: topology.kubernetes.io/zone
              whenUnsatisfiable: ScheduleAnyway
              labelSelector: {matchLabels: {app: web}}
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
```

## How to fix
Correct the field that the message names. For a list of your own write `defaultingType: List`, and no
selectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policies.manifests.findings import Severity
from policies.model.version import KubernetesVersion
from policies.rules.base import Context, Problem, RuleTarget
from policies.scheduler.configuration import CONFIG_UNKNOWN, config_errors

ID = "scheduler-config-invalid"
SEVERITY = Severity.ERROR
SEE = "https://github.com/rancher/rke2/issues/6641"
TARGET = RuleTarget.SCHEDULER_CONFIG

#: The first release that reads version v1; those before it read versions that are not known here.
V1_SINCE = KubernetesVersion(1, 25)


def check(config: Mapping[str, Any], context: Context) -> Iterator[Problem]:
    """Yield everything that kube-scheduler would refuse."""
    for error in config_errors(config):
        if error.rule == CONFIG_UNKNOWN and context.version < V1_SINCE:
            continue
        yield Problem(error.path, error.problem)

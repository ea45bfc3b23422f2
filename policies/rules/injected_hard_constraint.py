"""A policy that makes every workload unschedulable where it cannot be spread.

## What it finds
A Kyverno policy or a Gatekeeper Assign that injects `DoNotSchedule`, and requires no label, name,
annotation or namespace of the objects that get it. A MutatingAdmissionPolicy is left alone: its binding
decides.

## Why it matters
A hard constraint keeps pods pending rather than unbalanced, and the author of the workload did not choose
that. It leaves pods pending during rollouts, while a zone is lost, and wherever nodes lack the label; also
those of system components that were not considered, and of the policy engine itself.

## Fails
```yaml
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: spread}
spec:
  rules:
    - name: spread
      match: {any: [{resources: {kinds: [Deployment, StatefulSet]}}]}
      mutate:
        patchStrategicMerge:
          spec:
            template:
              spec:
                +(topologySpreadConstraints):
                  - maxSkew: 1
                    topologyKey: topology.kubernetes.io/zone
                    whenUnsatisfiable: DoNotSchedule
                    labelSelector:
                      matchLabels: {app: "{{ request.object.spec.template.metadata.labels.app }}"}
```

## Passes
```yaml
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: spread}
spec:
  rules:
    - name: spread
      match: {any: [{resources: {kinds: [Deployment, StatefulSet]}}]}
      mutate:
        patchStrategicMerge:
          spec:
            template:
              spec:
                +(topologySpreadConstraints):
                  - maxSkew: 1
                    topologyKey: topology.kubernetes.io/zone
                    whenUnsatisfiable: ScheduleAnyway
                    labelSelector:
                      matchLabels: {app: "{{ request.object.spec.template.metadata.labels.app }}"}
```
```yaml
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: spread}
spec:
  rules:
    - name: spread
      match:
        any:
          - resources: {kinds: [Deployment], selector: {matchLabels: {spread: required}}}
      mutate:
        patchStrategicMerge:
          spec:
            template:
              spec:
                +(topologySpreadConstraints):
                  - maxSkew: 1
                    topologyKey: topology.kubernetes.io/zone
                    whenUnsatisfiable: DoNotSchedule
                    labelSelector:
                      matchLabels: {app: "{{ request.object.spec.template.metadata.labels.app }}"}
```

## How to fix
Inject `ScheduleAnyway`, and let workloads choose a hard constraint with a label that the policy matches.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.constraint import WhenUnsatisfiable
from policies.model.foreign_policies.constraints import ForeignInjection
from policies.rules.base import Context, Problem, RuleTarget

ID = "injected-hard-constraint"
SEVERITY = Severity.WARNING
SEE = "https://github.com/devantler-tech/platform/pull/1661"
TARGET = RuleTarget.INJECTION


def check(injection: ForeignInjection, _context: Context) -> Iterator[Problem]:
    """Yield each hard constraint that is injected without an opt-in."""
    if injection.narrowed:
        return
    whom = " and ".join(sorted(injection.kinds)) or "object"
    for inner, entry in injection.literal():
        if entry.get("whenUnsatisfiable") == WhenUnsatisfiable.DO_NOT_SCHEDULE:
            path, named = injection.place(inner.child("whenUnsatisfiable"))
            text = f"DoNotSchedule for every {whom}: the policy is not limited to any label or namespace"
            yield Problem(path, f"{named}{text}")

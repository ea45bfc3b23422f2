"""A policy that injects a constraint which the API server rejects.

## What it finds
In what a Kyverno policy, a MutatingAdmissionPolicy or a Gatekeeper Assign writes into
`topologySpreadConstraints`: everything that the API server would reject in a constraint. Only literal
values are checked; a value such as `{{ request.object.metadata.name }}` is not, and where constraints are
merged into others, neither is a field that is missing.

## Why it matters
The policy itself is accepted. From then on every workload that it changes, or each of its pods, is rejected
with an error about a field that the author of the workload has not written.

## Fails
```yaml
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: spread}
spec:
  rules:
    - name: spread
      match: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {tier: front}}}}]}
      mutate:
        patchStrategicMerge:
          spec:
            template:
              spec:
                +(topologySpreadConstraints):
                  - maxSkew: 1
                    topologyKey: topology.kubernetes.io/zone
                    whenUnsatisfied: ScheduleAnyway
                    labelSelector:
                      matchLabels: {app: "{{ request.object.spec.template.metadata.labels.app }}"}
```
```yaml
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: spread}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [Pod]}]
  match: {labelSelector: {matchLabels: {app: web}}}
  location: spec.topologySpreadConstraints
  parameters:
    assign:
      value:
        - maxSkew: 0
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
```

## Passes
```yaml
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: spread}
spec:
  rules:
    - name: spread
      match: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {tier: front}}}}]}
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

## How to fix
Correct the field that the message names, as in a workload.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.findings import Severity
from policies.model.foreign_policies.constraints import ForeignInjection, injected_errors
from policies.rules.base import Context, Problem, RuleTarget

ID = "injected-constraint-invalid"
SEVERITY = Severity.ERROR
SEE = "https://github.com/kyverno/kyverno/issues/10655"
TARGET = RuleTarget.INJECTION


def check(injection: ForeignInjection, _context: Context) -> Iterator[Problem]:
    """Yield everything that the API server would refuse."""
    for inner, problem in injected_errors(injection):
        path, named = injection.place(inner)
        yield Problem(path, f"{named}{problem}")

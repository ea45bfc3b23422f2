"""A policy that injects a constraint which does nothing, or keeps every pod pending.

## What it finds
In what a Kyverno policy, a MutatingAdmissionPolicy or a Gatekeeper Assign injects, as far as it is written
literally: a `topologyKey` that no node has by itself (`zone`), no `labelSelector`, a selector that
contradicts the labels of the pods that the policy matches, and a selector that was copied from the one that
selects the workloads: a label of a Deployment is not one of its pods. Nothing is reported for that where a
workload of the repository shows that its pods do carry the label, or where the same policy puts it on them.

## Why it matters
Everybody believes that the policy spreads the pods. A selector that matches none of them counts nothing, and
a topology key that no node carries leaves pods pending where the constraint is hard.

## Fails
```yaml
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: spread}
spec:
  rules:
    - name: spread
      match: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {spread: required}}}}]}
      mutate:
        patchStrategicMerge:
          spec:
            template:
              spec:
                +(topologySpreadConstraints):
                  - maxSkew: 1
                    topologyKey: zone
                    whenUnsatisfiable: DoNotSchedule
                    labelSelector: {matchLabels: {spread: required}}
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
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: api}}
```

## Passes
```yaml
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: spread}
spec:
  rules:
    - name: spread
      match: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {spread: required}}}}]}
      mutate:
        patchStrategicMerge:
          spec:
            template:
              metadata: {labels: {spread: required}}
              spec:
                +(topologySpreadConstraints):
                  - maxSkew: 1
                    topologyKey: topology.kubernetes.io/zone
                    whenUnsatisfiable: ScheduleAnyway
                    labelSelector: {matchLabels: {spread: required}}
```

## How to fix
Write the whole topology key, and select by a label that the pods carry, such as
`app: "{{ request.object.spec.template.metadata.labels.app }}"` in a Kyverno policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.manifests.findings import Severity
from policies.model.constraint import Constraint
from policies.model.foreign_policies.constraints import ForeignInjection, is_unknown
from policies.model.labels import LabelSelector
from policies.model.topology_keys import meant_key
from policies.rules.base import Context, Problem, RuleTarget

ID = "injected-constraint-dead"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kyverno/policies/tree/main/other/spread-pods-across-topology"
TARGET = RuleTarget.INJECTION


def check(injection: ForeignInjection, context: Context) -> Iterator[Problem]:
    """Yield the reasons why an injected constraint spreads nothing."""
    for inner, entry in injection.literal():
        if text := _key_problem(entry, context):
            path, named = injection.place(inner.child("topologyKey"))
            yield Problem(path, f"{named}{text}")
    for inner, entry in injection.valid():
        constraint = Constraint.parse(entry)
        if constraint.selector is None:
            reason = "is missing, so the constraint counts no pods" if injection.whole else None
        else:
            reason = _selector_problem(constraint.selector, injection, context)
        if reason:
            path, named = injection.place(inner.child("labelSelector"))
            yield Problem(path, f"{named}{reason}")


def _key_problem(entry: Mapping[str, object], context: Context) -> str | None:
    key = entry.get("topologyKey")
    meant = meant_key(key) if isinstance(key, str) else None
    if not isinstance(key, str) or meant is None or _is_known(key, context):
        return None
    return f"Kubernetes sets no node label {key}; the well-known label is {meant}"


def _is_known(key: str, context: Context) -> bool:
    return context.inventory is not None and bool(context.inventory.values(key))


def _selector_problem(selector: LabelSelector, injection: ForeignInjection, context: Context) -> str | None:
    matched = injection.selector
    if matched is None or injection.labels is None or any(map(is_unknown, injection.labels.values())):
        return None
    required = dict(matched.match_labels)
    if injection.kinds == {"Pod"}:
        return _contradiction(selector, {**required, **injection.labels}, matched)
    copied = [
        f"{key}={value}"
        for key, value in selector.match_labels
        if required.get(key) == value and injection.labels.get(key) != value
    ]
    if (
        not copied
        or not injection.kinds
        or "Pod" in injection.kinds
        or _is_shown(selector, injection, context)
    ):
        return None
    kinds = " or ".join(sorted(injection.kinds))
    return (
        f"selects pods with {', '.join(copied)}, the label by which the policy selects the {kinds} itself: "
        "unless pod templates have it too, the constraint counts no pods"
    )


def _contradiction(selector: LabelSelector, labels: Mapping[str, str], matched: LabelSelector) -> str | None:
    """Return how a selector contradicts the labels that a pod must have to get the constraint."""
    for key, value in selector.match_labels:
        if key in labels and labels[key] != value:
            given = f"{key}={labels[key]}"
            return f"requires {key}={value}, but the policy matches only pods with {given} ({matched})"
    return None


def _is_shown(selector: LabelSelector, injection: ForeignInjection, context: Context) -> bool:
    """Return whether a workload of the repository that gets the constraint has pods that it counts."""
    if injection.selector is None:
        return False
    return any(
        workload.kind.kind in injection.kinds
        and selector.matches({**workload.template.labels, **(injection.labels or {})})
        for workload in context.repository.labeled(injection.selector)
    )

"""A pod anti-affinity that is meant to keep replicas apart but does not select them.

## What it finds
A term of `podAntiAffinity` whose selector names its own workload and yet does not select its pods, nor
those of any other workload of the namespace in the repository. It names its workload where its labels are
those of the workload's own `metadata.labels`, where it requires the pods' own `app` or
`app.kubernetes.io/name` and another label that the pods lack, where it requires the name of the workload
or its component under a key that the pods lack, or where its values are those of the pods but for a letter.
Copies of the workload in other folders do not count as other workloads, nor do the pods of `helm test`.

Terms about other applications are not reported: those that select another workload or name another
application, terms about other namespaces or with `mismatchLabelKeys`. It is a note where there is one
replica only, or where another term or a constraint over the same key keeps the replicas apart.

## Why it matters
Anti-affinity only applies to the pods that the selector matches. If it selects none, there is no error,
every replica may land on one node, and this goes unnoticed until that node fails.

## Fails
```yaml
spec:
  template:
    metadata: {labels: {component: server}}
    spec:
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector: {matchLabels: {app: web, component: web}}
```
```yaml
metadata: {labels: {app.kubernetes.io/part-of: shop}}
spec:
  template:
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app.kubernetes.io/part-of: shop}}
```

## Passes
```yaml
spec:
  template:
    metadata: {labels: {component: server}}
    spec:
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector: {matchLabels: {app: web, component: server}}
            - weight: 1
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector: {matchLabels: {app: kafka}}
```

## How to fix
Select labels that the pod template itself has, best those of the workload's own selector.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from policies.manifests.fields import ErrorList, FieldPath
from policies.manifests.findings import Severity
from policies.manifests.scalars import has_placeholder
from policies.model.controller_labels import own_mismatch
from policies.model.labels import LabelSelector, Operator
from policies.model.pod_affinity import AffinityTerm
from policies.model.topology_keys import domain_noun, is_misspelled
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import AtAdmission, Context, Problem

ID = "anti-affinity-misses-own-pod"
SEVERITY = Severity.WARNING
SEE = "https://github.com/hashicorp/vault-helm/issues/73"
AT_ADMISSION = AtAdmission.SKIP
NEEDS = frozenset({WorkloadPart.POD_AFFINITY})

#: Labels that name an application: a term that requires another value of one means another application.
_NAMES = ("app", "app.kubernetes.io/name", "k8s-app", "name")
#: Labels that name a part of one.
_PARTS = ("app.kubernetes.io/component", "component", "role")


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each term that should keep the replicas apart and selects none of them."""
    terms = [term for term in workload.pod_affinity.terms if term.anti]
    if not terms or workload.is_patch or has_placeholder(workload.template.labels):
        return
    separated: set[str] | None = None
    for term in terms:
        selector = term.selector
        if selector is None or term.excludes_own_value or not term.is_about(workload.namespace):
            continue
        mismatch = own_mismatch(selector, workload)
        if not mismatch or not _names_own(selector, workload):
            continue
        if context.repository.selects_others(selector, workload):
            continue
        if separated is None:
            separated = _separated_keys(terms, workload)
        severity, effect = _effect(term.topology_key, separated, workload, context)
        path = term.path.child("labelSelector")
        text = f"selects neither this workload's pods ({mismatch}) nor others of the repository: {effect}"
        short = f"does not select this workload's pods: {effect}"
        yield Problem(path, text, severity=severity, short=short)


def _names_own(selector: LabelSelector, workload: Workload) -> bool:
    """Return whether a selector that misses the pods names their workload all the same."""
    if _selects_object(selector, workload):
        return True
    own = {workload.template.labels[key] for key in _NAMES if key in workload.template.labels} | {
        workload.name
    } - {""}
    required = _required(selector)
    if any(key in required and not _are_meant(own, required[key]) for key in _NAMES):
        return False
    if any(key in required for key in _NAMES) or _is_slip(required, workload.template.labels):
        return True
    own |= {workload.template.labels[key] for key in _PARTS if key in workload.template.labels}
    # The right name under a key that the pods lack.
    return any(
        key not in workload.template.labels and not own.isdisjoint(values) for key, values in required.items()
    )


def _are_meant(own: AbstractSet[str], values: AbstractSet[str]) -> bool:
    """Return whether one of some values is one of the workload's own, or is so but for a letter."""
    return any(value in own or any(is_misspelled(value, of=name) for name in own) for value in values)


def _is_slip(required: Mapping[str, AbstractSet[str]], labels: Mapping[str, str]) -> bool:
    """Return whether all that a selector requires are labels of the pods, some but for a letter."""
    return bool(required) and all(
        key in labels and _are_meant({labels[key]}, values) for key, values in required.items()
    )


def _selects_object(selector: LabelSelector, workload: Workload) -> bool:
    """Return whether the labels are there, but on the workload and not on its pods."""
    metadata = ErrorList().mapping(workload.obj.get("metadata"), FieldPath())
    labels = ErrorList().labels(metadata.get("labels"), FieldPath())
    return bool(_required(selector)) and selector.matches(labels)


def _required(selector: LabelSelector) -> dict[str, frozenset[str]]:
    """Return the values that a selector requires, by label."""
    required = {key: frozenset([value]) for key, value in selector.match_labels}
    for entry in selector.match_expressions:
        if entry.operator is Operator.IN:
            required[entry.key] = required.get(entry.key, frozenset(entry.values)).intersection(entry.values)
    return required


def _separated_keys(terms: list[AffinityTerm], workload: Workload) -> set[str]:
    """Return the topology keys over which other terms or constraints keep the replicas apart."""
    namespace, labels = workload.namespace, workload.template.labels
    by_terms = {term.topology_key for term in terms if term.separates(namespace, labels)}
    return by_terms | {
        entry.constraint.topology_key
        for entry in workload.constraints
        if entry.constraint.selector is not None and not own_mismatch(entry.constraint.selector, workload)
    }


def _effect(key: str, separated: set[str], workload: Workload, context: Context) -> tuple[Severity, str]:
    """Return how bad it is, and what comes of it."""
    replicas = context.repository.replicas(workload)
    if key in separated or replicas is None or replicas.most < 2:
        return Severity.NOTE, "the term does nothing"
    return Severity.WARNING, f"replicas may share {domain_noun(key)}"

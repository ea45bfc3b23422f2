"""Volumes of a StatefulSet in fewer zones than its constraint's `minDomains`, or than the cluster has.

## What it finds
A `DoNotSchedule` constraint on a StatefulSet whose volumes can only be in fewer domains than `minDomains`, or
than it counts in a given cluster, if there are more replicas than then fit. Where volumes can be is said by
the `allowedTopologies` of the storage class of each `volumeClaimTemplates` entry, and by the volumes of
claims that exist, if a cluster is given. Classes are those of the same repository, and of the cluster. A
class that is in neither is listed as not known.

## Why it matters
A pod can only go where its volume is. So some of the domains that `minDomains` asks for, or that nodes of the
cluster have, never have a pod, and the global minimum is 0: every other domain takes at most `maxSkew` pods,
and the remaining replicas stay pending. Adding nodes does not change this.

## Fails
```yaml
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ssd}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies:
  - matchLabelExpressions:
      - {key: topology.kubernetes.io/zone, values: [zone-a, zone-b]}
---
kind: StatefulSet
spec:
  template:
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          minDomains: 3
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {storageClassName: ssd}
```

## Passes
```yaml
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ssd}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies:
  - matchLabelExpressions:
      - {key: topology.kubernetes.io/zone, values: [zone-a, zone-b, zone-c]}
---
kind: StatefulSet
spec:
  template:
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          minDomains: 3
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {storageClassName: ssd}
```

## How to fix
Lower `minDomains` to the number of domains that volumes can be in, or use a class that makes them in more.
Domains of the cluster without a volume do not count if the pod template has a node affinity for the others.
The class of a claim and `allowedTopologies` cannot be changed: make a new class, and the StatefulSet anew
with it (`kubectl delete statefulset --cascade=orphan`). A claim that is bound keeps its volume until the
claim is deleted, with its data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from policies.manifests.fields import ErrorList, FieldPath
from policies.manifests.findings import Severity
from policies.manifests.words import IN_PHRASE, listed
from policies.model.controller_labels import pod_name
from policies.model.storage_objects import PersistentVolumeClaim
from policies.model.storage_readers import read_claim_templates
from policies.model.workload import DEFAULT_NAMESPACE, ConstraintEntry, Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.capacity import UndecidedError
from policies.scheduler.workload_topology import WorkloadTopology, counts_only_its_own

ID = "volumes-below-min-domains"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kubernetes/issues/128832"
NEEDS = frozenset({WorkloadPart.CLAIM_TEMPLATES})

#: Claims that are looked up at most, some microseconds each.
MOST_CLAIMS = 5000


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each hard constraint that asks for more domains than volumes can be in."""
    replicas = context.repository.replicas(workload)
    if workload.kind.kind != "StatefulSet" or replicas is None:
        return
    counts = context.storage is not None and context.inventory is not None
    asking = [
        entry
        for entry in workload.constraints
        if entry.is_hard and (counts or entry.constraint.min_domains > 1)
    ]
    templates = read_claim_templates(workload.obj, ErrorList()) if asking else ()
    if context.storage is not None and len(asking) * len(templates) * replicas.least > MOST_CLAIMS:
        raise UndecidedError("claims", "its constraints")
    for declared in asking:
        constraint = declared.constraint
        if not counts_only_its_own(workload, declared, context.repository):
            continue
        for template in templates:
            places = _places_of(template, workload, constraint.topology_key, replicas.least, context)
            if places is None:
                continue
            found = _too_few(places, declared, workload, context)
            room = places.room(constraint.max_skew)
            if found is None or replicas.least <= room:
                continue
            path, head = found
            runs = f"at most {room} of {replicas.least} replicas"
            names = listed(sorted(places.values), IN_PHRASE) or "none"
            yield Problem(
                path,
                f"{head} of {constraint.topology_key} ({names}), so the global minimum is 0: with "
                f"maxSkew {constraint.max_skew} {runs}{replicas.evidence} can run",
                short=f"{head} ({names}): {runs} can run",
            )
            break


def _too_few(
    places: _Places, declared: ConstraintEntry, workload: Workload, context: Context
) -> tuple[FieldPath, str] | None:
    """Return that volumes are in fewer domains than a constraint counts, and at what field; None if not."""
    constraint, count = declared.constraint, len(places.values)
    if count < constraint.min_domains:
        head = f"is {constraint.min_domains}, but {places.told} in {count} domain(s)"
        return declared.path.child("minDomains"), head
    if context.storage is None or context.inventory is None:
        return None
    topology = WorkloadTopology.of(workload, context.inventory, context.version)
    counted = [domain.value for domain in topology.domains(constraint)]
    if places.values.issuperset(counted):
        return None
    empty = listed(sorted(set(counted) - places.values), IN_PHRASE)
    return declared.path, f"counts {empty}, too, but {places.told} in {count} domain(s)"


@dataclass(slots=True)
class _Places:
    """Where the volumes of a claim template are, or can be."""

    template: str  #: The name of the template.
    values: set[str] = field(default_factory=set)  #: The domains.
    #: How many volumes each domain has that are in that one only.
    pinned: Counter[str] = field(default_factory=Counter)
    movable: int = 0  #: How many others there are, or will be.
    classes: set[str] = field(default_factory=set)  #: The classes that will make volumes.

    def add_bound(self, values: frozenset[str]) -> None:
        """Add a volume that exists, and can be used in some domains."""
        self.values |= values
        if len(values) == 1:
            self.pinned.update(values)
        else:
            self.movable += 1

    def room(self, max_skew: int) -> int:
        """Return how many pods fit at most, if every domain takes ``max_skew``."""
        pinned = sum(min(count, max_skew) for count in self.pinned.values())
        return min(max_skew * len(self.values), pinned + self.movable)

    @property
    def told(self) -> str:
        """The clause that names the makers of the volumes."""
        makers = f"StorageClass {listed(sorted(self.classes), IN_PHRASE)}"
        if not self.classes:
            return f"the claims of {self.template} have volumes"
        if not self.pinned:
            return f"{makers} makes the volumes of {self.template}"
        return f"the claims of {self.template} have volumes, or get them from {makers},"


def _places_of(
    template: PersistentVolumeClaim, workload: Workload, key: str, replicas: int, context: Context
) -> _Places | None:
    """Return where the volumes of some replicas are, or can be; None if that may be anywhere.

    Raises:
        MissingObjectError: The class that will make some of them is not known.
    """
    places, storage = _Places(template.name), context.storage
    unbound = Counter({template.shape.storage_class: replicas})
    if template.volume:
        return None
    if storage is not None and storage.knows_claims:
        unbound.clear()
        base, _, first = pod_name(workload.obj, workload.kind, workload.name).rpartition("-")
        for ordinal in range(int(first), int(first) + replicas):
            name = f"{template.name}-{base}-{ordinal}"
            claim = storage.claim(workload.namespace or DEFAULT_NAMESPACE, name) or template
            if not claim.bound:
                unbound[claim.shape.storage_class] += 1
            elif (values := storage.values_of(claim, key)) is not None:
                places.add_bound(values)
            else:
                return None
    for storage_class, count in unbound.items():
        for known in context.storage_classes(storage_class):
            values = known.values_of(key)
            if values is None or (storage is not None and storage.has_free_volumes(known.name)):
                return None
            places.values |= values
            places.classes.add(known.name)
        places.movable += count
    return places

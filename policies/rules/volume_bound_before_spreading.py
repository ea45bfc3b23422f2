"""A hard zone constraint on pods whose volumes are bound before the scheduler spreads the pods.

## What it finds
A StatefulSet with a `DoNotSchedule` constraint over zones, and a `volumeClaimTemplates` entry whose storage
class makes zonal disks at once: `volumeBindingMode` is `Immediate`, or left out. Zonal are the disks of AWS
EBS, Google PD, Azure Disk and Cinder unless they are replicated over zones, and those of a class whose
`allowedTopologies` name zones. Classes are those of the same repository, and of the cluster. A class that is
in neither is listed as not known. A cluster with one zone is left alone, unless nodes may come in another
one by its node groups (`lint --autoscale`).

## Why it matters
The provisioner chooses the zone when the claim is made, and does not know the constraint. A pod whose disk is
in a zone that is full by `maxSkew` stays pending, and a disk does not move: only deleting the claim, with its
data, or giving up the constraint helps.

## Fails
```yaml
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ssd}
provisioner: ebs.csi.aws.com
---
kind: StatefulSet
spec:
  template:
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
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
---
kind: StatefulSet
spec:
  template:
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {storageClassName: ssd}
```

## How to fix
Use a class with `volumeBindingMode: WaitForFirstConsumer`. Neither the mode of a class nor the class of a
claim can be changed: make a new class, and the StatefulSet anew with it
(`kubectl delete statefulset --cascade=orphan`). Volumes that exist stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.fields import ErrorList, FieldPath
from policies.manifests.findings import Severity
from policies.model.storage_readers import read_claim_templates
from policies.model.topology_keys import BETA_ZONE, ZONE
from policies.model.workload import ConstraintEntry, Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.workload_topology import may_bind

ID = "volume-bound-before-spreading"
SEVERITY = Severity.WARNING
SEE = "https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode"
DECIDABLE = True
NEEDS = frozenset({WorkloadPart.CLAIM_TEMPLATES})


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each claim template whose class binds at once, under a hard zone constraint."""
    if workload.kind.kind != "StatefulSet":
        return
    binding = [entry for entry in workload.constraints if _binds(entry, workload, context)]
    if not binding:
        return
    for number, template in enumerate(read_claim_templates(workload.obj, ErrorList())):
        if template.volume:
            continue
        found = context.storage_classes(template.shape.storage_class)
        if all(not entry.waits and entry.is_zonal for entry in found):
            key = binding[0].constraint.topology_key
            text = (
                f"StorageClass {found[0].name} binds at once, in any zone, and DoNotSchedule over {key} may "
                f"forbid that zone: the pod then stays pending{context.decided_with}"
            )
            yield Problem(FieldPath(("spec", "volumeClaimTemplates")).index(number), text)


def _binds(entry: ConstraintEntry, workload: Workload, context: Context) -> bool:
    """Return whether a constraint can keep some replica out of a zone."""
    key = entry.constraint.topology_key
    if not entry.is_hard or key not in {ZONE, BETA_ZONE}:
        return False
    zones = None if context.inventory is None else context.inventory.values(key)
    if context.scale_ups is not None:
        zones = (zones or frozenset()) | context.scale_ups.domains(workload, key)
    if zones is not None and len(zones) < 2:  # one zone has every volume
        return False
    return may_bind(workload, entry, context.repository.replicas(workload))

"""A constraint that counts the pods of the old and the new revision together.

## What it finds
A constraint of a Deployment or Rollout whose `matchLabelKeys` lacks the label by which the controller
tells revisions apart: `pod-template-hash`, or `rollouts-pod-template-hash` for an Argo Rollout.
Left alone are workloads that never run two revisions at once (strategy `Recreate`) or whose new pods only
come after old ones have gone (`maxSurge: 0`), workloads of one replica or whose template an Argo Rollout
uses (`workloadRef`), constraints that tell revisions apart by a label of their own (`version`, `revision`,
`release`, `hash`), those that spread several workloads together by `app.kubernetes.io/part-of`, which the
key would take apart, those whose `maxSkew` is as many as there are replicas or to one of whose domains the
pod's node selector or affinity holds it, and Kubernetes before 1.27, which does not know the field.

## Why it matters
During a rolling update the scheduler places each new pod where the old and new ones together are fewest.
Then the old ones go, and nothing moves what remains: the new pods are spread over the gaps that the old
ones left, which may be one zone, or one node, until the workload is restarted. Of a soft constraint, which
promises nothing, it is a note.

## Fails
```yaml
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: web}}
```

## Passes
```yaml
whenUnsatisfiable: DoNotSchedule
matchLabelKeys: [pod-template-hash]
```
```yaml
spec:
  strategy: {type: Recreate}
  template:
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
```

## How to fix
Add the label that the message names to the constraint's `matchLabelKeys`. `evenkeel lint --fix` does. The
scheduler then counts each revision by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.manifests.edits import Edit
from policies.manifests.fields import descend
from policies.manifests.findings import Severity
from policies.model.constraint import Constraint
from policies.model.controller_labels import TOGETHER
from policies.model.scaling import ZERO_PODS
from policies.model.version import MATCH_LABEL_KEYS_SINCE
from policies.model.workload import ConstraintEntry, Workload, WorkloadPart
from policies.rules.base import Context, Problem
from policies.scheduler.workload_topology import counts_its_own

ID = "revision-key-missing"
SEVERITY = Severity.WARNING
SEE = "https://github.com/kubernetes/kubernetes/issues/98215"
FIXABLE = True
NEEDS = frozenset({WorkloadPart.HARD, WorkloadPart.SOFT})

#: How the last word of a label key ends that tells one revision of a workload from another: what charts use.
_REVISION_WORDS = ("version", "revision", "release", "hash")


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield each constraint that counts the pods of all revisions."""
    label = workload.kind.revision_label
    without = [entry for entry in workload.constraints if label not in entry.constraint.match_label_keys]
    if label is None or not without or context.version < MATCH_LABEL_KEYS_SINCE or not _overlaps(workload):
        return
    if context.repository.lends_template(workload):
        return
    replicas = context.repository.replicas(workload)
    if replicas is None or replicas.most < 2:
        return
    for declared in without:
        if not _counts_both(declared, workload):
            continue
        if not _can_exceed(declared.constraint, workload, replicas.most):
            continue
        path, old = declared.path.child("matchLabelKeys"), declared.raw.get("matchLabelKeys")
        text = (
            f"lacks {label}, so during a rollout pods of the old revision are counted too: the "
            f"{replicas.most} replicas{replicas.evidence} can end up with a skew above "
            f"{declared.constraint.max_skew}"
        )
        severity = Severity.WARNING if declared.is_hard else Severity.NOTE
        yield Problem(path, text, (Edit(path, old, [*(old or ()), label]),), severity)


def _counts_both(declared: ConstraintEntry, workload: Workload) -> bool:
    constraint = declared.constraint
    if constraint.selector is None or not counts_its_own(workload, declared):
        return False
    keys = constraint.selector.keys
    if TOGETHER in keys and ((own := workload.selector) is None or not own.keys <= keys):
        return False
    return not any(key.endswith(_REVISION_WORDS) for key in (*keys, *constraint.match_label_keys))


def _can_exceed(constraint: Constraint, workload: Workload, pods: int) -> bool:
    """Return whether so many pods, wherever an update leaves them, can have a skew above ``maxSkew``."""
    if constraint.max_skew >= pods:
        return False
    held = workload.affinity.values_of(constraint.topology_key)
    return held is None or len(held) > 1


def _overlaps(workload: Workload) -> bool:
    """Return whether an update runs pods of the old and the new revision side by side."""
    strategy = descend(workload.obj, ("spec", "strategy"))
    if strategy.get("type") == "Recreate":
        return False
    for name in ("rollingUpdate", "canary"):
        rolling = strategy.get(name)
        if isinstance(rolling, dict) and rolling.get("maxSurge") in ZERO_PODS:
            return False
    return True

"""A hard constraint on pods that others of the repository may have evicted.

## What it finds
A workload with a `DoNotSchedule` constraint that counts its own pods, beside workloads of higher priority
that may preempt them. Priorities are those of the PriorityClasses of the repository and, with `--cluster`, of
the cluster; a pod without a class has that of the default class, or 0. Workloads whose `preemptionPolicy`, or
that of their class, is `Never` do not count, nor do those that node selectors or affinity hold to other
nodes. The rule is opt-in: enable it with `--enable preemptible-spread`, or set its severity in a
SpreadPolicy, which limits it to the policy's scope.

## Why it matters
A constraint is only compared with pods when they are placed. A pod of higher priority that fits nowhere has
others evicted, and the scheduler does not look at the constraints of these: with zones at 2, 2 and 2, one may
lose both. The constraint then allows their replacements in that zone alone, where the other pod has the room,
so they stay pending, and the skew remains. A PodDisruptionBudget makes such a node less likely, and does not
forbid it.

## Fails
```yaml
whenUnsatisfiable: DoNotSchedule
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
metadata: {name: checkout}
spec:
  selector: {matchLabels: {app: checkout}}
  template:
    metadata: {labels: {app: checkout}}
    spec: {priorityClassName: urgent}
```

## Passes
```yaml
whenUnsatisfiable: DoNotSchedule
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
preemptionPolicy: Never
---
metadata: {name: checkout}
spec:
  selector: {matchLabels: {app: checkout}}
  template:
    metadata: {labels: {app: checkout}}
    spec: {priorityClassName: urgent}
```

## How to fix
Give the workload the same priority if it is as important, or the others `preemptionPolicy: Never` if they
can wait. Otherwise keep room in each domain with placeholder pods of a priority below both, which are evicted
first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from policies.manifests.findings import Severity
from policies.manifests.words import IN_PHRASE, listed
from policies.model.neighbors import FolderIndex
from policies.model.topology import SYSTEM_CLASSES, PriorityClass
from policies.model.workload import Workload, WorkloadPart
from policies.rules.base import AtAdmission, Context, MissingObjectError, Problem
from policies.scheduler.workload_topology import may_bind

ID = "preemptible-spread"
SEVERITY = Severity.WARNING
SEE = "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#known-limitations"
AT_ADMISSION = AtAdmission.SKIP
OPT_IN = True
NEEDS = frozenset({WorkloadPart.HARD})

#: Workloads of the highest priorities that are kept for each folder: some may be held to other nodes.
_KEPT: Final = 20
#: Under what the repository keeps what was derived from it.
_MEMO: Final = "priorities"


def check(workload: Workload, context: Context) -> Iterator[Problem]:
    """Yield the first hard constraint on pods that others may have evicted."""
    replicas = context.repository.replicas(workload)
    if replicas is None or workload.kind.kind == "DaemonSet":
        return
    entry = next((each for each in workload.constraints if may_bind(workload, each, replicas)), None)
    if entry is None:
        return
    known = _Priorities.of(context)
    own = known.classes_of(workload)
    found: dict[Any, tuple[int, Workload]] = {}
    for bucket in known.preemptors.near(context.repository.place(workload)) if own else ():
        for priority, other in bucket.kept:
            above = all(priority > each.value for each in own)
            if above and other.identity != workload.identity and _may_meet(workload, other):
                found.setdefault(other.identity, (priority, other))
    if not found and (known.some_unknown or not own):
        raise MissingObjectError("needs the PriorityClass of each pod (--cluster, or among the files)")
    if found:
        ranked = sorted(found.values(), key=lambda each: (-each[0], each[1].title))
        names = [f"{other.title} (priority {priority:,})" for priority, other in ranked]
        these = f"may preempt these pods (priority {max(each.value for each in own):,})"
        yield Problem(
            entry.path,
            f"may be broken by evictions: {listed(names, IN_PHRASE)} {these}, whatever their spread; "
            f"what replaces them may only be allowed in {entry.constraint.topology_key} where they were, "
            "whose room is taken then",
            short=f"may be broken by evictions: {listed(names, 1)} {these}",
        )


def _may_meet(workload: Workload, other: Workload) -> bool:
    """Return whether pods of two workloads may be on one node, as far as their labels of nodes say."""
    own, their = workload.affinity, other.affinity
    for key in own.keys & their.keys:
        values, others = own.values_of(key), their.values_of(key)
        if values is not None and others is not None and values.isdisjoint(others):
            return False
    return True


@dataclass(slots=True)
class _Highest:
    """The workloads of the highest priorities of many."""

    kept: list[tuple[int, Workload]] = field(default_factory=list)

    def add(self, priority: int, workload: Workload) -> None:
        """Take a workload in."""
        if len(self.kept) == _KEPT and priority <= self.kept[-1][0]:
            return
        self.kept.append((priority, workload))
        self.kept.sort(key=lambda each: -each[0])
        del self.kept[_KEPT:]


@dataclass(slots=True)
class _Priorities:
    """The priorities of a repository."""

    #: The PriorityClasses by name; the default ones by the empty name.
    classes: Mapping[str, list[PriorityClass]]
    #: The workloads that may have pods evicted, with the lowest priority that each may have.
    preemptors: FolderIndex[_Highest] = field(default_factory=lambda: FolderIndex(_Highest))
    some_unknown: bool = False  #: Whether the class of some workload is not known.

    @classmethod
    def of(cls, context: Context) -> _Priorities:
        """Return the priorities of a repository, found once."""
        repository = context.repository
        if (known := repository.memo.get(_MEMO)) is None:
            in_cluster = () if context.inventory is None else context.inventory.priority_classes
            known = repository.memo[_MEMO] = cls(_with_more(repository.priority_classes, in_cluster))
            for workload in repository.every_workload():
                known._take(workload)
        found: _Priorities = known
        return found

    def classes_of(self, workload: Workload) -> list[PriorityClass]:
        """Return the known classes of a workload's pods; none if they are not known.

        Of several definitions, as of environments, the one that is in force is not known.
        """
        spec = workload.template.spec
        name, priority = spec.get("priorityClassName"), spec.get("priority")
        if isinstance(name, str) and name:
            return self.classes.get(name, [])
        without = PriorityClass("", priority if type(priority) is int else 0)
        return self.classes.get("", [without]) if priority is None else [without]

    def _take(self, workload: Workload) -> None:
        found = self.classes_of(workload)
        self.some_unknown |= not found
        never = workload.template.spec.get("preemptionPolicy") == "Never"
        if found and not never and all(each.preempts for each in found):
            for bucket in self.preemptors.buckets_for(workload.folder):
                bucket.add(min(each.value for each in found), workload)


def _with_more(
    classes: Mapping[str, list[PriorityClass]], others: tuple[PriorityClass, ...]
) -> dict[str, list[PriorityClass]]:
    """Return the classes of the repository, the cluster and Kubernetes itself."""
    found = {name: list(entries) for name, entries in classes.items()}
    for entry in (*SYSTEM_CLASSES.values(), *others):
        for key in entry.keys:
            found.setdefault(key, []).append(entry)
    return found

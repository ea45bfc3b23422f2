"""The workloads of a cluster whose pods run before a loss: whose each pod is, and how many must run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from planning.simulation.recovery import DisplacedPod, PodOutcome
from planning.simulation.survive.damage import BudgetNeed, DomainImpact
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.labels import LabelSelector
from policies.model.scaling import EvictionBudget
from policies.model.workload_ref import WorkloadRef
from policies.pods.pod_objects import PodObject, PodObjects
from policies.scheduler.index import ClusterIndex, PodOnNode


class RunningWorkloads:
    """The workloads of a cluster, by the pods that run.

    Attributes:
        before: How many pods each has.
    """

    def __init__(self, workloads: ClusterWorkloads, cluster: ClusterIndex, pods: PodObjects) -> None:
        """Find out whose the pods are.

        Args:
            workloads: The workloads of the cluster; only those of its namespace are judged.
            cluster: The cluster.
            pods: The objects of its pods.
        """
        self._workloads, self._pods = workloads, pods
        self._owners: dict[WorkloadRef, WorkloadRef] = {}
        self.before = Counter(
            ref
            for pod in cluster.pods_on(cluster.nodes.names())
            if not pod.terminating and (ref := self.workload_of(pod)) is not None
        )

    def workload_of(self, pod: PodOnNode) -> WorkloadRef | None:
        """Return the workload that replaces a pod elsewhere; None where nothing does."""
        found = self._pods.find(pod.namespace, pod.name)
        if found is None or found.owner is None or found.why_final:
            return None
        key = WorkloadRef(pod.namespace, found.owner.kind, found.owner.name)
        owner = self._owners.get(key)
        if owner is None:
            owner = self._owners[key] = self._workloads.controller(key)
        return owner

    @property
    def namespaces(self) -> set[str]:
        """The namespaces in which workloads have pods before a loss."""
        return {ref.namespace for ref in self.before}

    def is_judged(self, ref: WorkloadRef) -> bool:
        """Return whether a workload is of the namespace that is looked at."""
        return self._workloads.namespace in ("", ref.namespace)

    def expected(self, ref: WorkloadRef) -> int:
        """Return how many pods a workload should have: its replicas, or without a number as many as run."""
        return self._replicas.get(ref, self.before[ref])

    @cached_property
    def _replicas(self) -> dict[WorkloadRef, int]:
        """The replicas of each workload that has a number."""
        found: dict[WorkloadRef, int] = {}
        for each in self._workloads.each():
            if each is not None and each.workload.replicas is not None:
                ref = WorkloadRef(each.workload.namespace, each.kind, each.name)
                # Of a Deployment that is not there, the ReplicaSet with most of them.
                found[ref] = max(each.workload.replicas, found.get(ref, 0))
        return found

    def impact(self, domain: str, nodes: int, gone: Iterable[PodOnNode]) -> DomainImpact:
        """Return what is gone where pods lose their node.

        Args:
            domain: The domain; empty where several things happen.
            nodes: How many nodes are gone.
            gone: The pods.
        """
        workloads, final, pods = set[WorkloadRef](), Counter[str](), 0
        for pod in gone:
            found = self._pods.find(pod.namespace, pod.name)
            pods += 1
            ref = self.workload_of(pod)
            if ref is not None and self.is_judged(ref):
                workloads.add(ref)
            if found is not None and found.why_final:
                final[_why_final(found)] += 1
        return DomainImpact(
            domain=domain,
            nodes=nodes,
            pods=pods,
            workloads=len(workloads),
            not_recreated=dict(sorted(final.items())),
        )


class _Selected(NamedTuple):
    """The pods that a PodDisruptionBudget selects before a loss."""

    name: str  #: The name of the budget.
    selector: LabelSelector  #: Its selector.
    workloads: set[WorkloadRef]  #: Whose the pods are.
    before: int  #: How many there are.
    required: int  #: How many must run.


class BudgetsBelow:
    """The budgets of a cluster before any loss; each is looked at when one of its pods is lost."""

    def __init__(self, cluster: ClusterIndex, running: RunningWorkloads) -> None:
        self._cluster, self._running = cluster, running
        self._read: defaultdict[str, list[EvictionBudget]] = defaultdict(list)
        for budget in cluster.budgets:
            self._read[budget.namespace].append(budget)
        self._selected: dict[str, list[_Selected]] = {}

    def below(
        self, displaced: Mapping[WorkloadRef, Sequence[DisplacedPod]], after: ClusterIndex
    ) -> dict[WorkloadRef, tuple[BudgetNeed, ...]]:
        """Return the budgets that workloads fall below in the end, and did not by as much before.

        Args:
            displaced: The pods of each workload that lost their node.
            after: The cluster in the end.
        """
        found: dict[WorkloadRef, tuple[BudgetNeed, ...]] = {}
        for namespace in sorted({ref.namespace for ref in displaced} & self._read.keys()):
            for budget in self._of(namespace):
                hit = budget.workloads & displaced.keys()
                running = after.count_pods(namespace, budget.selector) if hit else 0
                if not hit or running >= min(budget.required, budget.before):
                    continue
                need = BudgetNeed(
                    name=budget.name, required=budget.required, before=budget.before, running=running
                )
                for ref in hit:
                    if any(pod.outcome is not PodOutcome.RECOVERED for pod in displaced[ref]):
                        found[ref] = (*found.get(ref, ()), need)
        return found

    def _of(self, namespace: str) -> list[_Selected]:
        if namespace not in self._selected:
            self._selected[namespace] = [
                self._select(budget, budget.selector)
                for budget in self._read[namespace]
                if budget.selector is not None
            ]
        return self._selected[namespace]

    def _select(self, budget: EvictionBudget, selector: LabelSelector) -> _Selected:
        names = self._cluster.selected_names(budget.namespace, selector)
        pods = (PodOnNode(budget.namespace, name, "", terminating=False) for name in names)
        workloads = {ref for pod in pods if (ref := self._running.workload_of(pod)) is not None}
        # A number is what it says, however many there should be.
        is_plain = budget.max_unavailable is None and isinstance(budget.min_available, int)
        required = budget.required(0 if is_plain else sum(map(self._running.expected, workloads)))
        return _Selected(budget.name, selector, workloads, len(names), required)


def _why_final(pod: PodObject) -> str:
    """Return a group of pods that nothing creates anew elsewhere."""
    if pod.static:
        return "static pods"
    return "pods of DaemonSets" if pod.of_daemon_set else "pods without a controller"

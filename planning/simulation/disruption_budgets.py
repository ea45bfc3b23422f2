"""The PodDisruptionBudgets of a cluster that is played, and which evictions they make the API refuse.

Sources: ``pkg/registry/core/pod/storage/eviction.go`` and ``pkg/controller/disruption/disruption.go``,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from planning.simulation.outcome import BudgetOutcome
from policies.model.cluster_kinds import BUDGET
from policies.model.deletion_facts import PHASES
from policies.model.scaling import EvictionBudget
from policies.model.workload import OWNER_KEY
from policies.model.workload_ref import WorkloadRef
from policies.pods.known_pods import KnownPods
from policies.scheduler.index import ClusterIndex, PodOnNode

#: The Eviction API's messages.
VIOLATES_BUDGET: Final = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL_BUDGETS: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)
_PENDING: Final = PHASES.index("Pending")


class BudgetCount(NamedTuple):
    """The pods of a budget, as the disruption controller counts them."""

    required: int  #: How many must be ready.
    healthy: int  #: How many are.
    allowed: int  #: How many may be evicted now.


class RefusedEviction(NamedTuple):
    """A pod that may not be evicted."""

    pod: PodOnNode  #: The pod.
    why: str  #: The message of the Eviction API, or of kubectl.
    budgets: tuple[str, ...] = ()  #: The names of the budgets for which that is; none without.
    counted: BudgetCount | None = None  #: The pods of the budget; None where it is none, or not one alone.


class DisruptionBudgets:
    """The budgets of a cluster, which is played, with its pods as they are counted at the moment.

    Pods that came since the start are ready: whoever plays it says when pods are gone, since what replaces
    them may have their names.
    """

    def __init__(
        self,
        before: ClusterIndex,
        cluster: ClusterIndex,
        known: KnownPods,
        *,
        controller: Callable[[PodOnNode], WorkloadRef | None],
        replicas_before: Callable[[WorkloadRef], int | None],
        replicas: Callable[[WorkloadRef], int | None],
    ) -> None:
        """Start with the budgets as their status has them.

        Args:
            before: The cluster before anything happened, which stays as it is.
            cluster: The cluster that is played.
            known: What is known of the pods before.
            controller: Returns the workload that a pod belongs to; None for one without.
            replicas_before: Returns how many replicas a workload wants before; None where that is not known.
            replicas: Returns the same as it is at the moment.
        """
        self._before, self._cluster, self._known = before, cluster, known
        self._controller = controller
        self._replicas_before, self._replicas = replicas_before, replicas
        self._gone: set[tuple[str, str]] = set()
        self._counts: dict[tuple[str, str], BudgetCount] = {}
        self._first: dict[tuple[str, str], BudgetCount] = {}
        # How many pods each workload had at first of those that a budget selects.
        self._owned: dict[tuple[str, str], Counter[WorkloadRef]] = {}

    @property
    def known(self) -> bool:
        """Whether the budgets were read."""
        return self._cluster.knows(BUDGET)

    def note_gone(self, pods: Iterable[PodOnNode]) -> None:
        """Note that pods left their nodes, for whatever reason: what has their names then is new."""
        self._gone.update((pod.namespace, pod.name) for pod in pods)

    def recount(self) -> None:
        """Count the pods anew, as the disruption controller does once some became ready."""
        self._counts.clear()

    def of(self, pod: PodOnNode) -> list[EvictionBudget]:
        """Return the budgets that protect a pod of the cluster; none protects one without labels."""
        table = self._cluster.pods_of(pod.namespace)
        row = None if table is None else table.find(pod.name)
        if table is None or row is None:
            return []
        labels = {key: value for key, value in table.label_sets.labels(row.label_set) if key != OWNER_KEY}
        return self._selecting(pod.namespace, labels)

    def refusal(self, pod: PodOnNode) -> RefusedEviction | None:
        """Return why a pod may not be evicted; None if it may."""
        facts = None if self._is_new(pod.namespace, pod.name) else self._known.facts(pod.namespace, pod.name)
        if pod.terminating or (facts is not None and facts.phase == _PENDING):
            return None
        found = self.of(pod)
        if len(found) > 1:
            return RefusedEviction(pod, SEVERAL_BUDGETS, tuple(sorted(each.name for each in found)))
        for budget in found:
            count = self.count(budget)
            is_ready = facts is None or facts.ready
            if not is_ready and (budget.always_allows_unhealthy or count.healthy >= count.required > 0):
                continue
            if count.allowed < 1:
                return RefusedEviction(pod, VIOLATES_BUDGET, (budget.name,), count)
            if is_ready:
                key = budget.namespace, budget.name
                self._counts[key] = count._replace(allowed=count.allowed - 1)
        return None

    def count(self, budget: EvictionBudget) -> BudgetCount:
        """Return the pods of a budget as they were counted last."""
        key = budget.namespace, budget.name
        if key not in self._counts:
            self._counts[key] = self._count(budget)
        return self._counts[key]

    def outcomes(
        self, namespace: str, labels: Mapping[str, str], refused: Iterable[RefusedEviction] = ()
    ) -> tuple[BudgetOutcome, ...]:
        """Return the budgets of pods: first those that refuse evictions, in their order, then by name.

        Args:
            namespace: The namespace of the pods.
            labels: Their labels.
            refused: The evictions that are refused for good, in order.
        """
        blocks: dict[str, list[str]] = {}
        for each in refused:
            for name in each.budgets if each.pod.namespace == namespace else ():
                blocks.setdefault(name, []).append(each.pod.name)
        turns = {name: turn for turn, name in enumerate(blocks)}
        found = self._selecting(namespace, labels)
        self.recount()
        return tuple(
            BudgetOutcome(
                name=budget.name,
                required=(count := self.count(budget)).required,
                before=self._at_first(budget).healthy,
                running=count.healthy,
                allowed=count.allowed,
                blocks=tuple(blocks.get(budget.name, ())),
            )
            for budget in sorted(found, key=lambda each: (turns.get(each.name, len(turns)), each.name))
        )

    def _selecting(self, namespace: str, labels: Mapping[str, str]) -> list[EvictionBudget]:
        return [
            budget
            for budget in (self._cluster.budgets.of(namespace) if labels else ())
            if budget.selector is not None and budget.selector.matches(labels)
        ]

    def _is_new(self, namespace: str, name: str) -> bool:
        """Return whether a pod of the cluster got its node since the start."""
        return (namespace, name) in self._gone or name not in self._before.pod_names(namespace)

    def _count(self, budget: EvictionBudget) -> BudgetCount:
        """Count the pods of a budget, which may be others than its status counted."""
        first, names = self._at_first(budget), self._selected(budget, self._cluster)
        healthy = sum(
            self._is_new(budget.namespace, name) or self._was_healthy(budget, name) for name in names
        )
        owned = self._owners(budget, names) | self._owned[budget.namespace, budget.name]
        required = _required(budget, owned, self._replicas)
        # The status may know more: of a pod that is not counted, or an error of the controller.
        more = 0 if budget.allowed is None else budget.allowed - first.allowed
        return BudgetCount(required, healthy, max(healthy - required + more, 0))

    def _at_first(self, budget: EvictionBudget) -> BudgetCount:
        key = budget.namespace, budget.name
        if key not in self._first:
            names = self._selected(budget, self._before)
            healthy = sum(self._was_healthy(budget, name) for name in names)
            owned = self._owned[key] = self._owners(budget, names)
            required = _required(budget, owned, self._replicas_before)
            self._first[key] = BudgetCount(required, healthy, max(healthy - required, 0))
        return self._first[key]

    @staticmethod
    def _selected(budget: EvictionBudget, cluster: ClusterIndex) -> list[str]:
        return [] if budget.selector is None else cluster.selected_names(budget.namespace, budget.selector)

    def _was_healthy(self, budget: EvictionBudget, name: str) -> bool:
        facts = self._known.facts(budget.namespace, name)
        return name not in budget.disrupted and (facts is None or facts.ready)

    def _owners(self, budget: EvictionBudget, names: Iterable[str]) -> Counter[WorkloadRef]:
        pods = (PodOnNode(budget.namespace, name, "", terminating=False) for name in names)
        return Counter(filter(None, map(self._controller, pods)))


def _required(
    budget: EvictionBudget, owned: Mapping[WorkloadRef, int], replicas: Callable[[WorkloadRef], int | None]
) -> int:
    """Return how many pods of a budget must be ready, of the replicas that their workloads want.

    Args:
        budget: The budget.
        owned: How many of its pods each workload has, which stand for a number of replicas.
        replicas: Returns how many replicas a workload wants; None where that is not known.
    """
    wanted = ((replicas(owner), count) for owner, count in owned.items())
    return budget.required(sum(count if number is None else number for number, count in wanted))

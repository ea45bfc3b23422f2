"""The damage that the loss of a domain does to the workloads of a cluster, and whether that is too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from policies.manifests.wire import INLINE, INTERNAL, Count, SentAs, sent
from policies.model.constraint import WhenUnsatisfiable
from policies.model.pod_volumes import LostVolume
from policies.model.version import KubernetesVersion
from policies.model.workload_ref import WorkloadRef


class Damage(StrEnum):
    """The kinds of damage that a loss does to a workload, worst first."""

    #: None of its pods runs in the end.
    DOWN = "down"
    #: Fewer of its pods run in the end than a PodDisruptionBudget asks for.
    BELOW_BUDGET = "below-budget"
    #: Fewer of its pods run in the end than before.
    PENDING = "pending"
    #: All its pods were lost at once: none runs until the first replacement does.
    INTERRUPTED = "interrupted"
    #: The skew of one of its constraints is above maxSkew in the end, and was lower before.
    SKEWED = "skewed"


#: The position of each damage, the worst first.
ORDER: Final[Mapping[Damage, int]] = {damage: position for position, damage in enumerate(Damage)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetNeed:
    """The demand of a PodDisruptionBudget on the pods that it selects, which may be of several workloads.

    Attributes:
        name: Its name.
        required: How many must run.
        before: How many run before the loss.
        running: How many run in the end.
    """

    name: str
    required: Count
    before: Count
    running: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintSkews:
    """The skew of a constraint, before a loss and in the end.

    Attributes:
        key: The topology key.
        when_unsatisfiable: Whether it filters nodes or scores them.
        max_skew: The skew that it allows.
        before: The skew before.
        after: The skew in the end.
    """

    key: Annotated[str, SentAs("topologyKey")]
    when_unsatisfiable: WhenUnsatisfiable
    max_skew: Count
    before: Count
    after: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadDamage:
    """The damage of a loss to one workload.

    Attributes:
        ref: The workload, as its pods name it.
        before: How many of its pods run before the loss.
        lost: How many of them lose their node with the domain.
        evicted: How many are evicted for displaced pods of higher priority.
        recovered: How many of both get a node again.
        pending: How many of both get none.
        untried: How many of both were not scheduled again, since the work ended or for ``reasons``.
        damages: What is bad about that, worst first; none of it but an interruption is known of a loss that
            was not finished.
        budgets: The PodDisruptionBudgets that it falls below.
        skews: The constraints whose skew is above maxSkew then.
        message: The scheduler's message on the first pod that gets no node; empty if all do.
        reasons: Why pods were not scheduled again.
        lost_volumes: The volumes of its pending pods that no node reaches.
    """

    ref: Annotated[WorkloadRef, INLINE]
    before: Annotated[Count, SentAs("runningBefore")]
    lost: Count
    evicted: Count = 0
    recovered: Count = 0
    pending: Count = 0
    untried: Annotated[Count, SentAs("notTried")] = 0
    damages: tuple[Damage, ...] = ()
    budgets: Annotated[tuple[BudgetNeed, ...], SentAs("belowBudgets")] = ()
    skews: Annotated[tuple[ConstraintSkews, ...], SentAs("skewed")] = ()
    message: str = ""
    reasons: Annotated[tuple[str, ...], SentAs("whyNotTried")] = ()
    lost_volumes: tuple[LostVolume, ...] = ()

    @property
    @sent
    def left(self) -> Annotated[Count, SentAs("runningRightAfter")]:
        """How many of its pods run right after the loss, before any is scheduled again."""
        return self.before - self.lost

    @property
    @sent
    def running(self) -> Annotated[Count, SentAs("runningInTheEnd")]:
        """How many of its pods run in the end, as far as was tried."""
        return self.before - self.lost - self.evicted + self.recovered

    @property
    def missing(self) -> int:
        """How many fewer run in the end than before."""
        return max(self.before - self.running, 0)

    @property
    def rank(self) -> tuple[int, int, WorkloadRef]:
        """Sorts by damage: the worst, then the pods that are missing, then the name."""
        worst = ORDER[self.damages[0]] if self.damages else len(ORDER)
        return worst, -self.missing, self.ref

    def is_hit(self, worst: Damage) -> bool:
        """Return whether it has a damage, or a worse one."""
        return bool(self.damages) and ORDER[self.damages[0]] <= ORDER[worst]


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainImpact:
    """The nodes and pods that are gone with a domain, known before anything is scheduled again.

    Attributes:
        domain: The domain.
        nodes: How many nodes it has.
        pods: How many pods lose their node with it.
        workloads: Of how many workloads these are that are judged.
        not_recreated: How many of the pods nothing creates anew elsewhere, by what they are: those of
            DaemonSets, static ones, and those without a controller.
    """

    domain: str
    nodes: Count
    pods: Count
    workloads: Annotated[Count, SentAs("workloadsHit")]
    not_recreated: Annotated[Mapping[str, Count], SentAs("notRecreated")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLoss:
    """The effect of the loss of one domain on all workloads of a cluster.

    Attributes:
        impact: What is gone with it.
        complete: Whether everything was scheduled again.
        recovered: How many displaced pods got a node again, those of others that were evicted among them.
        pending: How many got none.
        untried: How many were not scheduled again, though something replaces them.
        evicted: How many pods were evicted for displaced ones of higher priority.
        workloads: The judged workloads that lose pods, those with the worst damage first.
        unmodeled: What else a scheduler looks at in what was scheduled again.
    """

    impact: Annotated[DomainImpact, INTERNAL]
    complete: bool
    recovered: Count
    pending: Count
    untried: Annotated[Count, SentAs("notTried")]
    evicted: Count
    workloads: tuple[WorkloadDamage, ...]
    unmodeled: Annotated[tuple[str, ...], INTERNAL] = ()

    @property
    def counts(self) -> Counter[Damage]:
        """How many workloads have each damage."""
        return Counter(damage for each in self.workloads for damage in each.damages)

    @property
    def missing(self) -> int:
        """How many fewer pods of damaged workloads run in the end than before."""
        return sum(each.missing for each in self.workloads if Damage.PENDING in each.damages)

    @property
    def rank(self) -> tuple[tuple[int, ...], int, str]:
        """Sorts losses: the worst damage of most workloads first, then the pods that are missing."""
        counts = self.counts
        return tuple(-counts[damage] for damage in Damage), -self.pending, self.impact.domain

    def fails(self, worst: Damage) -> bool:
        """Return whether a workload has a damage, or a worse one."""
        return any(each.is_hit(worst) for each in self.workloads)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSurvivalReport:
    """Whether the workloads of a cluster survive losses.

    Attributes:
        key: The topology key.
        impacts: Of each domain that is lost, those with most pods first.
        losses: Of those of them that were tried, in that order.
        fail_on: The least damage that is too much.
        unreachable: Whether lost nodes stay in the API, as in an outage.
        allowed_missing: How many pods of each workload may be missing in the end.
        namespace: The only namespace whose workloads are judged; empty for all.
        nodes: How many nodes there are.
        pods: How many pods are bound to them.
        without_key: How many nodes do not have the key.
        waiting: How many pods had no node before, and were not scheduled.
        budgets_known: Whether PodDisruptionBudgets were read.
        unread: What could not be read of the cluster, a line each.
        version: The release of Kubernetes.
        stopped: Whether the work was ended.
    """

    key: str
    impacts: tuple[DomainImpact, ...]
    losses: tuple[ClusterLoss, ...]
    fail_on: Damage
    unreachable: bool
    allowed_missing: int
    namespace: str
    nodes: int
    pods: int
    without_key: int
    waiting: int
    budgets_known: bool
    unread: tuple[str, ...]
    version: KubernetesVersion
    stopped: bool = False

    @property
    def complete(self) -> bool:
        """Whether every loss was tried to its end."""
        return len(self.losses) == len(self.impacts) and all(loss.complete for loss in self.losses)

    @property
    def worst(self) -> ClusterLoss | None:
        """The loss that does most damage; None before any was tried."""
        return min(self.losses, key=lambda loss: loss.rank, default=None)

    @property
    def verdict(self) -> bool | None:
        """Whether no loss does too much damage; None where none did, but not all is known."""
        found = {self.survives(loss) for loss in self.losses}
        return False if False in found else None if None in found or not self.complete else True

    def survives(self, loss: ClusterLoss) -> bool | None:
        """Return whether a loss does not do too much damage; None where that is not known.

        A workload may be below a budget that was not read if some pods are missing, which is less than that.
        """
        if loss.fails(self.fail_on):
            return False
        if not loss.complete or any(each.untried for each in loss.workloads):
            return None
        unread = not self.budgets_known and self.fail_on is Damage.BELOW_BUDGET
        return None if unread and loss.counts[Damage.PENDING] else True

    def counts(self, loss: ClusterLoss) -> dict[Damage, int | None]:
        """Return how many workloads have each damage after a loss; None where that is not known."""
        known = set(Damage) if loss.complete else {Damage.INTERRUPTED}
        if not self.budgets_known:
            known.discard(Damage.BELOW_BUDGET)
        return {damage: loss.counts[damage] if damage in known else None for damage in Damage}

    @property
    def unmodeled(self) -> tuple[str, ...]:
        """The parts that a scheduler reads and that are not modeled, as the API names them."""
        return tuple(dict.fromkeys(name for loss in self.losses for name in loss.unmodeled))

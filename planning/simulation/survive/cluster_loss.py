"""The effect of losses on all workloads of a cluster, and whether that is too much."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from planning.simulation.autoscaled import Autoscaled
from planning.simulation.survive.damage import Damage, DomainImpact, WorkloadDamage
from policies.manifests.wire import INLINE, INTERNAL, Count, SentAs
from policies.model.version import KubernetesVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterWithNewNodes:
    """The pods that a loss leaves pending, if an autoscaler adds nodes for them."""

    pending: Count  #: How many of them stay pending then.
    scaled: Annotated[Autoscaled, INLINE]  #: The nodes, or why none is added.


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLoss:
    """The effect of the loss of one domain on all workloads of a cluster."""

    impact: Annotated[DomainImpact, INTERNAL]  #: What is gone with it.
    complete: bool  #: Whether everything was scheduled again.
    #: How many displaced pods got a node again, those of others that were evicted among them.
    recovered: Count
    pending: Count  #: How many got none.
    #: How many were not scheduled again, though something replaces them.
    untried: Annotated[Count, SentAs("notTried")]
    evicted: Count  #: How many pods were evicted for displaced ones of higher priority.
    #: The judged workloads that lose pods, those with the worst damage first.
    workloads: tuple[WorkloadDamage, ...]
    #: What else a scheduler looks at in what was scheduled again.
    unmodeled: Annotated[tuple[str, ...], INTERNAL] = ()
    #: What becomes of the pending ones if an autoscaler adds nodes; null where none is pending or no
    #: autoscaler is given. No damage counts these nodes: none may come, or not in time.
    autoscaled: ClusterWithNewNodes | None = None

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
    """Whether the workloads of a cluster survive losses."""

    key: str  #: The topology key.
    impacts: tuple[DomainImpact, ...]  #: Of each domain that is lost, those with most pods first.
    losses: tuple[ClusterLoss, ...]  #: Of those of them that were tried, in that order.
    fail_on: Damage  #: The least damage that is too much.
    unreachable: bool  #: Whether lost nodes stay in the API, as in an outage.
    allowed_missing: int  #: How many pods of each workload may be missing in the end.
    namespace: str  #: The only namespace whose workloads are judged; empty for all.
    nodes: int  #: How many nodes there are.
    pods: int  #: How many pods are bound to them.
    without_key: int  #: How many nodes do not have the key.
    waiting: int  #: How many pods had no node before, and were not scheduled.
    budgets_known: bool  #: Whether PodDisruptionBudgets were read.
    unread: tuple[str, ...]  #: What could not be read of the cluster, a line each.
    version: KubernetesVersion  #: The release of Kubernetes.
    stopped: bool = False  #: Whether the work was ended.

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

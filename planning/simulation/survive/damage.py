"""The damage that the loss of a domain does to the workloads of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from policies.manifests.wire import INLINE, Count, SentAs, sent
from policies.model.constraint import WhenUnsatisfiable
from policies.model.pod_volumes import LostVolume
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
    """The demand of a PodDisruptionBudget on the pods that it selects, which may be of several workloads."""

    name: str  #: Its name.
    required: Count  #: How many must run.
    before: Count  #: How many run before the loss.
    running: Count  #: How many run in the end.


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintSkews:
    """The skew of a constraint, before a loss and in the end."""

    key: Annotated[str, SentAs("topologyKey")]  #: The topology key.
    when_unsatisfiable: WhenUnsatisfiable  #: Whether it filters nodes or scores them.
    max_skew: Count  #: The skew that it allows.
    before: Count  #: The skew before.
    after: Count  #: The skew in the end.


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadDamage:
    """The damage of a loss to one workload."""

    ref: Annotated[WorkloadRef, INLINE]  #: The workload, as its pods name it.
    before: Annotated[Count, SentAs("runningBefore")]  #: How many of its pods run before the loss.
    lost: Count  #: How many of them lose their node with the domain.
    evicted: Count = 0  #: How many are evicted for displaced pods of higher priority.
    recovered: Count = 0  #: How many of both get a node again.
    pending: Count = 0  #: How many of both get none.
    #: How many of both were not scheduled again, since the work ended or for ``reasons``.
    untried: Annotated[Count, SentAs("notTried")] = 0
    #: What is bad about that, worst first; none of it but an interruption is known of a loss that was not
    #: finished.
    damages: tuple[Damage, ...] = ()
    #: The PodDisruptionBudgets that it falls below.
    budgets: Annotated[tuple[BudgetNeed, ...], SentAs("belowBudgets")] = ()
    #: The constraints whose skew is above maxSkew then.
    skews: Annotated[tuple[ConstraintSkews, ...], SentAs("skewed")] = ()
    message: str = ""  #: The scheduler's message on the first pod that gets no node; empty if all do.
    reasons: Annotated[tuple[str, ...], SentAs("whyNotTried")] = ()  #: Why pods were not scheduled again.
    lost_volumes: tuple[LostVolume, ...] = ()  #: The volumes of its pending pods that no node reaches.

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
    """The nodes and pods that are gone with a domain, known before anything is scheduled again."""

    domain: str  #: The domain.
    nodes: Count  #: How many nodes it has.
    pods: Count  #: How many pods lose their node with it.
    workloads: Annotated[Count, SentAs("workloadsHit")]  #: Of how many workloads these are that are judged.
    #: How many of the pods nothing creates anew elsewhere, by what they are: those of DaemonSets, static
    #: ones, and those without a controller.
    not_recreated: Annotated[Mapping[str, Count], SentAs("notRecreated")]

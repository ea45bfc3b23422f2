"""The plan for workloads whose manifests change: what is done to each, and what becomes of its pods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated

from planning.plan.plan_differences import PlanAction
from planning.plan.plan_domains import PlannedDomains
from planning.simulation.autoscaled import Autoscaled, AutoscalerName
from planning.simulation.cluster_simulation import count_bound
from planning.simulation.object_differences import Difference
from planning.simulation.recovery import DisplacedPod, PodOutcome
from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.rollout.rollout import Rollout
from policies.manifests.fields import FieldError
from policies.manifests.wire import INLINE, INTERNAL, Count, SentAs, sent
from policies.model.workload_ref import WorkloadRef
from policies.scheduler.binding import SchedulingAttempt


@dataclass(frozen=True, slots=True, kw_only=True)
class PodChange:
    """The changes of the pods of a workload."""

    running: Annotated[Count, SentAs("now")] = 0  #: How many have a node now.
    removed: Annotated[Count, SentAs("deleted")] = 0  #: How many of them go.
    wanted: Count = 0  #: How many there should be afterwards.
    #: Of each pod that is scheduled, in order.
    steps: Annotated[tuple[SchedulingAttempt, ...], INTERNAL] = ()
    #: How many more should be, which were not tried: there are too many, or the work was ended.
    untried: Annotated[Count, SentAs("notTried")] = 0
    #: Whether pods that run stay as they are though something differs.
    stay: Annotated[bool, INTERNAL] = False
    next_only: bool = False  #: Whether only one pod was tried, because the kind has no number.
    #: Whether all pods were taken to be deleted first: how the kind, or so many pods, are rolled out is not
    #: simulated.
    recreated: bool = False
    #: How its controller replaces or deletes pods; None where it does neither, or not simulated.
    rollout: Annotated[Rollout | None, INTERNAL] = None
    #: The pods of other workloads that are evicted for its pods, or for what replaces others of them, and
    #: what becomes of them.
    evicted: tuple[DisplacedPod, ...] = ()
    #: The nodes that an autoscaler adds for its pods that would stay pending; null where none would, or no
    #: autoscaler is given.
    autoscaled: Autoscaled | None = None

    @property
    @sent
    def scheduled(self) -> Count:
        """How many pods get a node."""
        return count_bound(self.steps)

    @property
    @sent
    def pending(self) -> Count:
        """How many pods stay pending."""
        return len(self.steps) - self.scheduled

    def then(self, other: PodChange) -> PodChange:
        """Return this change and another one after it."""
        return replace(
            other, running=self.running, removed=self.removed, evicted=(*self.evicted, *other.evicted)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWorkload:
    """The plan for one workload."""

    key: Annotated[WorkloadRef, INLINE]  #: Which it is.
    action: PlanAction  #: What is done.
    differences: tuple[Difference, ...] = ()  #: What differs; empty for one that is added or removed.
    policy: str | None = None  #: The SpreadPolicy that gives its constraints; None if none does.
    pods: PodChange  #: What becomes of its pods.
    domains: tuple[PlannedDomains, ...] = ()  #: Of each constraint that is in force, or was.
    #: Why Kubernetes refuses the workload or its pods; nothing was placed then.
    errors: tuple[FieldError, ...] = ()
    #: What else a scheduler looks at in its pods, as the API names it.
    unmodeled: Annotated[tuple[str, ...], SentAs("notModeled")] = ()
    #: The files that it is built from, such as the kustomizations of overlays that come to the same; empty
    #: for the cluster's own.
    builds: tuple[str, ...] = ()
    #: Whether other builds describe the object otherwise: each is planned without the others.
    alternative: bool = False

    @property
    def pending(self) -> tuple[SchedulingAttempt, ...]:
        """The pods that stay pending."""
        return tuple(step for step in self.pods.steps if step.node is None)

    @property
    def fails(self) -> bool:
        """Whether pods stay pending, a rollout may not complete, or Kubernetes refuses the workload."""
        stuck = self.pending or self.evicted_pending
        return bool(stuck or self.errors or self.outcome is not RolloutEnd.COMPLETE)

    @property
    def evicted_pending(self) -> int:
        """How many of the pods of other workloads that are evicted for its pods stay pending."""
        return sum(entry.outcome is PodOutcome.PENDING for entry in self.pods.evicted)

    @property
    def outcome(self) -> RolloutEnd:
        """How the rollout ends where it ends worst; complete where there is none."""
        return RolloutEnd.COMPLETE if self.pods.rollout is None else self.pods.rollout.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPlan:
    """The effect of a change of manifests."""

    #: Those that are removed, replaced, changed or added, in the order in which it is done.
    workloads: tuple[PlannedWorkload, ...]
    unchanged: int  #: How many others there are.
    stopped: tuple[WorkloadRef, ...] = ()  #: Workloads that were not applied, because the work was ended.
    #: Whether the cluster has no pods, so that those of the first set were placed there first.
    assumed: bool = False
    #: What adds nodes for pods that would stay pending; None for nothing.
    autoscaler: AutoscalerName | None = None

    def count(self, action: PlanAction) -> int:
        """Return to how many workloads something is done."""
        return sum(workload.action is action for workload in self.workloads)

    @property
    def pending(self) -> int:
        """How many pods stay pending."""
        return sum(len(workload.pending) for workload in self.workloads)

    @property
    def autoscaled(self) -> tuple[Autoscaled, ...]:
        """The steps of the autoscaler for the workloads whose pods would stay pending without it."""
        each = (workload.pods.autoscaled for workload in self.workloads)
        return tuple(scaled for scaled in each if scaled is not None)

    @property
    def new_nodes(self) -> int:
        """How many nodes it adds."""
        return sum(len(scaled.nodes) for scaled in self.autoscaled)

    @property
    def evicted(self) -> tuple[DisplacedPod, ...]:
        """The pods of other workloads that are evicted."""
        return tuple(chain.from_iterable(workload.pods.evicted for workload in self.workloads))

    @property
    def evicted_pending(self) -> int:
        """How many of those stay pending."""
        return sum(workload.evicted_pending for workload in self.workloads)

    @property
    def deadlocks(self) -> int:
        """How many rollouts may deadlock."""
        return sum(workload.outcome is RolloutEnd.DEADLOCK for workload in self.workloads)

    @property
    def unplanned(self) -> tuple[WorkloadRef, ...]:
        """Workloads that something is done to of which it was not tried, or not to the end."""
        return (*self.stopped, *(workload.key for workload in self.workloads if workload.pods.untried))

    @property
    def fails(self) -> bool:
        """Whether a workload fails."""
        return any(workload.fails for workload in self.workloads)

"""Changes that would make a workload survive: they help after one loss, and are tried against all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from planning.simulation.cluster_simulation import never
from planning.simulation.replicas import Replicas, count_replicas
from planning.simulation.suggestions.suggestion_edits import EditSearch
from planning.simulation.suggestions.suggestions import Suggestion, find_suggestions
from planning.simulation.survive.loss import Loss
from planning.simulation.survive.survive import SingleLosses
from policies.config.context import AdmissionContext
from policies.model.workload import Workload
from policies.pods.placement import Placement, evaluate_workload
from policies.pods.pod_objects import PodObjects
from policies.scheduler.changes import Change, ChangeKind, ClusterChange

#: Changes that are tried against every loss; people do not read more.
MOST_PROVEN: Final = 5
#: Losses up to which that is done: each change places all replicas again, and loses every domain.
MOST_LOSSES: Final = 20
#: Pods that are scheduled for all of these changes, as a share of those that the losses themselves took: with
#: the search a failing workload costs no more than twice a surviving one.
MOST_SCHEDULED: Final = 0.5
#: Pods that may be scheduled for them however few the losses took.
FEW_SCHEDULED: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalSuggestion:
    """A change that helps a workload."""

    suggestion: Suggestion  #: The change.
    #: Whether the workload survives every single loss with it; None where that was not tried.
    survives: bool | None

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        """The order: a guarantee goes only where no other change may do; what is proven comes first."""
        return self.survives is False, self.suggestion.weakens, self.survives is None


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalHelp:
    """The changes that help one workload."""

    workload: int  #: Its number.
    domain: str | None  #: The loss after which changes were looked for; None if it lacks replicas before any.
    placement: Placement  #: Its next pod, then.
    replicas: Replicas | None  #: How many of its replicas fit then; None where that is unknown.
    #: The changes, those last with which it does not survive everything.
    found: tuple[SurvivalSuggestion, ...]
    verdicts: int  #: How many verdicts the search took.
    complete: bool  #: Whether everything that looked promising was tried.


def find_help(
    survival: SingleLosses,
    losses: tuple[Loss, ...],
    context: AdmissionContext,
    running: PodObjects,
    *,
    stop: Callable[[], bool] = never,
) -> Iterator[SurvivalHelp]:
    """Yield the changes that help each workload that does not survive everything.

    Args:
        survival: The cluster with the workloads.
        losses: What every loss does.
        context: What it was made by.
        running: The objects of the cluster's pods.
        stop: Whether to end with what was found; called before each change, and each pod of its proof.
    """
    budget = max(MOST_SCHEDULED * _scheduled(losses), FEW_SCHEDULED)
    for number, deployed in enumerate(survival.deployed):
        failed = [loss for loss in losses if not loss.workloads[number].survives]
        if deployed.runs and not failed:
            continue
        if stop():
            return
        worst = min(failed, key=lambda loss: loss.workloads[number].running, default=None)
        domain = None if worst is None or not deployed.runs else worst.domain
        cluster = survival.cluster if domain is None else survival.after(domain)
        there = replace(context, cluster=cluster)
        placement = evaluate_workload(deployed.workload, there)
        counted = count_replicas(placement, stop)
        replicas = None if counted is None else counted[0]
        searched = find_suggestions(placement, there, replicas, stop=stop)
        prover = _Prover(survival, number, context, running, first=domain, budget=budget, stop=stop)
        found = [
            SurvivalSuggestion(suggestion=each, survives=prover.survives(each))
            for each in searched.found
            if not any(_is_lost(change, survival.options.key, domain) for change in each.changes)
        ]
        found.sort(key=lambda entry: entry.rank)
        yield SurvivalHelp(
            workload=number,
            domain=domain,
            placement=placement,
            replicas=replicas,
            found=tuple(found),
            verdicts=searched.verdicts,
            complete=searched.complete and not stop(),
        )


def _is_lost(change: Change | ClusterChange, key: str, domain: str | None) -> bool:
    """Return whether a change adds nodes to the very domain whose loss it is to help against.

    While the domain is unreachable its nodes stay in the cluster, so a search for room finds it.
    """
    return (
        isinstance(change, ClusterChange)
        and change.what is ChangeKind.NEW_NODE
        and domain is not None
        and (change.key, change.value) == (key, domain)
    )


class _Prover:
    """Tries whether one workload survives with a change, beside the others as they are."""

    def __init__(
        self,
        survival: SingleLosses,
        number: int,
        context: AdmissionContext,
        running: PodObjects,
        *,
        first: str | None,
        budget: float,
        stop: Callable[[], bool],
    ) -> None:
        """Prepare the proofs.

        Args:
            survival: The cluster with the workloads.
            number: Which workload is changed.
            context: What it was made by.
            running: The objects of the cluster's pods.
            first: The domain to lose first; None for the usual order.
            budget: How many pods may be scheduled again in all proofs together.
            stop: Whether to try no more.
        """
        self._survival = survival
        self._first = first
        self._left = budget
        self._number = number
        self._context = context
        self._running = running
        self._stop = stop
        workload = survival.deployed[number].workload
        most = MOST_PROVEN if len(survival.domains) <= MOST_LOSSES else 0
        self._edits = EditSearch(
            workload, context, self._lose_everything, most=most, may_go_on=lambda: not self._stopped()
        )

    def survives(self, suggestion: Suggestion) -> bool | None:
        """Return whether the workload survives every loss; None for what is in no manifest, or not tried."""
        if not suggestion.edits or suggestion.elsewhere:
            return None
        survives = self._edits.attempt(suggestion.edits)
        if survives is not None:
            return survives
        # What Kubernetes would refuse survives nothing.
        return None if self._stopped() or not self._edits.complete else False

    def _stopped(self) -> bool:
        return self._left <= 0 or self._stop()

    def _count(self, _share: float) -> None:
        self._left -= 1

    def _lose_everything(self, workload: Workload) -> bool | None:
        """Return whether an edited workload survives every loss beside the others; None if ended before."""
        workloads = [deployed.workload for deployed in self._survival.deployed]
        workloads[self._number] = workload
        options = self._survival.options
        survival = SingleLosses(
            workloads, self._context, options, self._running, stop=self._stopped, on_step=self._count
        )
        return survival.survives(self._number, self._first)


def _scheduled(losses: Iterable[Loss]) -> int:
    """Return how many pods were scheduled again after some losses."""
    others = [loss.others for loss in losses if loss.others is not None]
    own = sum(entry.displaced for loss in losses for entry in loss.workloads)
    return own + sum(entry.displaced - entry.untried for entry in others)

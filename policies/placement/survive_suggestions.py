"""What would make a workload survive: changes that help after one loss, tried against all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from policies.config.context import AdmissionContext
from policies.model.workload import Workload
from policies.placement.edit_search import EditSearch
from policies.placement.loss import Loss
from policies.placement.placement import Placement, place
from policies.placement.pod_objects import PodObjects
from policies.placement.replicas import Replicas, count_replicas
from policies.placement.suggestions import Suggestion, find_suggestions
from policies.placement.survive import Survival

#: Changes that are tried against every loss; people do not read more.
MOST_PROVEN: Final = 5
#: Losses up to which that is done: each change places all replicas again, and loses every domain.
MOST_LOSSES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalSuggestion:
    """A change that helps a workload.

    Attributes:
        suggestion: The change.
        survives: Whether the workload survives every single loss with it; None where that was not tried.
    """

    suggestion: Suggestion
    survives: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalHelp:
    """What helps one workload.

    Attributes:
        workload: Its number.
        domain: The loss after which changes were looked for; None if it lacks replicas before any.
        placement: Its next pod, then.
        replicas: How many of its replicas fit then; None where that cannot be told.
        found: The changes, those first with which it survives everything.
        verdicts: How many verdicts the search took.
        complete: Whether everything that looked promising was tried.
    """

    workload: int
    domain: str | None
    placement: Placement
    replicas: Replicas | None
    found: tuple[SurvivalSuggestion, ...]
    verdicts: int
    complete: bool


def find_help(
    survival: Survival,
    losses: tuple[Loss, ...],
    context: AdmissionContext,
    running: PodObjects | None = None,
) -> Iterator[SurvivalHelp]:
    """Yield what helps each workload that does not survive everything.

    Args:
        survival: The cluster with the workloads.
        losses: What every loss does.
        context: What it was made by.
        running: The objects of the cluster's pods.
    """
    for number, deployed in enumerate(survival.deployed):
        failed = [loss for loss in losses if not loss.workloads[number].survives]
        if deployed.runs and not failed:
            continue
        worst = min(failed, key=lambda loss: loss.workloads[number].running, default=None)
        domain = None if worst is None or not deployed.runs else worst.domain
        cluster = survival.cluster if domain is None else survival.after(domain)
        there = replace(context, cluster=cluster)
        placement = place(deployed.workload, there)
        counted = count_replicas(placement)
        replicas = None if counted is None else counted[0]
        searched = find_suggestions(placement, there, replicas)
        prover = _Prover(survival, number, context, running)
        found = [
            SurvivalSuggestion(suggestion=each, survives=prover.survives(each)) for each in searched.found
        ]
        found.sort(key=lambda entry: entry.survives is not True)
        yield SurvivalHelp(
            workload=number,
            domain=domain,
            placement=placement,
            replicas=replicas,
            found=tuple(found),
            verdicts=searched.verdicts,
            complete=searched.complete,
        )


class _Prover:
    """Tries whether one workload survives with a change, beside the others as they are."""

    def __init__(
        self, survival: Survival, number: int, context: AdmissionContext, running: PodObjects | None
    ) -> None:
        self._survival = survival
        self._number = number
        self._context = context
        self._running = running
        workload = survival.deployed[number].workload
        most = MOST_PROVEN if len(survival.domains) <= MOST_LOSSES else 0
        self._edits = EditSearch(workload, context, self._lose_everything, most=most)

    def survives(self, suggestion: Suggestion) -> bool | None:
        """Return whether the workload survives every loss; None for what is in no manifest, or not tried."""
        if not suggestion.edits or suggestion.elsewhere:
            return None
        survives = self._edits.attempt(suggestion.edits)
        # What Kubernetes would refuse survives nothing.
        return survives if survives is not None or not self._edits.complete else False

    def _lose_everything(self, workload: Workload) -> bool:
        """Return whether an edited workload survives every loss, beside the others as they are."""
        workloads = [deployed.workload for deployed in self._survival.deployed]
        workloads[self._number] = workload
        survival = Survival(workloads, self._context, self._survival.options, self._running)
        if not survival.deployed[self._number].runs:
            return False
        return all(loss.workloads[self._number].survives for loss in survival.losses())

"""Workloads and the outcome of every single loss, for reports."""

from __future__ import annotations

from dataclasses import dataclass

from planning.simulation.suggestions.survive_suggestions import SurvivalHelp
from planning.simulation.survive.loss import Loss, margin
from planning.simulation.survive.survive import SingleLosses
from policies.model.version import KubernetesVersion
from policies.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalReport:
    """Whether workloads survive."""

    survival: SingleLosses  #: The workloads, and what they were tried on.
    losses: tuple[Loss, ...]  #: What each loss does, of those that were tried.
    helps: tuple[SurvivalHelp, ...] = ()  #: What helps those that do not survive.
    #: Workloads without a number of replicas that could survive, each with the reason.
    unjudged: tuple[tuple[Workload, str], ...] = ()
    version: KubernetesVersion  #: The release of Kubernetes.
    #: Whether the work was ended, while domains were lost or while changes were searched for.
    stopped: bool = False

    @property
    def complete(self) -> bool:
        """Whether every domain was lost once."""
        return len(self.losses) == len(self.survival.domains)

    def survives(self, number: int) -> bool | None:
        """Return whether a workload has enough replicas before any loss, and after each.

        None if it has after each that was tried, but not all were.
        """
        deployed = self.survival.deployed[number]
        if deployed.lacks or not all(loss.workloads[number].survives for loss in self.losses):
            return False
        return True if self.complete else None

    def margin(self, number: int) -> int | None:
        """Return how many replicas of a workload fit beyond those that must run, whatever is lost.

        None unless it survives every loss.
        """
        return margin(self.losses, number) if self.survives(number) else None

    @property
    def verdict(self) -> bool | None:
        """Whether every workload survives every single loss; None if none failed, but not all were tried."""
        found = set(map(self.survives, range(len(self.survival.deployed))))
        return False if False in found else None if None in found else True

    @property
    def untried(self) -> int:
        """How many losses displace no replica and were left out of the margins."""
        return sum(loss.others is None for loss in self.losses)

    @property
    def unmodeled(self) -> tuple[str, ...]:
        """The parts that a scheduler reads and that are not modeled, as the API names them."""
        own = (d.prepared.request.unmodeled for d in self.survival.deployed)
        found = (*own, *(loss.unmodeled for loss in self.losses))
        return tuple(dict.fromkeys(name for names in found for name in names))

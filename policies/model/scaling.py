"""Autoscalers and disruption budgets, as far as they matter to the workloads that they are for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from policies.model.declared import Workload
from policies.model.labels import LabelSelector

#: Disruption budgets of a workload that are looked at. Arbitrary; more than one is a mistake already.
MAX_BUDGETS = 10


class ReplicaRange(NamedTuple):
    """Between how many and how many pods a workload runs; equal where nothing scales it.

    Attributes:
        least: The smallest number.
        most: The largest number.
        source: The autoscaler that says so, as messages name it; empty where the workload does itself.
    """

    least: int
    most: int
    source: str = ""

    @property
    def evidence(self) -> str:
        """The source in brackets, to follow the number in a message.

        >>> ReplicaRange(2, 10, "ScaledObject web in modules/keda").evidence
        ' (ScaledObject web in modules/keda)'
        """
        return f" ({self.source})" if self.source else ""


@dataclass(frozen=True, slots=True, eq=False)
class Autoscaler:
    """A HorizontalPodAutoscaler, or a ScaledObject, which makes one; ``title`` is its kind and name."""

    title: str
    least: int
    most: int
    folder: str = ""

    def named(self, workload: Workload) -> str:
        """Return how messages about a workload name it: with its folder, unless that is the workload's."""
        return self.title if self.folder == workload.folder else f"{self.title} in {self.folder or '.'}"


@dataclass(frozen=True, slots=True, eq=False)
class DisruptionBudget:
    """A PodDisruptionBudget, with ``minAvailable`` and ``maxUnavailable`` as written."""

    name: str
    selector: LabelSelector
    min_available: object
    max_unavailable: object
    folder: str = ""


@dataclass(slots=True)
class LargestAutoscaler:
    """Of several autoscalers of one workload the one that makes the most pods."""

    scaler: Autoscaler | None = None

    def add(self, scaler: Autoscaler) -> None:
        """Take an autoscaler in."""
        if self.scaler is None or scaler.most > self.scaler.most:
            self.scaler = scaler


@dataclass(slots=True)
class DisruptionBudgets:
    """The first few of many disruption budgets."""

    budgets: list[DisruptionBudget] = field(default_factory=list)

    def add(self, budget: DisruptionBudget) -> None:
        """Take a budget in."""
        if len(self.budgets) < MAX_BUDGETS:
            self.budgets.append(budget)

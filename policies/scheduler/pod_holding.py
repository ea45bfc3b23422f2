"""The shares that pods hold of their nodes, numbered: a cluster has few distinct holdings.

A batch is pods of one namespace as arrays, with what they add to the demands of their nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.model.container_needs import HostPort
from policies.model.interpod_terms import InterPodTerms
from policies.model.labels import LabelSelector
from policies.model.pod_volumes import PodVolumes
from policies.model.resources import Requests
from policies.scheduler.label_sets import LabelSets

#: One number for each pod of a batch, shape ``(p,)``.
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodBatch:
    """Some pods of one namespace.

    Attributes:
        namespace: The namespace.
        nodes: The position of each pod's node, shape ``(p,)``.
        label_set: The number of each pod's labels, shape ``(p,)``.
        holding: The number of what each pod holds, shape ``(p,)``.
        label_sets: The labels of each number.
        find: Returns what pods of a number hold.
        volumes: The volumes of those pods that have some, by their positions.
    """

    namespace: str
    nodes: NDArray[np.intp]
    label_set: NDArray[np.int32]
    holding: NDArray[np.int32]
    label_sets: LabelSets
    find: Callable[[int], Holding]
    volumes: Mapping[int, PodVolumes]

    def selected(self, selector: LabelSelector) -> NDArray[np.bool_]:
        """Return which pods a selector selects, shape ``(p,)``."""
        return self.label_sets.select(selector)[self.label_set]

    def by_holding(self, amount: Callable[[Holding], int]) -> Numbers:
        """Return a number for each pod that depends on what it holds; few pods differ in that."""
        distinct, position = np.unique(self.holding, return_inverse=True)
        amounts = np.array([amount(self.find(number)) for number in distinct.tolist()], np.int64)
        return amounts[position] if len(distinct) else np.zeros(0, np.int64)

    def by_volumes(self, amount: Callable[[PodVolumes], int]) -> Numbers:
        """Return a number for each pod that depends on its volumes, 0 for one without any."""
        amounts = np.zeros(len(self.nodes), np.int64)
        for position, volumes in self.volumes.items():
            amounts[position] = amount(volumes)
        return amounts


def concatenated(numbers: Collection[NDArray[np.int64]]) -> Numbers:
    """Return the numbers of several batches as one array, of shape ``(0,)`` without any."""
    return np.concatenate([np.zeros(0, np.int64), *numbers])


class Holding(NamedTuple):
    """The share of its node that a pod holds, and whether it was placed by spread constraints of its own."""

    requests: Requests
    terms: InterPodTerms
    ports: tuple[HostPort, ...]
    spread: bool


class HoldingNumbers:
    """Numbers the distinct holdings, of which a cluster has few; one that no pod has is forgotten."""

    def __init__(self) -> None:
        self._numbers: dict[Holding, int] = {}
        self._holdings: list[Holding] = []
        self._counts: list[int] = []
        self._free: list[int] = []

    def take(self, holding: Holding) -> int:
        """Return the number of what one more pod holds."""
        number = self._numbers.get(holding)
        if number is None:
            if self._free:
                number = self._free.pop()
                self._holdings[number] = holding
            else:
                number = len(self._holdings)
                self._holdings.append(holding)
                self._counts.append(0)
            self._numbers[holding] = number
        self._counts[number] += 1
        return number

    def copy(self) -> HoldingNumbers:
        """Return numbers of their own for the same holdings."""
        fork = HoldingNumbers()
        fork._numbers, fork._holdings = dict(self._numbers), list(self._holdings)
        fork._counts, fork._free = list(self._counts), list(self._free)
        return fork

    def find(self, number: int) -> Holding:
        """Return the holding of a number."""
        return self._holdings[number]

    def release(self, number: int) -> Holding:
        """Release a number; return its holding."""
        holding = self._holdings[number]
        self._counts[number] -= 1
        if not self._counts[number]:
            del self._numbers[holding]
            self._free.append(number)
        return holding

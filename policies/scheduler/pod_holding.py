"""The shares that pods hold of their nodes, numbered: a cluster has few distinct holdings."""

from __future__ import annotations

from typing import NamedTuple

from policies.model.interpod_terms import InterPodTerms
from policies.model.pod import BoundPod
from policies.model.resources import HostPort, Requests


class Holding(NamedTuple):
    """The share of its node that a pod holds, and whether it was placed by spread constraints of its own."""

    requests: Requests
    terms: InterPodTerms
    ports: tuple[HostPort, ...]
    spread: bool

    @classmethod
    def of(cls, pod: BoundPod) -> Holding:
        """Return the share that a pod holds of its node, or would."""
        return cls(pod.requests + pod.assumed + pod.older, pod.terms, pod.ports, pod.spread)


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

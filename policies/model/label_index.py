"""The workloads of a repository by labels, and the distinct label sets, found by what selectors require.

The index of a cluster's pods (``engine/label_sets.py``) does the same with arrays for sets that come and go;
a linter without a cluster does not load numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from policies.model.labels import LabelSelector, Operator
from policies.model.workload import Workload


class LabelIndex:
    """Numbers label sets from 0, in the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[frozenset[tuple[str, str]], int] = {}
        self._sets: list[Mapping[str, str]] = []
        self._by_value: dict[tuple[str, str], list[int]] = {}
        self._with_key: dict[str, list[int]] = {}

    def add(self, labels: Mapping[str, str]) -> int:
        """Return the number of a label set."""
        pairs = frozenset(labels.items())
        number = self._numbers.setdefault(pairs, len(self._sets))
        if number == len(self._sets):
            self._sets.append(labels)
            for pair in pairs:
                self._by_value.setdefault(pair, []).append(number)
                self._with_key.setdefault(pair[0], []).append(number)
        return number

    def find(self, labels: Mapping[str, str]) -> int | None:
        """Return the number that a label set has; None if it never came."""
        return self._numbers.get(frozenset(labels.items()))

    def matching(self, selector: LabelSelector) -> Iterator[int]:
        """Yield the numbers of the sets that a selector matches, ascending.

        Only sets are looked at that satisfy the requirement which the fewest satisfy; all of them for a
        selector that only requires labels to be absent, which most match.
        """
        lists = min(self._satisfying(selector), key=lambda lists: sum(map(len, lists)), default=None)
        found: Sequence[int] | range
        if lists is None:
            found = range(len(self._sets))
        else:
            found = lists[0] if len(lists) == 1 else sorted(chain(*lists))
        return (number for number in found if selector.matches(self._sets[number]))

    def _satisfying(self, selector: LabelSelector) -> Iterator[list[list[int]]]:
        """Yield for each requirement of a label the sets that have it, value by value."""
        for pair in selector.match_labels:
            yield [self._by_value.get(pair, [])]
        for entry in selector.match_expressions:
            if entry.operator is Operator.EXISTS:
                yield [self._with_key.get(entry.key, [])]
            elif entry.operator is Operator.IN:
                # A value may be listed twice.
                yield [self._by_value.get((entry.key, value), []) for value in dict.fromkeys(entry.values)]


class SelectedWorkloads:
    """Workloads, each with labels; those with the same labels are looked at once."""

    def __init__(self, workloads: Iterable[tuple[Mapping[str, str], Workload]]) -> None:
        self.index = LabelIndex()
        self._with_labels: list[list[Workload]] = []
        for labels, workload in workloads:
            number = self.index.add(labels)
            if number == len(self._with_labels):
                self._with_labels.append([])
            self._with_labels[number].append(workload)

    def matching(self, selector: LabelSelector) -> Iterator[Workload]:
        """Yield the workloads that a selector selects, those with the same labels together."""
        for number in self.index.matching(selector):
            yield from self._with_labels[number]

"""Workloads by labels, of their pods or their own: which of them a selector selects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from policies.model.declared import Workload
from policies.model.label_index import LabelIndex
from policies.model.labels import LabelSelector


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

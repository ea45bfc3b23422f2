"""The pods that may be evicted for another, by node and importance, and which budgets their eviction breaks.

Source: ``SelectVictimsOnNode`` and ``filterPodsWithPDBViolation``,
``pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from policies.model.labels import LabelSelector
from policies.model.pod_volumes import PodVolumes
from policies.model.scaling import EvictionBudget
from policies.model.workload import OWNER_KEY
from policies.scheduler.holdings import Holding
from policies.scheduler.node_view import NodeView
from policies.scheduler.pod_table import PodRows, PodTable

#: One number for each pod of a batch, shape ``(p,)``.
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class PodBatch:
    """Some pods of one namespace."""

    namespace: str  #: The namespace.
    table: PodTable  #: Its pods.
    slots: NDArray[np.intp]  #: The slots of those of the batch, shape ``(p,)``.
    nodes: NDArray[np.intp]  #: The position of each pod's node, shape ``(p,)``.
    find: Callable[[int], Holding]  #: Returns what pods of a number hold.

    @cached_property
    def rows(self) -> PodRows:
        """The columns of the pods, each of shape ``(p,)``."""
        return self.table.rows(self.slots)

    @cached_property
    def names(self) -> list[str]:
        """The name of each pod."""
        named = self.table.names_of_slots(frozenset(self.slots.tolist()))
        return [named[slot] for slot in self.slots.tolist()]

    @cached_property
    def volumes(self) -> dict[int, PodVolumes]:
        """The volumes of those pods that have some, by their positions."""
        known = self.table.volumes
        return {at: known[name] for at, name in enumerate(self.names) if name in known} if known else {}

    def selected(self, selector: LabelSelector) -> NDArray[np.bool_]:
        """Return which pods a selector selects, shape ``(p,)``."""
        return self.table.label_sets.select(selector)[self.rows.label_set]

    def by_holding(self, amount: Callable[[Holding], int]) -> Numbers:
        """Return a number for each pod that depends on what it holds; few pods differ in that."""
        distinct, position = np.unique(self.rows.holding, return_inverse=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleVictims:
    """Pods of lower priority than another, by node and then by importance."""

    batches: tuple[PodBatch, ...]  #: The pods of each namespace, in an order of their own.
    order: NDArray[np.intp]  #: The place of each of them among the pods of all batches, shape ``(v,)``.
    nodes: NDArray[np.int64]  #: The position of each pod's node, shape ``(v,)``.
    priority: NDArray[np.int64]  #: The priority of each, shape ``(v,)``.
    started: NDArray[np.int64]  #: When each started, in seconds since 1970, shape ``(v,)``.
    violating: NDArray[np.bool_]  #: Whether the eviction of each breaks a budget, shape ``(v,)``.

    def names(self, chosen: NDArray[np.bool_]) -> list[tuple[int, str, str]]:
        """Return the position of the node, the namespace and the name of some pods, by node and importance.

        Of equally important ones those come first whose eviction breaks a budget.

        Args:
            chosen: Which of the pods, shape ``(v,)``.
        """
        places = np.flatnonzero(chosen)
        keys = (places, ~self.violating[places], self.started[places], -self.priority[places])
        places = places[np.lexsort((*keys, self.nodes[places]))]
        wanted = self.order[places]
        ends = np.cumsum([0, *(len(batch.slots) for batch in self.batches)])
        batch = np.searchsorted(ends, wanted, side="right") - 1
        found: dict[int, str] = {}
        for number in np.unique(batch).tolist():
            table, slots = self.batches[number].table, self.batches[number].slots
            of_batch = wanted[batch == number]
            slot_of = dict(zip(of_batch.tolist(), slots[of_batch - ends[number]].tolist(), strict=True))
            names = table.names_of_slots(frozenset(slot_of.values()))
            found |= {place: names[slot] for place, slot in slot_of.items()}
        nodes = self.nodes[places].tolist()
        spaces = [self.batches[number].namespace for number in batch.tolist()]
        return [
            (node, space, found[place])
            for node, space, place in zip(nodes, spaces, wanted.tolist(), strict=True)
        ]


def possible_victims(view: NodeView, priority: int, nodes: NDArray[np.bool_]) -> PossibleVictims:
    """Return the pods of lower priority on some nodes.

    Args:
        view: The nodes.
        priority: The priority of the pod that needs room.
        nodes: Which nodes, shape ``(n,)``.
    """
    position = np.full(view.index.nodes.slots, -1, np.intp)
    position[view.slots[nodes]] = np.flatnonzero(nodes)
    batches = []
    for namespace, table in view.index.pod_tables():
        rows = table.rows()
        of_node = position[rows.node]
        slots = np.flatnonzero((of_node >= 0) & (rows.priority < priority))
        if len(slots):
            batches.append(PodBatch(namespace, table, slots, of_node[slots], view.index.holding))
    of_node = concatenated([batch.nodes for batch in batches])
    priorities = concatenated([batch.rows.priority.astype(np.int64) for batch in batches])
    started = concatenated([batch.rows.started for batch in batches])
    number = concatenated([batch.rows.number for batch in batches])
    # The more important is the one of higher priority, then the one that started earlier.
    order = np.lexsort((number, started, -priorities, of_node))
    return PossibleVictims(
        batches=tuple(batches),
        order=order,
        nodes=of_node[order],
        priority=priorities[order],
        started=started[order],
        violating=_violating(view, batches, order, of_node[order]),
    )


def _violating(
    view: NodeView, batches: list[PodBatch], order: NDArray[np.intp], nodes: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the pods whose eviction breaks a budget, shape ``(v,)``.

    On every node each budget allows a number of evictions, which the most important pods take; those that are
    not evicted in the end took theirs as well.
    """
    violating = np.zeros(len(order), np.bool_)
    place, end = np.argsort(order), 0
    for batch in batches:
        start, end = end, end + len(batch.slots)
        places = place[start:end]
        for covered, allowed in _limits(view.index.budgets.of(batch.namespace), batch):
            taking = np.sort(places[covered])
            on_node = nodes[taking]
            taken_before = np.arange(len(taking)) - np.searchsorted(on_node, on_node)
            violating[taking[taken_before >= allowed]] = True
    return violating


def _limits(budgets: Iterable[EvictionBudget], batch: PodBatch) -> Iterator[tuple[NDArray[np.bool_], int]]:
    """Yield which pods of a batch budgets of its namespace count, and how many evictions they allow.

    Of budgets that count the same pods the one that allows least decides, so many of them cost little more.
    """
    label_sets, least = batch.table.label_sets, dict[tuple[bytes, frozenset[str]], int]()
    for budget in budgets:
        # An empty selector matches no pod here.
        if budget.selector is not None and not budget.selector.empty:
            counted = label_sets.select(budget.selector).tobytes(), budget.disrupted
            allowed = budget.allowed or 0
            least[counted] = min(allowed, least.get(counted, allowed))
    if not least:
        return
    sets = batch.rows.label_set
    # A pod without labels breaks no budget.
    labels = map(label_sets.labels, sets.tolist())
    labeled = np.array([any(key != OWNER_KEY for key, _ in pairs) for pairs in labels])
    for (selected, disrupted), allowed in least.items():
        covered = np.frombuffer(selected, np.bool_)[sets] & labeled
        if disrupted and covered.any():
            covered &= np.array([name not in disrupted for name in batch.names])
        yield covered, allowed

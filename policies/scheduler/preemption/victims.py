"""The pods that may be evicted for another, by node and importance, and which budgets their eviction breaks.

Source: ``SelectVictimsOnNode`` and ``filterPodsWithPDBViolation``,
``pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policies.model.eviction_budget import EvictionBudget
from policies.model.labels import LabelSelector
from policies.model.pod_volumes import PodVolumes
from policies.scheduler.label_sets import LabelSets
from policies.scheduler.node_view import NodeView
from policies.scheduler.pod_holding import Holding
from policies.scheduler.pod_table import PodTable

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleVictims:
    """Pods of lower priority than another, by node and then by importance.

    Attributes:
        batches: The pods of each namespace, in an order of their own.
        order: The place of each of them among the pods of all batches, shape ``(v,)``.
        nodes: The position of each pod's node, shape ``(v,)``.
        priority: The priority of each, shape ``(v,)``.
        started: When each started, in seconds since 1970, shape ``(v,)``.
        violating: Whether the eviction of each breaks a budget, shape ``(v,)``.
        tables: The table and the slots of the pods of each batch.
    """

    batches: tuple[PodBatch, ...]
    order: NDArray[np.intp]
    nodes: NDArray[np.int64]
    priority: NDArray[np.int64]
    started: NDArray[np.int64]
    violating: NDArray[np.bool_]
    tables: tuple[tuple[PodTable, NDArray[np.intp]], ...]

    def names(self, chosen: NDArray[np.bool_]) -> list[tuple[int, str, str]]:
        """Return the position of the node, the namespace and the name of some pods, by node and importance.

        Of equally important ones those come first whose eviction breaks a budget.

        Args:
            chosen: Which of the pods, shape ``(v,)``.
        """
        places = np.flatnonzero(chosen)
        keys = (places, ~self.violating[places], self.started[places], -self.priority[places])
        places = places[np.lexsort((*keys, self.nodes[places]))]
        wanted, sizes = self.order[places], [len(slots) for _, slots in self.tables]
        ends = np.cumsum([0, *sizes])
        batch = np.searchsorted(ends, wanted, side="right") - 1
        found: dict[int, str] = {}
        for number in np.unique(batch).tolist():
            table, slots = self.tables[number]
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
    batches, tables, columns = [], [], []
    for namespace, table in view.index.pod_tables():
        rows = table.rows()
        slots = np.flatnonzero((position[rows.node] >= 0) & (rows.priority < priority))
        if len(slots):
            rows = table.rows(slots)
            batches.append(a_batch(view, namespace, table, slots, position[rows.node]))
            tables.append((table, slots))
            columns.append(rows)
    of_node = concatenated([batch.nodes for batch in batches])
    priorities = concatenated([rows.priority.astype(np.int64) for rows in columns])
    started = concatenated([rows.started for rows in columns])
    number = concatenated([rows.number for rows in columns])
    # The more important is the one of higher priority, then the one that started earlier.
    order = np.lexsort((number, started, -priorities, of_node))
    return PossibleVictims(
        batches=tuple(batches),
        order=order,
        nodes=of_node[order],
        priority=priorities[order],
        started=started[order],
        violating=_violating(view, batches, tables, order, of_node[order]),
        tables=tuple(tables),
    )


def a_batch(
    view: NodeView, namespace: str, table: PodTable, slots: NDArray[np.intp], nodes: NDArray[np.intp]
) -> PodBatch:
    """Return some pods of a table as a batch."""
    rows, volumes = table.rows(slots), {}
    if table.volumes:
        names = table.names_of_slots(frozenset(slots.tolist()))
        by_slot = {slot: table.volumes.get(name) for slot, name in names.items()}
        found = ((at, by_slot.get(slot)) for at, slot in enumerate(slots.tolist()))
        volumes = {at: entry for at, entry in found if entry is not None}
    return PodBatch(
        namespace=namespace,
        nodes=nodes,
        label_set=rows.label_set,
        holding=rows.holding,
        label_sets=table.label_sets,
        find=view.index.holding,
        volumes=volumes,
    )


def _violating(
    view: NodeView,
    batches: list[PodBatch],
    tables: list[tuple[PodTable, NDArray[np.intp]]],
    order: NDArray[np.intp],
    nodes: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return the pods whose eviction breaks a budget, shape ``(v,)``.

    On every node each budget allows a number of evictions, which the most important pods take; those that are
    not evicted in the end took theirs as well.
    """
    violating = np.zeros(len(order), np.bool_)
    first = np.searchsorted(nodes, nodes)
    for budget in view.index.budgets:
        covered = list(_covered(budget, batches, tables))
        if not any(mask.any() for mask in covered):
            continue
        counted = np.concatenate(covered)[order].astype(np.int64)
        total = np.concatenate([[0], np.cumsum(counted)])
        on_node = total[1:] - total[first]
        violating |= (counted > 0) & (on_node > (budget.allowed or 0))
    return violating


def _covered(
    budget: EvictionBudget, batches: list[PodBatch], tables: list[tuple[PodTable, NDArray[np.intp]]]
) -> Iterator[NDArray[np.bool_]]:
    """Yield which pods of each batch a budget counts."""
    # An empty selector matches no pod here, and a pod without labels breaks no budget.
    selector = None if budget.selector is None or budget.selector.empty else budget.selector
    for batch, (table, slots) in zip(batches, tables, strict=True):
        covered = np.zeros(len(slots), np.bool_)
        if selector is not None and batch.namespace == budget.namespace:
            labeled = np.array([bool(batch.label_sets.labels(number)) for number in batch.label_set.tolist()])
            covered = batch.selected(selector) & labeled
            if covered.any() and budget.disrupted:
                names = table.names_of_slots(frozenset(slots.tolist()))
                covered &= np.array([names[slot] not in budget.disrupted for slot in slots.tolist()])
        yield covered

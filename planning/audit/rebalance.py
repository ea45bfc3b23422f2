"""The fewest evictions that bring a workload back within maxSkew, each with where its replacement goes.

A plan is a list of evictions, one after the other: the controller replaces each pod, and the scheduler binds
the replacement, before the next is evicted. Pods of the workload on one node are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from planning.audit.least_moves import (
    RUNS_NOWHERE,
    constraint_moves,
    runs_nowhere,
    spread_positions,
)
from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.replicas import replicas_of
from planning.simulation.verdicts import refusing_domains
from policies.pods.placement import PreparedPod
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.node_table import MISSING
from policies.scheduler.result import SchedulingResult

#: Evictions that a plan has at most.
MOST_EVICTIONS: Final = 100
#: Evictions that are tried in the search for a shorter plan: with 5,000 nodes each takes some 6 ms.
MOST_TRIED: Final = 1_000


class NoPlan(StrEnum):
    """Why evictions do not bring a workload within maxSkew, or none is needed."""

    NO_PODS = RUNS_NOWHERE
    BALANCED = "every constraint is within maxSkew: there is nothing to do"
    UNCONSTRAINED = "no constraint in force selects the pods"
    SOFT = "its constraints are soft (ScheduleAnyway): try --soft"
    NO_SELECTOR = "the workload has no selector by which its pods are known"
    BUDGET = "a PodDisruptionBudget allows no eviction now"
    FEWER_DOMAINS = "there are fewer domains than minDomains, so every pod above maxSkew stays in excess"
    STUCK = "no further eviction brings a constraint closer to its maxSkew"
    UNDECIDED = f"{MOST_TRIED:,} evictions were tried; further ones may help"
    TOO_MANY = f"it takes more than {MOST_EVICTIONS} evictions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """One eviction."""

    pod: str  #: The pod.
    node: str  #: The node that it is on.
    replacement: SchedulingAttempt  #: Where the pod goes that its controller makes in its place.


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalancePlan:
    """The evictions that bring a workload back within maxSkew."""

    #: In their order; where they do not bring it within maxSkew, those that bring it closer.
    evictions: tuple[Eviction, ...] = ()
    #: The matching pods by domain, for each constraint that is looked at, by its position.
    before: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    after: Mapping[int, Mapping[str, int]] = field(default_factory=dict)  #: The same after the evictions.
    least: int = 0  #: No plan has fewer evictions.
    proven: bool = False  #: Whether no shorter plan exists, as far as ties are broken by name.
    why_not: NoPlan | None = None  #: Why they do not bring it within maxSkew; None if they do.
    #: Where no eviction helps: where the replacement of a pod in excess would go.
    stuck: Eviction | None = None
    #: What keeps pods out of the emptiest domains then, in words; empty where nothing does.
    refusing: str = ""
    #: How many evictions each PodDisruptionBudget allows now that selects the pods.
    budgets: Mapping[str, int] = field(default_factory=dict)


def rebalance(
    prepared: PreparedPod, *, soft: bool = False, budgets: Mapping[str, int] = MappingProxyType({})
) -> RebalancePlan:
    """Search for the fewest evictions that bring a workload back within maxSkew.

    Args:
        prepared: The next pod of the workload; its cluster stays as it is.
        soft: Whether ScheduleAnyway constraints must be kept, too.
        budgets: How many evictions each PodDisruptionBudget allows now that selects its pods.
    """
    search = _Search(prepared, soft=soft)
    start = search.look(ClusterSimulation.of(prepared.cluster, prepared.request))
    found = RebalancePlan(before=start.counts, after=start.counts, least=start.least or 0, budgets=budgets)
    if why := _refusal(prepared, search, start, budgets):
        return replace(found, why_not=why)
    greedy, stuck = search.greedy(start)
    if greedy.least != 0:
        refusing = (
            refusing_domains(greedy.result, at, greedy.simulation.cluster) for at in search.above(greedy)
        )
        return replace(
            found,
            evictions=greedy.evictions,
            after=greedy.counts,
            stuck=None if greedy.evictions else stuck,
            refusing="; ".join(filter(None, refusing)),
            why_not=search.why_stuck(greedy),
        )
    shortest = search.shortest(start, greedy)
    return replace(
        found,
        evictions=shortest.evictions,
        after=shortest.counts,
        proven=len(shortest.evictions) == start.least or not search.exhausted,
    )


def _refusal(
    prepared: PreparedPod, search: _Search, start: _Look, budgets: Mapping[str, int]
) -> NoPlan | None:
    """Return why no plan is searched for."""
    if not search.positions:
        return NoPlan.SOFT if spread_positions(prepared.request, soft=True) else NoPlan.UNCONSTRAINED
    if runs_nowhere(prepared):
        return NoPlan.NO_PODS
    if start.least == 0:
        return NoPlan.BALANCED
    if search.selector is None:
        return NoPlan.NO_SELECTOR
    if start.least is None:
        return NoPlan.FEWER_DOMAINS
    return NoPlan.BUDGET if any(allowed < 1 for allowed in budgets.values()) else None


@dataclass(frozen=True, slots=True)
class _Look:
    """A cluster after some evictions."""

    simulation: ClusterSimulation  #: The cluster.
    evictions: tuple[Eviction, ...]  #: The evictions.
    result: SchedulingResult  #: Of the next pod there.
    counts: Mapping[int, Mapping[str, int]]  #: Matching pods by domain, by the position of the constraint.
    least: int | None  #: How many pods must still move at least; None where no move can help.
    total: int  #: How many moves the constraints need, each counted alone.


class _Search:
    """Tries evictions on forks of the cluster."""

    def __init__(self, prepared: PreparedPod, *, soft: bool) -> None:
        self._request = prepared.request
        self._keeps_names = prepared.workload.kind.kind == "StatefulSet"
        self._names = [entry.name for entry in replicas_of(prepared, MOST_EVICTIONS)]
        self._tried = 0
        #: The selector of the workload's pods.
        self.selector = prepared.workload.own_pods
        #: The constraints that are looked at.
        self.positions = spread_positions(prepared.request, soft=soft)

    @property
    def exhausted(self) -> bool:
        """Whether more evictions would have had to be tried than are."""
        return self._tried >= MOST_TRIED

    def look(self, simulation: ClusterSimulation, evictions: tuple[Eviction, ...] = ()) -> _Look:
        """Return how a cluster is spread."""
        result = simulation.evaluate(self._request)
        counts = {position: result.results[position].domains.by_value() for position in self.positions}
        moves = [
            constraint_moves(self._request.constraints[position].constraint, counts[position].values())
            for position in self.positions
        ]
        known = [each for each in moves if each is not None]
        return _Look(
            simulation=simulation,
            evictions=evictions,
            result=result,
            counts=counts,
            least=max(known, default=0) if len(known) == len(moves) else None,
            total=sum(known),
        )

    def greedy(self, start: _Look) -> tuple[_Look, Eviction | None]:
        """Evict a pod in excess whose replacement goes elsewhere, until nothing is in excess, or none does.

        Returns:
            The cluster then, and the first eviction that brought nothing; None where none did so.
        """
        state = start
        while state.least != 0 and len(state.evictions) < MOST_EVICTIONS:
            before = (state.least or 0, state.total)
            last = None
            own = self._own(state.simulation)
            for after in self._further(state, own, self._in_excess(state, own)):
                last = last or after.evictions[-1]
                if _placed(after) and after.least is not None and (after.least, after.total) < before:
                    state = after
                    break
            else:
                return state, last
        return state, None

    def above(self, state: _Look) -> list[int]:
        """Return the constraints that are above maxSkew, by their positions."""
        constraints = self._request.constraints
        return [
            at
            for at in self.positions
            if constraint_moves(constraints[at].constraint, state.counts[at].values()) != 0
        ]

    def why_stuck(self, state: _Look) -> NoPlan:
        """Return why no further eviction was found."""
        if len(state.evictions) == MOST_EVICTIONS:
            return NoPlan.TOO_MANY
        return NoPlan.UNDECIDED if self.exhausted else NoPlan.STUCK

    def shortest(self, start: _Look, known: _Look) -> _Look:
        """Return a plan with fewer evictions than a known one, or that one if none is found."""
        for depth in range(start.least or 0, len(known.evictions)):
            found = self._within(start, depth)
            if found is not None or self.exhausted:
                return found or known
        return known

    def _within(self, state: _Look, depth: int) -> _Look | None:
        if state.least == 0:
            return state
        if state.least is None or state.least > depth:
            return None
        own = self._own(state.simulation)
        return next(
            (
                found
                for after in self._further(state, own, own)
                if _placed(after) and (found := self._within(after, depth - 1)) is not None
            ),
            None,
        )

    def _further(self, state: _Look, own: Mapping[str, list[str]], nodes: Iterable[str]) -> Iterator[_Look]:
        """Yield the cluster after the eviction of one of the own pods on each of some nodes."""
        pod = self._request.pod
        for node in nodes:
            if self.exhausted:
                return
            self._tried += 1
            evicted = own[node][-1]
            after = state.simulation.fork(self._request)
            after.delete(pod.namespace, evicted)
            name = evicted if self._keeps_names else self._names[len(state.evictions)]
            step = after.schedule(self._request, name)
            eviction = Eviction(pod=evicted, node=node, replacement=step)
            yield self.look(after, (*state.evictions, eviction))

    def _own(self, simulation: ClusterSimulation) -> dict[str, list[str]]:
        """Return the workload's pods by node."""
        if self.selector is None:
            return {}
        found: dict[str, list[str]] = {}
        for pod in simulation.cluster.selected_pods(self._request.pod.namespace, self.selector):
            found.setdefault(pod.node, []).append(pod.name)
        return found

    def _in_excess(self, state: _Look, own: Mapping[str, list[str]]) -> list[str]:
        """Return the nodes with pods of the workload, those of the fullest domains first."""
        domains = {position: _of_nodes(state.result, position) for position in self.positions}

        def fullness(node: str) -> tuple[int, ...]:
            return tuple(
                -state.counts[position].get(domains[position].get(node, ""), 0) for position in self.positions
            )

        return sorted(own, key=lambda node: (min(fullness(node)), sum(fullness(node)), -len(own[node]), node))


def _placed(state: _Look) -> bool:
    """Return whether the last replacement has a node: one that has none is a replica less."""
    return state.evictions[-1].replacement.node is not None


def _of_nodes(result: SchedulingResult, position: int) -> dict[str, str]:
    domains = result.results[position].domains
    return {
        name: domains.values[at]
        for name, at in zip(result.names, domains.of_node.tolist(), strict=True)
        if at != MISSING
    }

"""The smallest changes with which a pod that fits nowhere would fit, each evaluated before it is proposed.

The pod is one of several replicas as a rule, so that of each change it is counted how many of them fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from typing import Final

import numpy as np

from planning.simulation.cluster_simulation import never
from planning.simulation.replicas import Replicas, fill
from planning.simulation.suggestions.claim_suggestions import claim_suggestions
from planning.simulation.suggestions.cluster_suggestions import Changed, cluster_suggestions
from planning.simulation.suggestions.given_up import WEAKENING
from planning.simulation.suggestions.suggestion_edits import EditSearch, constraint_candidates, edits_of
from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit, merge_edits
from policies.manifests.fields import FieldPath
from policies.model.constraint import Constraint
from policies.pods.placement import Placement, evaluate_workload
from policies.scheduler.candidates import find_candidates, max_skew_change
from policies.scheduler.changes import Change, ChangeKind, ClusterChange
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.rejections import EXAMPLES
from policies.scheduler.result import FilterResult, SchedulingResult

#: Verdicts that a search may take: some milliseconds each where nodes are thousands.
MOST_VERDICTS: Final = 48
#: Suggestions after which a search ends: people do not read more.
MOST_SUGGESTIONS: Final = 8
#: Missing replicas up to which the least maxSkew is looked for that lets in all: each step places
#: all of them.
MOST_WIDENED: Final = 50
#: Suggestions of two changes each after which a search ends.
MOST_PAIRS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalChange:
    """A change of a constraint that no manifest has: a policy, or the scheduler, gives it."""

    change: Change  #: The change.
    constraint: Constraint  #: The constraint, before it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Changes that together make the pod fit; one, or two if no single one does."""

    changes: tuple[Change | ClusterChange, ...]  #: The changes.
    edits: tuple[Edit, ...] = ()  #: What to edit in the manifest, in the order of its parts.
    #: What to change where constraints come from that no manifest has.
    elsewhere: tuple[ExternalChange, ...] = ()
    feasible: int  #: How many nodes could take the pod then.
    examples: tuple[str, ...]  #: The first of their names.
    #: How many replicas of the workload fit then; None where their number is not known.
    replicas: Replicas | None = None

    @property
    def in_cluster(self) -> ClusterChange | None:
        """The change, if it is one of the cluster."""
        return next((change for change in self.changes if isinstance(change, ClusterChange)), None)

    @property
    def weakens(self) -> bool:
        """Whether a constraint is no longer what it promises."""
        return any(change.what in WEAKENING for change in self.changes)

    @property
    def cost(self) -> tuple[bool, list[tuple[float, float]]]:
        """The sort key of suggestions: enough for every replica or not, then the gravest of their changes.

        More of the same would do in the cluster, where it is not enough.
        """
        short = self.replicas is not None and not self.replicas.enough and self.in_cluster is None
        return short, sorted((change.cost for change in self.changes), reverse=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestions:
    """The result of a search for suggestions."""

    found: tuple[Suggestion, ...] = ()  #: The suggestions, the one that gives up least first.
    verdicts: int = 0  #: How many verdicts it took.
    complete: bool = True  #: Whether everything that looked promising was tried.


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """A manifest after some changes, and the engine's result."""

    placement: Placement  #: Of the edited manifest.
    result: SchedulingResult  #: On that, with the changes of constraints that no manifest has.
    changes: tuple[Change, ...] = ()  #: Every change.
    edits: tuple[Edit, ...] = ()  #: Those of the manifest.
    elsewhere: tuple[ExternalChange, ...] = ()  #: The others.
    #: The position of the constraint that is taken out of the manifest's list, if one is.
    taken: int | None = None

    @property
    def fits(self) -> bool:
        return self.result.feasible_count > 0


def find_suggestions(
    placement: Placement,
    context: AdmissionContext,
    replicas: Replicas | None = None,
    *,
    stop: Callable[[], bool] = never,
) -> Suggestions:
    """Return the changes that would make a pod fit; none for one that fits.

    Scheduling gates are taken away first, since nothing else helps while there are any.

    Args:
        placement: Of a manifest, in that context.
        context: Its cluster must not have changed since, as a fork does not.
        replicas: How many replicas the workload has in that cluster, of which the pod is the next.
        stop: Whether to end with what was found; called before each verdict.
    """
    if placement.result.feasible_count or context.cluster is None:
        return Suggestions()
    return _Search(placement, context, replicas, stop).run()


class _Search:
    """Tries changes, then pairs of them, those that give up least first."""

    def __init__(
        self,
        placement: Placement,
        context: AdmissionContext,
        replicas: Replicas | None,
        stop: Callable[[], bool],
    ) -> None:
        self._manifest = placement.workload.obj
        self._edits = EditSearch(
            placement.workload,
            context,
            lambda workload: evaluate_workload(workload, context, revision_of=placement),
            most=MOST_VERDICTS,
            may_go_on=lambda: not stop(),
        )
        self._stop = stop
        self._start = _State(placement=placement, result=placement.result)
        self._cluster = placement.cluster
        self._replicas = replicas

    def run(self) -> Suggestions:
        """Search, once."""
        found = sorted(self._suggestions(), key=lambda suggestion: suggestion.cost)
        complete = self._edits.complete and not self._stop()
        return Suggestions(found=tuple(found), verdicts=self._edits.tried, complete=complete)

    def _suggestions(self) -> Iterator[Suggestion]:
        """Yield suggestions until the search is to stop; none whose replicas were not all counted then."""
        in_manifest = (self._suggestion(self._wide_enough(state)) for state in self._search())
        in_cluster = (
            self._in_cluster(changed)
            for find in (cluster_suggestions, claim_suggestions)
            for changed in find(self._start.result, self._cluster)
        )
        yield from takewhile(lambda _suggestion: not self._stop(), chain(in_manifest, in_cluster))

    def _suggestion(self, state: _State) -> Suggestion:
        return Suggestion(
            changes=state.changes,
            edits=tuple(sorted(state.edits, key=lambda edit: edit.path.segments[:-1])),
            elsewhere=state.elsewhere,
            feasible=state.result.feasible_count,
            examples=examples_of(state.result),
            replicas=self._count(state.result, self._cluster),
        )

    def _in_cluster(self, changed: Changed) -> Suggestion:
        return Suggestion(
            changes=(changed.change,),
            feasible=changed.result.feasible_count,
            examples=examples_of(changed.result),
            replicas=self._count(changed.result, changed.cluster),
        )

    def _count(self, result: SchedulingResult, cluster: ClusterIndex) -> Replicas | None:
        return (
            None if self._replicas is None else fill(self._replicas, result.request, cluster, self._stop)[0]
        )

    def _wide_enough(self, state: _State) -> _State:
        """Return a state with the least maxSkew with which all replicas fit, if that is what is changed."""
        if len(state.changes) != 1 or state.changes[0].what is not ChangeKind.MAX_SKEW:
            return state
        (change,) = state.changes
        start, at = self._start, change.constraint
        result = None if at is None else start.result.results[at]
        before = self._count(state.result, self._cluster)
        if before is None or before.enough or not isinstance(result, FilterResult) or at is None:
            return state
        if before.wanted - before.fitting > MOST_WIDENED:
            return state
        # One pod more in a domain is one more of skew at most.
        low, high = int(change.value or 0), int(change.value or 0) + before.wanted - before.fitting
        widest = self._try(start, max_skew_change(result, at, high))
        if widest is None or not self._fits_more(widest, before):
            return state
        wanted = self._count(widest.result, self._cluster)
        while high - low > 1:
            middle = (low + high) // 2
            tried = self._try(start, max_skew_change(result, at, middle))
            if tried is not None and self._count(tried.result, self._cluster) == wanted:
                high, widest = middle, tried
            else:
                low = middle
        return widest

    def _fits_more(self, state: _State, before: Replicas) -> bool:
        after = self._count(state.result, self._cluster)
        return after is not None and after.fitting > before.fitting

    def _search(self) -> list[_State]:
        start = self._start
        if start.result.request.is_gated:
            ungated = self._try(start, Change(what=ChangeKind.SCHEDULING_GATES))
            if ungated is None or ungated.fits:
                return [] if ungated is None else [ungated]
            start = ungated
        return self._fitting(self._singles(start, others=0), MOST_SUGGESTIONS) or self._fitting(
            self._pairs(start), MOST_PAIRS
        )

    def _fitting(self, states: Iterator[_State], most: int) -> list[_State]:
        found: dict[tuple[frozenset[str], frozenset[ExternalChange]], _State] = {}
        for state in states:
            if state.fits:
                # The same pair comes in both orders.
                edited = frozenset(f"{edit.path} {edit.new}" for edit in state.edits)
                found.setdefault((edited, frozenset(state.elsewhere)), state)
                if len(found) == most:
                    break
        return list(found.values())

    def _singles(self, start: _State, *, others: int) -> Iterator[_State]:
        changes = find_candidates(start.result, self._cluster, others=others)
        for change in sorted(
            [*changes, *constraint_candidates(start.placement)], key=lambda change: change.cost
        ):
            state = self._try(start, change)
            if state is not None:
                yield state

    def _pairs(self, start: _State) -> Iterator[_State]:
        """Yield pairs by what their graver half gives up."""
        firsts = [state for state in self._singles(start, others=1) if not state.fits]
        planned = [
            (sorted((first.changes[-1].cost, change.cost), reverse=True), number, first, change)
            for number, first in enumerate(firsts)
            for change in find_candidates(first.result, self._cluster, others=0)
        ]
        for _, _, first, change in sorted(planned, key=lambda plan: plan[:2]):
            state = self._try(first, change)
            if state is not None:
                yield state

    def _try(self, state: _State, change: Change) -> _State | None:
        """Return the state after one more change; None if that cannot be made, or is one too many."""
        after = self._change(state, change)
        placement = None if after is None else self._edits.attempt(after.edits)
        if after is None or placement is None:
            return None
        result = placement.result
        if after.elsewhere:
            request = result.request
            for elsewhere in after.elsewhere:
                request = elsewhere.change.apply(request)
            result = evaluate(request, self._cluster)
        return replace(after, placement=placement, result=result)

    def _change(self, state: _State, change: Change) -> _State | None:
        changes, workload = (*state.changes, change), state.placement.workload
        if change.constraint is not None and not workload.template.constraints:
            constraint = state.result.request.constraints[change.constraint].constraint
            elsewhere = ExternalChange(change=change, constraint=constraint)
            return replace(state, changes=changes, elsewhere=(*state.elsewhere, elsewhere))
        change = _in_manifest(change, state.placement)
        more = edits_of(change, workload)
        if more is None:
            return None
        taken = state.taken
        if change.constraint is not None and taken is not None:
            # The entries after it are one further in the manifest as it was.
            more = tuple(_moved(edit, len(workload.kind.constraints_path.segments), taken) for edit in more)
        if change.what is ChangeKind.CONSTRAINT:
            taken = change.constraint
        edits = merge_edits(self._manifest, state.edits, more)
        return None if edits is None else replace(state, changes=changes, edits=edits, taken=taken)


def _in_manifest(change: Change, placement: Placement) -> Change:
    """Return a change of a constraint in force with the constraint's position in the manifest's list.

    A profile may not look at some constraints, which are not in force then.
    """
    if change.constraint is None:
        return change
    profile = placement.result.request.profile
    acting = [
        position
        for position, declared in enumerate(placement.workload.constraints)
        if profile.spreads(declared.constraint.when_unsatisfiable)
    ]
    return replace(change, constraint=acting[change.constraint])


def _moved(edit: Edit, depth: int, taken: int) -> Edit:
    segments = edit.path.segments
    position = segments[depth] if depth < len(segments) else None
    if not isinstance(position, int) or position < taken:
        return edit
    return replace(edit, path=FieldPath((*segments[:depth], position + 1, *segments[depth + 1 :])))


def examples_of(result: SchedulingResult) -> tuple[str, ...]:
    """Return the first names of the nodes that a pod fits."""
    feasible = np.flatnonzero(result.feasible)[:EXAMPLES]
    return tuple(result.names[node] for node in feasible.tolist())

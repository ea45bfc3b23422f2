"""The smallest changes with which a stuck rollout would complete, each verified by rolling it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Final

from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.rollout.rollout import Rollout, simulate_rollout
from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.suggestions.given_up import GivenUp, given_up_by
from planning.simulation.suggestions.suggestion_edits import EditSearch, constraint_candidates, edits_of
from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath, member
from policies.manifests.wire import INTERNAL, Count, SentAs
from policies.model.workload import Workload
from policies.pods.placement import Placement
from policies.scheduler.binding import first_by_name
from policies.scheduler.candidates import find_candidates, max_skew_change
from policies.scheduler.changes import Change, ChangeKind
from policies.scheduler.result import FilterResult

#: Changes that are rolled out at most, and those that work after which the search ends.
MOST_TRIED: Final = 16
MOST_FOUND: Final = 3
#: After how many steps, each as dear as the nodes that there are and some more, no other change is tried: two
#: or three seconds.
MOST_COST: Final = 6_000_000
#: By how much more than lets one pod in ``maxSkew`` is tried to be raised: a rollout has more pods to place.
WIDER: Final = 2

_ROLLING: Final = FieldPath(("spec", "strategy", "rollingUpdate"))


class StrategyChange(StrEnum):
    """A change of a Deployment's rolling update."""

    UNAVAILABLE = "one pod may be unavailable"
    NO_SURGE = "old pods are deleted before new ones are created"
    SURGE = "a pod may be created before an old one is deleted"


#: The last of the changes of the template that are tried before the strategy.
_LAST_BEFORE_STRATEGY: Final = Change(what=ChangeKind.MATCH_LABEL_KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSuggestion:
    """A change with which the rollout completes."""

    #: The change; None if the manifest may stay as it is.
    change: Annotated[Change | StrategyChange | None, INTERNAL]
    edits: tuple[Edit, ...]  #: How to edit the manifest.
    #: Pods without a node that must be deleted besides, because their controller waits for them.
    deleted: Annotated[tuple[str, ...], SentAs("deletePods")] = ()
    placement: Annotated[Placement, INTERNAL]  #: Of the pod that was stuck, before the change.
    #: The largest skew at the end of the rollout with it, for each constraint.
    worst_skews: tuple[Count, ...]
    exact: bool  #: Whether every way to choose was taken; else the likely one and some more.
    evicted: Count = 0  #: The most pods of other workloads that are evicted then.

    @property
    def given_up(self) -> tuple[GivenUp, ...]:
        """The guarantees of constraints that it gives up."""
        changes = (self.change,) if isinstance(self.change, Change) else ()
        return tuple(given_up_by(changes, self.placement.result.request))


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSuggestions:
    """The result of a search."""

    found: tuple[RolloutSuggestion, ...] = ()  #: The changes, the one that gives up least first.
    tried: int = 0  #: How many were rolled out.
    complete: bool = True  #: Whether all were that looked promising, or enough were found.


def find_rollout_suggestions(
    rollout: Rollout, context: AdmissionContext, settings: RolloutSettings
) -> RolloutSuggestions:
    """Return the changes that would make a rollout complete, or end within ``maxSkew``; none for a scale.

    Args:
        rollout: The rollout.
        context: What it was simulated in; its cluster must not have changed since.
        settings: How it was simulated.
    """
    if rollout.scaled or rollout.outcome is RolloutEnd.WAITS_FOR_DELETION:
        return RolloutSuggestions()
    blocking, workload = _blocking(rollout), rollout.prepared.workload
    settings = replace(settings, choose=first_by_name, without=frozenset(blocking))

    def attempt(edited: Workload) -> Rollout:
        return simulate_rollout(edited.obj, context, settings, namespace=workload.namespace)

    if rollout.outcome is RolloutEnd.COMPLETE:
        return _evened(rollout, context, attempt)
    if not blocking:
        return _search(rollout, context, attempt)
    # What its controller waits for keeps every change of the manifest from its pods.
    rollout = attempt(workload)
    if rollout.outcome is RolloutEnd.COMPLETE:
        return RolloutSuggestions(found=(_suggestion(None, (), rollout, rollout.stuck, blocking),), tried=1)
    return _search(rollout, context, attempt, blocking)


def _search(
    rollout: Rollout,
    context: AdmissionContext,
    attempt: Callable[[Workload], Rollout],
    deleted: tuple[str, ...] = (),
) -> RolloutSuggestions:
    """Return the changes of the manifest with which a rollout completes, once some pods are deleted."""
    cost, placement = 0, rollout.stuck
    search = EditSearch(
        rollout.prepared.workload, context, attempt, most=MOST_TRIED, may_go_on=lambda: cost <= MOST_COST
    )
    found: list[RolloutSuggestion] = []
    for change, edits in _candidates(rollout, placement):
        if any(_is_gentler(each.change, change) for each in found):
            continue
        after = search.attempt(edits)
        if not search.complete:
            break
        if after is None:
            continue
        cost += after.courses.cost
        if after.outcome is RolloutEnd.COMPLETE:
            found.append(_suggestion(change, edits, after, placement, deleted))
            if len(found) == MOST_FOUND:
                break
    # What hurts no other workload comes first.
    found.sort(key=lambda suggestion: suggestion.evicted > 0)
    return RolloutSuggestions(
        found=tuple(found), tried=search.tried + bool(deleted), complete=search.complete
    )


def _evened(
    rollout: Rollout, context: AdmissionContext, attempt: Callable[[Workload], Rollout]
) -> RolloutSuggestions:
    """Return the changes with which a rollout that completes ends within ``maxSkew``.

    It may end beyond it because pods of the old revision counted while those of the new one were placed.
    """
    workload, request = rollout.prepared.workload, rollout.prepared.request
    label = workload.kind.revision_label
    if label is None or not workload.template.constraints or not request.behavior.match_label_keys:
        return RolloutSuggestions()
    search = EditSearch(workload, context, attempt, most=MOST_TRIED)
    found: list[RolloutSuggestion] = []
    for position in rollout.uneven:
        applied = request.constraints[position]
        selector, keys = applied.constraint.selector, applied.constraint.match_label_keys
        if selector is None or label in selector.keys.union(keys):
            continue
        change = Change(what=ChangeKind.MATCH_LABEL_KEYS, constraint=position, value=label)
        edits = edits_of(change, workload)
        if not edits:
            continue
        after = search.attempt(edits)
        if after is not None and after.outcome is RolloutEnd.COMPLETE and position not in after.uneven:
            found.append(_suggestion(change, edits, after, rollout.stuck, ()))
    return RolloutSuggestions(found=tuple(found[:MOST_FOUND]), tried=search.tried, complete=search.complete)


def _suggestion(
    change: Change | StrategyChange | None,
    edits: tuple[Edit, ...],
    after: Rollout,
    placement: Placement,
    deleted: tuple[str, ...],
) -> RolloutSuggestion:
    return RolloutSuggestion(
        change=change,
        edits=edits,
        deleted=deleted,
        placement=placement,
        worst_skews=after.courses.worst_skews,
        exact=after.courses.exact,
        evicted=after.evicted,
    )


def _blocking(rollout: Rollout) -> tuple[str, ...]:
    """Return the pods of the cluster without a node that a StatefulSet's controller waits for in vain.

    It replaces none of them, whatever the manifest is by then (kubernetes/kubernetes#67250).
    """
    if rollout.stateful is None or rollout.stateful.parallel:
        return ()
    pending = rollout.courses.worst.pending
    return tuple(name for name in rollout.waited_for if name in pending)


def _is_gentler(found: Change | StrategyChange | None, change: Change | StrategyChange) -> bool:
    """Return whether a change does less of the same as another."""
    if found is None:
        return False
    if isinstance(found, StrategyChange) or isinstance(change, StrategyChange):
        return (found, change) == (StrategyChange.UNAVAILABLE, StrategyChange.NO_SURGE)
    return found.what is change.what is ChangeKind.MAX_SKEW and found.constraint == change.constraint


def _candidates(
    rollout: Rollout, placement: Placement
) -> Iterator[tuple[Change | StrategyChange, tuple[Edit, ...]]]:
    """Yield changes and their edits, those that give up least first."""
    changes = [
        *find_candidates(placement.result, placement.cluster, others=0),
        *constraint_candidates(placement),
    ]
    for change in changes.copy():
        result = None if change.constraint is None else placement.result.results[change.constraint]
        if change.what is ChangeKind.MAX_SKEW and isinstance(result, FilterResult):
            least, at = int(change.value or 0), change.constraint or 0
            changes += (max_skew_change(result, at, least + more) for more in range(1, WIDER + 1))
    changes.sort(key=lambda change: change.cost)
    strategies = list(_strategies(rollout))
    for change in changes:
        # What corrects a mistake, or keeps earlier revisions out of the counts, comes before the strategy.
        if strategies and change.cost > _LAST_BEFORE_STRATEGY.cost:
            yield from strategies
            strategies.clear()
        # No manifest has the constraints of a policy or of the scheduler.
        if change.constraint is not None and not placement.workload.template.constraints:
            continue
        if edits := edits_of(change, placement.workload):
            yield change, edits
    yield from strategies


def _strategies(rollout: Rollout) -> Iterator[tuple[StrategyChange, tuple[Edit, ...]]]:
    update, obj = rollout.update, rollout.prepared.workload.obj
    if update is None:
        return
    limits = member(member(member(obj, "spec"), "strategy"), "rollingUpdate")

    def edit(name: str, value: Any) -> Edit:
        return Edit(_ROLLING.child(name), limits.get(name), value)

    if not update.unavailable:
        yield StrategyChange.UNAVAILABLE, (edit("maxUnavailable", 1),)
    if update.surge:
        unavailable = () if update.unavailable else (edit("maxUnavailable", 1),)
        yield StrategyChange.NO_SURGE, (edit("maxSurge", 0), *unavailable)
    else:
        yield StrategyChange.SURGE, (edit("maxSurge", 1),)

"""What would help where a scenario ends badly: each change is played before it is proposed.

Whoever shows an outcome asks here, so that what a suggestion promises is what applying it then says.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

from planning.simulation.events import AddedNodes, Event, LabeledNode, NamedPod, NodeLabel, ScaledWorkload
from planning.simulation.explained_pod import explained_pod
from planning.simulation.object_changes import ref_of
from planning.simulation.outcome import Cause, HelpfulChange, ObjectChange, Outcome, WorkloadOutcome
from planning.simulation.play import EventError, play
from planning.simulation.played_cluster import cluster_of, object_in
from planning.simulation.replicas import Replicas
from planning.simulation.rollout.courses import NODES_OF_A_STEP
from planning.simulation.scenario import Scenario
from planning.simulation.suggestions.given_up import GivenUp, given_up_by
from planning.simulation.suggestions.suggestion_edits import edits_of
from planning.simulation.suggestions.suggestions import Suggestion, find_suggestions
from planning.simulation.suggestions.words import cost_of, delete_command, in_cluster
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.fields import FieldPath, member
from policies.manifests.sanitize import one_line
from policies.model.scaling import rolling_update
from policies.model.topology_keys import HOSTNAME
from policies.model.workload import Workload
from policies.model.workload_ref import WorkloadRef
from policies.pods.placement import Placement, PlacementError, PreparedPod, prepare, read_workload
from policies.reports.patch import edit_text
from policies.scheduler.candidates import max_skew_change
from policies.scheduler.changes import Change, ChangeKind, ClusterChange
from policies.scheduler.result import FilterResult

#: Changes that are played at most for a workload, and those that help after which its search ends.
MOST_TRIED: Final = 16
MOST_FOUND: Final = 3
#: Workloads for which changes are looked for, the worst first.
MOST_HELPED: Final = 3
#: After how many steps, each as dear as the nodes that there are and some more, no other change is tried: two
#: or three seconds.
MOST_COST: Final = 6_000_000
#: By how much more than lets one pod in ``maxSkew`` is tried to be raised: there are more pods to place.
WIDER: Final = 2

_ROLLING: Final = FieldPath(("spec", "strategy", "rollingUpdate"))
#: What changes of a Deployment's rolling update cost.
_LESS_AVAILABLE: Final = "during a rollout one replica fewer may be available"
_SURGE: Final = "room for one more pod during a rollout"
#: The last of the changes of the template that are tried before the strategy.
_LAST_BEFORE_STRATEGY: Final = Change(what=ChangeKind.MATCH_LABEL_KEYS)


def suggestions_for(scenario: Scenario, outcome: Outcome) -> tuple[HelpfulChange, ...]:
    """Return what would help, the one that gives up least first; none where the verdict is not false.

    Args:
        scenario: What was played.
        outcome: Its outcome.
    """
    if outcome.verdict.value is not False or scenario.stop():
        return ()
    named = None if scenario.workloads is None else set(map(_plain, scenario.workloads))
    failing = [
        found
        for found in outcome.workloads
        if found.verdict.value is False and (named is None or _plain(found.ref) in named)
    ]
    search = _Search(scenario, outcome)
    return tuple(chain.from_iterable(map(search.help_for, failing[:MOST_HELPED])))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """Something that may help."""

    text: str  #: What to do.
    cost: str  #: What it costs.
    events: tuple[Event, ...] = ()  #: See ``HelpfulChange``, here and below.
    then: tuple[Event, ...] = ()
    edits: tuple[Edit, ...] = ()
    kinds: tuple[ChangeKind, ...] = ()
    given_up: tuple[GivenUp, ...] = ()
    caution: bool = False
    #: What it does a bit of: once that helps, no more of the same is tried. None for nothing.
    alike: Hashable = None


class _Search:
    """Plays a scenario with changes, until enough of them help or it took too long."""

    def __init__(self, scenario: Scenario, outcome: Outcome) -> None:
        self._scenario = replace(scenario, runs=1, progress=lambda _share: None)
        self._outcome = outcome
        self._cost = 0
        self._failing = {found.ref for found in outcome.workloads if found.verdict.value is False}
        # Several workloads may fail with the same loss, which is played again for all of them once.
        self._losses: dict[tuple[Event, ...], Outcome] = {}

    def help_for(self, failing: WorkloadOutcome) -> Iterator[HelpfulChange]:
        """Yield the changes that help a workload; what hurts no other one comes first."""
        found: list[HelpfulChange] = []
        evicting: list[HelpfulChange] = []
        alike: set[Hashable] = set()
        for tried, candidate in enumerate(self._candidates(failing)):
            if candidate.alike in alike:
                continue
            if tried >= MOST_TRIED or self._cost > MOST_COST or self._scenario.stop():
                break
            played = self._play(failing.ref, candidate)
            helped = None if played is None else self._helped(failing.ref, candidate, played)
            if played is None or helped is None:
                continue
            if candidate.alike is not None:
                alike.add(candidate.alike)
            hurts = sum(each.evicted for each in played.workloads if each.ref != failing.ref)
            (evicting if hurts else found).append(helped)
            if len(found) + len(evicting) == MOST_FOUND:
                break
        yield from (*found, *evicting)

    def _helped(self, ref: WorkloadRef, candidate: _Candidate, played: Outcome) -> HelpfulChange | None:
        """Return a change that mends a workload and breaks no other; None of any other change."""
        broken = {each.ref for each in played.workloads if each.verdict.value is False} - self._failing
        after = next((each for each in played.workloads if each.ref == ref), None)
        if after is None or after.verdict.value is not True or broken:
            return None
        prepared = after.prepared or self._prepared(ref)
        return HelpfulChange(
            text=candidate.text,
            events=candidate.events,
            then=candidate.then,
            edits=candidate.edits,
            workload=ref,
            cost=candidate.cost,
            caution=candidate.caution,
            given_up=candidate.given_up,
            verdict=after.verdict,
            after=after.after,
            kinds=candidate.kinds,
            placement=None if prepared is None else explained_pod(played, after, prepared),
        )

    def _play(self, ref: WorkloadRef, candidate: _Candidate) -> Outcome | None:
        """Return the outcome of the scenario with a change; None if it cannot be made."""
        change = HelpfulChange(
            text="", events=candidate.events, then=candidate.then, edits=candidate.edits, workload=ref,
            verdict=self._outcome.verdict, after=0,
        )  # fmt: skip
        scenario = with_change(self._scenario, change)
        if scenario is None:
            return None
        try:
            played = play(scenario)
        except EventError:
            return None
        steps = sum(len(each.steps) for each in (played, *played.outcomes))
        self._cost += (steps + 1) * (cluster_of(scenario.cluster).node_count + NODES_OF_A_STEP)
        return played

    def _candidates(self, failing: WorkloadOutcome) -> Iterator[_Candidate]:
        """Yield what may help a workload, what gives up least first."""
        if failing.verdict.cause is Cause.BLOCKED:
            yield from self._more_replicas(failing)
        played, found = self._at_worst(failing)
        if found.stuck is None:
            return
        deleted = _waited_for(found)
        if deleted is not None:
            yield deleted
        prepared = found.prepared or self._prepared(found.ref)
        if prepared is None:
            return
        # What a controller waits for keeps every change of the manifest from its pods.
        changed = found if deleted is None else replace(found, stuck=(found.ref.name, prepared.request))
        placement = explained_pod(played, changed, prepared)
        strategies = list(_strategies(found))
        for candidate, cost in self._changes(placement, played, found):
            # What corrects a mistake, or keeps earlier revisions out of the counts, comes first.
            if strategies and cost > _LAST_BEFORE_STRATEGY.cost:
                yield from strategies
                strategies.clear()
            yield candidate if deleted is None else _both(candidate, deleted)
        yield from strategies

    def _at_worst(self, failing: WorkloadOutcome) -> tuple[Outcome, WorkloadOutcome]:
        """Return the outcome in which a workload fails, with its cluster: of single losses the worst one."""
        for loss in self._outcome.outcomes:
            hit = next((each for each in loss.workloads if each.ref == failing.ref), None)
            if hit is not None and hit.verdict.value is False:
                if loss.final is not None and self._is_as_it_was(failing):
                    return loss, hit
                played = self._lose(loss.scenario.events)
                return played, next(each for each in played.workloads if each.ref == failing.ref)
        return self._outcome, failing

    def _is_as_it_was(self, failing: WorkloadOutcome) -> bool:
        """Return whether a loss is told of a workload as if it came right after the events."""
        # Events on nodes would be of one moment with it, and only a play of them all knows a rollout.
        on_objects = all(event.apply is not None for event in self._scenario.events)
        return on_objects and failing.change is ObjectChange.NONE

    def _lose(self, lost: tuple[Event, ...]) -> Outcome:
        """Return the outcome of the scenario with a single loss after its events."""
        if lost not in self._losses:
            events = (*self._scenario.events, *lost)
            self._losses[lost] = play(replace(self._scenario, events=events, each=None))
        return self._losses[lost]

    def _more_replicas(self, blocked: WorkloadOutcome) -> Iterator[_Candidate]:
        """Yield replicas more, with which a budget allows the evictions that it refuses."""
        if blocked.wanted is None or blocked.change is ObjectChange.REMOVED:
            return
        for more in range(1, MOST_FOUND + 1):
            ref, to = blocked.ref, blocked.wanted + more
            scale = ScaledWorkload(kind=ref.kind, namespace=ref.namespace, name=ref.name, to=to)
            title = one_line(f"{ref.namespace}/{ref.name}")
            cost = f"{more} more {'replica' if more == 1 else 'replicas'}"
            text = f"scale {title} to {to:,}"
            # Of those that help, the fewest replicas.
            yield _Candidate(text=text, cost=cost, events=(Event(scale=scale),), alike="replicas")

    def _changes(
        self, placement: Placement, played: Outcome, failing: WorkloadOutcome
    ) -> Iterator[tuple[_Candidate, tuple[float, float]]]:
        """Yield the changes with which the pod fits that fits nowhere, each with its cost as a sort key."""
        context = replace(self._scenario.cluster.context, cluster=played.final)
        found = find_suggestions(placement, context, _missing(failing), stop=self._scenario.stop).found
        for suggestion in found:
            cost = max(change.cost for change in suggestion.changes)
            changed = suggestion.in_cluster
            if suggestion.elsewhere:
                yield from ((each, cost) for each in _of_its_own(suggestion, placement))
            elif changed is None:
                for each in (suggestion, *_wider(suggestion, placement)):
                    yield _of_manifest(each, placement), cost
            elif events := tuple(_events(changed)):
                text, costs = in_cluster(changed), cost_of(changed, placement)
                yield _Candidate(text=text, cost=costs, events=events, kinds=(changed.what,)), cost

    def _prepared(self, ref: WorkloadRef) -> PreparedPod | None:
        """Return the next pod of a workload that the events leave as it is."""
        workload = object_in(self._scenario.cluster.workloads, _plain(ref))
        try:
            return None if workload is None else prepare(workload, self._scenario.cluster.context)
        except PlacementError:
            return None


def with_change(scenario: Scenario, change: HelpfulChange) -> Scenario | None:
    """Return a scenario with a change that helps; None if what it edits is not known.

    Args:
        scenario: The scenario.
        change: The change, of one of its workloads.
    """
    events, at = list(scenario.events), -1
    if change.workload is not None and (change.edits or change.then):
        at = _applied(scenario, change.workload)
    if change.edits and change.workload is not None:
        if at < 0:
            stored = object_in(scenario.cluster.workloads, _plain(change.workload))
            if stored is None:
                return None
            events.insert(0, Event(apply=dict(stored.obj)))
            at = 0
        events[at] = Event(apply=apply_edits(events[at].apply or {}, change.edits))
    events[at + 1 : at + 1] = change.then
    return replace(scenario, events=(*change.events, *events))


def _waited_for(found: WorkloadOutcome) -> _Candidate | None:
    """Return the deletion of the pods that a controller waits for, whatever the manifest is by then."""
    rollout, namespace = found.rollout, found.ref.namespace
    if found.verdict.cause is not Cause.DEADLOCK or rollout is None or rollout.stateful is None:
        return None
    names = [name for name in rollout.waited_for if name in rollout.courses.likely.pending]
    if not names or rollout.stateful.parallel:
        return None
    pods = [NamedPod(namespace=namespace, name=name) for name in names]
    return _Candidate(
        text="; ".join(map(delete_command, pods)),
        cost="nothing: it has no node" if len(names) == 1 else "nothing: they have no node",
        then=tuple(Event(delete=pod) for pod in pods),
    )


def _both(change: _Candidate, deleted: _Candidate) -> _Candidate:
    """Return a change of the manifest with the deletion without which it reaches no pod."""
    return replace(change, text=f"{change.text}; {deleted.text}", then=deleted.then)


def _applied(scenario: Scenario, ref: WorkloadRef) -> int:
    """Return the position of the last event that applies a workload; -1 without one."""
    for position in range(len(scenario.events) - 1, -1, -1):
        obj = scenario.events[position].apply
        if obj is not None and ref_of(_read(obj, scenario)) == _plain(ref):
            return position
    return -1


def _read(obj: dict[str, Any], scenario: Scenario) -> Workload:
    return read_workload(obj, scenario.cluster.context)


def _plain(ref: WorkloadRef) -> WorkloadRef:
    """Return a workload without the group of its kind."""
    return ref._replace(kind=ref.kind.partition(".")[0])


def _of_manifest(suggestion: Suggestion, placement: Placement) -> _Candidate:
    changes = suggestion.changes
    first = changes[0]
    return _Candidate(
        text="; ".join(map(edit_text, suggestion.edits)),
        cost="; ".join(dict.fromkeys(cost_of(change, placement) for change in changes)),
        edits=suggestion.edits,
        kinds=tuple(change.what for change in changes),
        given_up=tuple(given_up_by(changes, placement.result.request)),
        caution=any(isinstance(change, Change) and change.hollow for change in changes),
        alike=(first.what, first.constraint)
        if isinstance(first, Change) and first.what is ChangeKind.MAX_SKEW
        else None,
    )


def _of_its_own(suggestion: Suggestion, placement: Placement) -> Iterator[_Candidate]:
    """Yield constraints of its own in place of those that a policy or the scheduler gives a workload."""
    workload, request = placement.workload, placement.request
    if workload.selector is None or suggestion.edits:
        return
    for each in suggestion.elsewhere:
        request = each.change.apply(request)
    own = [
        replace(applied.constraint, selector=workload.selector).to_dict() for applied in request.constraints
    ]
    edit = Edit(workload.kind.constraints_path, None, own)
    candidate = _of_manifest(replace(suggestion, edits=(edit,)), placement)
    yield replace(candidate, text=f"give it constraints of its own: {candidate.text}")


def _missing(failing: WorkloadOutcome) -> Replicas | None:
    """Return how many replicas are missing, as far as that is known."""
    if failing.wanted is None:
        return None
    there = failing.wanted - max(failing.verdict.count, 1)
    return Replicas(wanted=failing.wanted, placed=there, fitting=there)


def _wider(suggestion: Suggestion, placement: Placement) -> Iterator[Suggestion]:
    """Yield a change of maxSkew with larger numbers."""
    (change, *others) = suggestion.changes
    if others or not isinstance(change, Change) or change.what is not ChangeKind.MAX_SKEW:
        return
    at = change.constraint or 0
    result = placement.result.results[at]
    for more in range(1, WIDER + 1):
        if isinstance(result, FilterResult):
            wider = max_skew_change(result, at, int(change.value or 0) + more)
            edits = edits_of(wider, placement.workload)
            yield replace(suggestion, changes=(wider,), edits=edits or ())


def _events(change: ClusterChange) -> Iterator[Event]:
    """Yield the events of a change of the cluster; none of what no event is."""
    match change.what:
        case ChangeKind.CORDON:
            yield from (Event(uncordon=node) for node in change.nodes)
        case ChangeKind.NODE_LABEL:
            for node in change.nodes:
                yield Event(label=LabeledNode(node=node, key=change.key, value=change.value or ""))
        case ChangeKind.NEW_NODE:
            # The domains that there are not yet have names of their own.
            is_new = bool(change.key) and change.value is None
            for number in range(change.count if is_new else 1):
                value = f"new-{number + 1}" if is_new else change.value
                label = change.key and change.key != HOSTNAME and value is not None
                yield Event(
                    add=AddedNodes(
                        like=change.nodes[0],
                        count=1 if is_new else change.count,
                        without_taints=list(change.without) or None,
                        labels=[NodeLabel(key=change.key, value=value or "")] if label else None,
                    )
                )


def _strategies(found: WorkloadOutcome) -> Iterator[_Candidate]:
    """Yield the changes of how a Deployment that rolls out replaces its pods."""
    rollout = found.rollout
    if found.prepared is None or rollout is None or rollout.update is None:
        return
    workload = found.prepared.workload
    update = rolling_update(workload, rollout.replicas)
    limits = member(member(member(workload.obj, "spec"), "strategy"), "rollingUpdate")

    def candidate(cost: str, *pairs: tuple[str, int]) -> _Candidate:
        edits = tuple(Edit(_ROLLING.child(name), limits.get(name), value) for name, value in pairs)
        return _Candidate(text="; ".join(map(edit_text, edits)), cost=cost, edits=edits, alike=cost)

    if update is None:
        return
    unavailable = ("maxUnavailable", 1)
    if not update.unavailable:
        yield candidate(_LESS_AVAILABLE, unavailable)
    if update.surge:
        also = () if update.unavailable else (unavailable,)
        yield candidate(_LESS_AVAILABLE, ("maxSurge", 0), *also)
    else:
        yield candidate(_SURGE, ("maxSurge", 1))

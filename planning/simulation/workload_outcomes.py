"""The outcome for each workload, counted from what was played, and judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from planning.simulation.constraint_outcomes import (
    CountedConstraints,
    compare_constraints,
    count_constraints,
)
from planning.simulation.daemon_pods import nodes_of_daemon
from planning.simulation.disruption_budgets import RefusedEviction
from planning.simulation.judge import WorkloadFacts, judge_workload, rank
from planning.simulation.object_changes import MOST_SCHEDULED, ObjectChanges, ObjectOutcome, shown_ref
from planning.simulation.outcome import Cause, ObjectChange, WorkloadOutcome
from planning.simulation.played_cluster import Hit, PlayedCluster, PlayedObject, cluster_of
from planning.simulation.release_diff import WorkloadDiff
from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.scenario import ClusterState, Scenario
from planning.simulation.survival import no_domains, survivals
from planning.simulation.verdicts import pending_sentence
from policies.manifests.fields import member
from policies.model.cluster_kinds import BUDGET, LIST_NAMES, POD, PRIORITY_CLASS
from policies.model.pod_volumes import NO_VOLUMES
from policies.model.workload import Workload
from policies.model.workload_ref import WorkloadRef
from policies.pods.known_pods import UNREAD_PODS
from policies.pods.placement import DAEMON_SET, PlacementError, prepare
from policies.scheduler.index import ClusterIndex, PodOnNode
from policies.scheduler.node_view import NodeView
from policies.scheduler.request import SchedulingRequest

#: How a rollout ends, as a cause.
_ENDS: Final[Mapping[RolloutEnd, Cause]] = {
    RolloutEnd.COMPLETE: Cause.FITS,
    RolloutEnd.WAITS_FOR_DELETION: Cause.WAITS_FOR_DELETION,
    RolloutEnd.PENDING: Cause.PENDING,
    RolloutEnd.DEADLOCK: Cause.DEADLOCK,
}


class Start:
    """The state before the events that an outcome is about; what was found out is not looked for again.

    Attributes:
        cluster: The cluster.
    """

    def __init__(
        self,
        cluster: ClusterIndex,
        running: Callable[[WorkloadRef], Counter[str]],
        pending: Callable[[WorkloadRef], int],
        request: Callable[[WorkloadRef], SchedulingRequest | None],
    ) -> None:
        """Start with a cluster that stays as it is.

        Args:
            cluster: The cluster.
            running: Returns how many pods of a workload are on each node.
            pending: Returns how many of them have no node.
            request: Returns its next pod; None without one.
        """
        self.cluster, self.pending = cluster, pending
        self._running, self._request = running, request
        self._found: dict[WorkloadRef, Counter[str]] = {}
        self._requests: dict[WorkloadRef, SchedulingRequest | None] = {}
        self._counted: dict[WorkloadRef, CountedConstraints] = {}

    def running(self, ref: WorkloadRef) -> Counter[str]:
        """Return how many pods of a workload are on each node."""
        if ref not in self._found:
            self._found[ref] = self._running(ref)
        return self._found[ref]

    def request(self, ref: WorkloadRef) -> SchedulingRequest | None:
        """Return the next pod of a workload; None without one."""
        if ref not in self._requests:
            self._requests[ref] = self._request(ref)
        return self._requests[ref]

    def counted(self, ref: WorkloadRef) -> CountedConstraints:
        """Return the constraints in force for that, with the pods that they count."""
        if ref not in self._counted:
            self._counted[ref] = count_constraints(self.request(ref), self.cluster)
        return self._counted[ref]

    @classmethod
    def of(cls, state: ClusterState, played: PlayedCluster) -> Start:
        """Return a cluster as it is, before it is played."""
        cluster, owners = cluster_of(state), played.owners

        def running(ref: WorkloadRef) -> Counter[str]:
            # Pods that came since have other names, or those of pods that there were.
            claimed = played.claimed(ref)
            nodes = (cluster.node_of(*key) for key in {*owners.running.get(ref, ()), *claimed})
            return Counter(node for node in nodes if node is not None)

        return cls(
            cluster,
            running,
            lambda ref: len(owners.waiting.get(ref, ())),
            lambda ref: _next_pod(owners.object_of(ref), state, ref, played),
        )

    @classmethod
    def played(cls, first: Start, played: PlayedCluster) -> Start:
        """Return a cluster as it is after events, which stays so."""
        waiting = played.waiting()

        def pending(ref: WorkloadRef) -> int:
            now = played.objects.get(ref)
            return len(waiting.get(ref, ())) + (0 if now is None else len(now.waiting))

        def request(ref: WorkloadRef) -> SchedulingRequest | None:
            now = played.objects.get(ref)
            if now is not None:
                return None if now.prepared is None else now.prepared.request
            applied = played.state.applied.get(ref)
            return first.request(ref) if applied is None else _next_pod(applied, played.state, ref, played)

        return cls(played.cluster, played.running, pending, request)


def _next_pod(
    workload: Workload | None, state: ClusterState, ref: WorkloadRef, played: PlayedCluster
) -> SchedulingRequest | None:
    """Return the next pod of a workload; of one whose object is not known one like its pods."""
    if workload is not None:
        try:
            context = state.before or state.context
            return prepare(replace(workload, release=context.release), context).request
        except PlacementError:
            return None
    for namespace, name in (*played.owners.running.get(ref, ()), *played.owners.waiting.get(ref, ())):
        return played.again.replacement(PodOnNode(namespace, name, "", terminating=False))
    return None


class Counting:
    """Counts what a scenario did to each workload."""

    def __init__(
        self,
        scenario: Scenario,
        start: Start,
        played: PlayedCluster,
        objects: ObjectChanges,
        refused: Sequence[RefusedEviction],
        *,
        drains: bool,
    ) -> None:
        self._scenario, self._start, self._played = scenario, start, played
        self._objects, self._refused, self._drains = objects, refused, drains
        scaling = played.scaling
        nodes = () if scaling is None or scaling.scaled is None else scaling.scaled.nodes
        self._new_nodes = {node.name for node in nodes}
        self._left = played.waiting()

    def outcomes(
        self, upcoming: Mapping[WorkloadRef, WorkloadDiff], *, complete: bool
    ) -> tuple[WorkloadOutcome, ...]:
        """Return the outcome for each workload that is changed, hit or asked for, the worst first."""
        refs = dict.fromkeys((*self._objects.done, *self._played.hits, *self._waiting(), *self._named()))
        found = (self._outcome(ref, upcoming.get(ref), complete=complete) for ref in refs)
        return tuple(sorted(found, key=lambda each: (rank(each.verdict), each.ref)))

    def outcome_of(self, ref: WorkloadRef, *, complete: bool) -> WorkloadOutcome:
        """Return the outcome for one workload."""
        return self._outcome(ref, None, complete=complete)

    def _named(self) -> Iterator[WorkloadRef]:
        for ref in self._scenario.workloads or ():
            yield ref._replace(kind=ref.kind.partition(".")[0])

    def _waiting(self) -> tuple[WorkloadRef, ...]:
        """Return the workloads whose pods wait, where nothing else is asked."""
        if self._scenario.events or self._scenario.each or self._scenario.workloads:
            return ()
        return tuple(self._played.owners.waiting)

    def _outcome(self, ref: WorkloadRef, upcoming: WorkloadDiff | None, *, complete: bool) -> WorkloadOutcome:
        played, start = self._played, self._start
        changed, now = self._objects.done.get(ref), played.objects.get(ref)
        workload = played.object_of(ref) if now is None else now.workload
        known = workload or (None if changed is None else changed.before)
        before, after = start.running(ref), played.running(ref)
        hit = played.hits.get(ref) or Hit()
        is_new = changed is not None and changed.before is None and not before
        request_before = None if is_new else start.request(ref)
        request = request_before
        if now is not None:
            request = None if now.prepared is None else now.prepared.request
        shown = request or request_before
        refused = [each for each in self._refused if self._of(each) == ref]
        outcome = WorkloadOutcome(
            ref=shown_ref(ref, known),
            change=ObjectChange.NONE if changed is None else changed.change,
            wanted=self._wanted(ref, known, request),
            before=before.total(),
            lowest=min(hit.lowest, before.total(), after.total()),
            after=after.total(),
            updated=self._updated(ref),
            on_new_nodes=sum(count for node, count in after.items() if node in self._new_nodes),
            pending_before=start.pending(ref),
            pending=len(self._left.get(ref, ())) + (0 if now is None else len(now.waiting)),
            lost=hit.lost,
            evicted=hit.evicted,
            not_recreated=hit.not_recreated,
            not_tried=hit.untried + (0 if changed is None else changed.untried),
            budgets=()
            if shown is None
            else played.budgets.outcomes(ref.namespace, shown.pod.labels, refused),
            constraints=compare_constraints(
                {} if is_new else start.counted(ref),
                count_constraints(request, played.cluster),
                {} if changed is None else changed.peaks,
            ),
            survival=()
            if shown is None or known is None or known.kind.is_pod or known.kind.kind == DAEMON_SET
            else survivals(
                shown,
                None if is_new else before,
                after,
                start.cluster,
                played.cluster,
                extra_domains=self._extra(shown),
            ),
            next=upcoming,
            rollout=None if changed is None else changed.rollout,
            prepared=None if now is None else now.prepared,
            at_first_new=None if changed is None else changed.at_first_new,
            stuck=self._stuck(ref, now),
            pods=frozenset() if changed is None else played.names_of(ref),
            verdicts=(),
        )
        facts = self._facts(ref, changed, refused, outcome.stuck, complete=complete)
        return replace(outcome, verdicts=judge_workload(outcome, facts))

    def _stuck(self, ref: WorkloadRef, now: PlayedObject | None) -> tuple[str, SchedulingRequest] | None:
        """Return the first pod that waits; None where none does, or nothing is known of it."""
        again = self._played.again
        requests = ((entry.name, again.request_of(entry)) for entry in self._left.get(ref, ()))
        left = () if now is None else ((pod.name, pod.request) for pod in now.waiting)
        return next(((name, found) for name, found in chain(requests, left) if found is not None), None)

    def _why_pending(self, stuck: tuple[str, SchedulingRequest] | None) -> str:
        """Return why a pod that waits has no node, as a sentence; empty where none waits."""
        played = self._played
        if stuck is None:
            return ""
        result = played.simulation.evaluate(stuck[1])
        # One that OrderedReady has not let come fits, perhaps.
        return "" if result.feasible.any() else pending_sentence(result, played.cluster)

    def _unread(self, ref: WorkloadRef, changed: ObjectOutcome | None) -> Iterator[str]:
        """Yield the kinds that were not read and that decide about a workload, as kubectl names them."""
        played, hit, now = self._played, self._played.hits.get(ref), self._played.objects.get(ref)
        displaced = hit is not None and hit.lost + hit.evicted > 0
        if hit is not None and hit.evicted and not played.budgets.known:
            yield LIST_NAMES[BUDGET].lower()
        request = self._start.request(ref) if now is None or now.prepared is None else now.prepared.request
        if request is None or not (displaced or changed is not None):
            return
        if self._has_unread_pods(ref):
            yield LIST_NAMES[POD].lower()
        if request.pod.class_unknown:
            yield LIST_NAMES[PRIORITY_CLASS].lower()
        if request.pod.volumes is not NO_VOLUMES:
            yield from map(str.lower, NodeView(played.cluster, request.pod).claims.unknown)

    def _has_unread_pods(self, ref: WorkloadRef) -> bool:
        """Return whether a workload has pods, by its status, of which nothing was read: they may wait."""
        state, stored = self._played.state, self._played.owners.object_of(ref)
        if state.known is not UNREAD_PODS or stored is None:
            return False
        made = member(stored.obj, "status").get("replicas")
        return type(made) is int and made > self._start.running(ref).total()

    def _of(self, refused: RefusedEviction) -> WorkloadRef | None:
        return self._played.workload_of(refused.pod.namespace, refused.pod.name)

    def _extra(self, request: SchedulingRequest) -> Callable[[str], Collection[str] | None]:
        scaling = self._played.scaling
        if scaling is None:
            return no_domains
        return lambda key: scaling.autoscaler.domains(key, request.pod)

    def _wanted(
        self, ref: WorkloadRef, workload: Workload | None, request: SchedulingRequest | None
    ) -> int | None:
        if workload is not None and workload.kind.kind == DAEMON_SET and request is not None:
            return len(nodes_of_daemon(self._played.simulation.evaluate(request)))
        if ref.kind == DAEMON_SET:
            # Its object is not known: its pods that are left are on the nodes that it is for.
            return self._played.running(ref).total() + len(self._left.get(ref, ()))
        return self._played.wanted(ref)

    def _updated(self, ref: WorkloadRef) -> int | None:
        now = self._played.objects.get(ref)
        if now is None or now.updated is None:
            return None
        return sum(name in now.updated for name, _ in self._played.running_pods(ref))

    def _facts(
        self,
        ref: WorkloadRef,
        changed: ObjectOutcome | None,
        refused: Sequence[RefusedEviction],
        stuck: tuple[str, SchedulingRequest] | None,
        *,
        complete: bool,
    ) -> WorkloadFacts:
        played, now = self._played, self._played.objects.get(ref)
        workload = played.object_of(ref)
        waiting = self._left.get(ref, [])
        names = [entry.name for entry in waiting]
        message = next((entry.step.message for entry in waiting if entry.step is not None), "")
        if now is not None:
            names += [pod.name for pod in now.waiting]
        rollout = None if changed is None else changed.rollout
        if rollout is not None and not message and now is not None and now.waiting:
            message = rollout.courses.likely.message
        untried = changed is not None and bool(changed.untried)
        unfinished = Cause.NOT_TRIED if untried else None if complete else Cause.STOPPED
        return WorkloadFacts(
            refused="" if changed is None or not changed.errors else str(changed.errors[0]),
            rollout=None if rollout is None or rollout.scaled else _ENDS[rollout.courses.likely.outcome],
            in_order=workload is not None and workload.is_ordered,
            pending=tuple(names),
            why_pending=self._why_pending(stuck),
            message=message,
            evictions=tuple(refused),
            drained=self._drains,
            new_nodes=len(self._new_nodes),
            unread=tuple(self._unread(ref, changed)),
            unfinished=unfinished,
            limit=f"{MOST_SCHEDULED:,} pods of one scenario" if untried else "",
            allow_missing=self._scenario.allow_missing,
            release=self._scenario.upgrade,
        )

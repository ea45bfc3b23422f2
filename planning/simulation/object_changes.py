"""What becomes of the pods of a workload whose object is applied, scaled, restarted or removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from planning.simulation.cluster_simulation import count_bound
from planning.simulation.daemon_pods import schedule_on_each_node
from planning.simulation.limits import MOST_ROLLED_OUT
from planning.simulation.object_differences import Difference, differences, replaces, rolls_out
from planning.simulation.outcome import Did, ObjectChange, Step
from planning.simulation.played_cluster import PlayedCluster, PlayedObject, Unfinished
from planning.simulation.replicas import check_replicas, parallel_pods, replicas_of
from planning.simulation.rollout.courses import Course, EndPod, PodAction, RolloutEnd
from planning.simulation.rollout.rollout import (
    Rollout,
    is_rolled_out,
    is_scaled,
    simulate_rollout,
    with_nodes,
)
from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.rollout.running_pods import PREVIOUS, revision_label
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.fields import FieldError, FieldPath
from policies.model.labels import LabelSelector, Operator, Requirement
from policies.model.pod_template import INJECTED_ANNOTATION, RESTARTED_ANNOTATION
from policies.model.workload import Workload
from policies.model.workload_kinds import BUILT_IN_GROUPS
from policies.model.workload_ref import WorkloadRef
from policies.pods.placement import DAEMON_SET, PlacementError, PreparedPod, prepare, read_workload
from policies.scheduler.binding import SchedulingAttempt, TieBreaker
from policies.scheduler.index import ClusterIndex, PodOnNode
from policies.scheduler.workload_topology import REVISION_LABELS

#: Pods of one scenario that are scheduled one after another for objects; with 5,000 nodes each takes some
#: milliseconds.
MOST_SCHEDULED: Final = 5_000
#: The steps with which a pod may get a node.
_COMES: Final = frozenset({PodAction.CREATED, PodAction.SCHEDULED})
#: What of a course is told, and as what.
_DID: Final[Mapping[PodAction, Did]] = {PodAction.DELETED: Did.DELETED, PodAction.EVICTED: Did.EVICTED}


@dataclass(slots=True)
class ObjectOutcome:
    """The change of one workload, as far as it is not in the cluster."""

    change: ObjectChange  #: What the events do to it.
    before: Workload | None  #: As it was before the first of them.
    errors: tuple[FieldError, ...] = ()  #: Why Kubernetes refuses it.
    rollout: Rollout | None = None  #: How it was rolled out or scaled last; None if it was not.
    searched: bool = False  #: Whether all ways of that were searched.
    peaks: dict[int, int] = field(default_factory=dict)  #: The largest skew of each constraint on the way.
    untried: int = 0  #: How many pods more there should be, which were not tried.
    not_played: str = ""  #: What of it is not played, as a sentence; empty if all is.
    #: The cluster in which the first of its pods was created that had to be; None if none had.
    at_first_new: ClusterIndex | None = None
    #: The cluster before that, where another course of it ends worse than the likely one.
    before_rollout: PlayedCluster | None = None


def ref_of(workload: Workload) -> WorkloadRef:
    """Return a workload as its pods name it, without its group."""
    return WorkloadRef(workload.namespace, workload.kind.kind, workload.name)


def shown_ref(ref: WorkloadRef, workload: Workload | None) -> WorkloadRef:
    """Return a workload as it is told: of a kind outside of the built-in groups with its group."""
    if workload is None or workload.kind.group in BUILT_IN_GROUPS or ref.kind != workload.kind.kind:
        return ref
    return ref._replace(kind=workload.kind.name)


class ObjectChanges:
    """Changes objects of a cluster that is played, and the pods of each.

    Attributes:
        done: What has become of each, by workload.
        search: Whether all ways are searched in which the next change can go.
        pods_left: How many pods may still be scheduled.
    """

    def __init__(self, played: PlayedCluster, choose: TieBreaker) -> None:
        self._played, self._simulation = played, played.simulation
        self._choose = choose
        self.pods_left = MOST_SCHEDULED
        self.done: dict[WorkloadRef, ObjectOutcome] = {}
        self.search = False

    def apply(self, obj: Mapping[str, Any]) -> None:
        """Apply an object.

        Raises:
            PlacementError: It makes no pods, as far as is known.
        """
        played = self._played
        workload = read_workload(obj, played.context)
        ref = ref_of(workload)
        before = played.object_of(ref)
        if before is not None and before.stored and INJECTED_ANNOTATION not in before.annotations:
            # Policies change what is created alone; what they injected stays when a manifest is applied.
            workload = replace(workload, stored=True)
        found = () if before is None else differences(before, workload)
        is_new = before is None and not self._has_pods(ref, workload)
        change = ObjectChange.ADDED if is_new else ObjectChange.CHANGED
        if before is not None and not found:
            change = ObjectChange.NONE
        elif found == (Difference.REPLICAS,):
            change = ObjectChange.SCALED
        elif before is not None and replaces(workload, found):
            change = ObjectChange.REPLACED
        template = before is None or Difference.TEMPLATE in found
        self._change(ref, before, workload, change, template=template)

    def scale(self, ref: WorkloadRef, workload: Workload, replicas: int) -> None:
        """Give a workload another number of replicas."""
        way = workload.kind.replicas
        if way is None:
            raise ValueError("only what has a number of replicas is scaled")
        obj = apply_edits(workload.obj, [Edit(FieldPath(way), workload.stated_replicas, replicas)])
        self._edit(ref, workload, obj, ObjectChange.SCALED, template=False)

    def restart(self, ref: WorkloadRef, workload: Workload) -> None:
        """Roll a workload out again as it is."""
        path = workload.pod_path.child("metadata", "annotations", RESTARTED_ANNOTATION)
        was = workload.template.annotations.get(RESTARTED_ANNOTATION)
        obj = apply_edits(workload.obj, [Edit(path, was, f"{PREVIOUS}-{len(self._played.steps)}")])
        self._edit(ref, workload, obj, ObjectChange.RESTARTED, template=True)

    def remove(self, ref: WorkloadRef) -> None:
        """Remove a workload with its pods."""
        before = self._played.object_of(ref)
        outcome = self._outcome(ref, before, ObjectChange.REMOVED)
        self._played.hit(ref)
        self._delete_pods(ref)
        self._played.objects[ref] = PlayedObject(None, wanted=0)
        outcome.rollout = None
        self._played.settle()

    def _edit(
        self,
        ref: WorkloadRef,
        before: Workload,
        obj: Mapping[str, Any],
        change: ObjectChange,
        *,
        template: bool,
    ) -> None:
        after = read_workload(obj, self._played.context, namespace=ref.namespace)
        self._change(ref, before, replace(after, stored=before.stored), change, template=template)

    def _outcome(self, ref: WorkloadRef, before: Workload | None, change: ObjectChange) -> ObjectOutcome:
        """Return what is told of a workload that changes, perhaps once more."""
        if ref not in self.done:
            self.done[ref] = ObjectOutcome(change, before)
        elif change is not ObjectChange.NONE:
            self.done[ref].change = change
        return self.done[ref]

    def _change(
        self,
        ref: WorkloadRef,
        before: Workload | None,
        after: Workload,
        change: ObjectChange,
        *,
        template: bool,
    ) -> None:
        """Bring the pods of a workload from one object to another."""
        played = self._played
        outcome = self._outcome(ref, before, change)
        played.hit(ref)
        if template:
            self._mark_previous(ref)
        try:
            check_replicas(after)
            prepared = prepare(after, played.context)
        except PlacementError as error:
            # The API server refuses it, so what runs stays as it is.
            outcome.errors = error.errors
            return
        outcome.errors = ()
        was = played.objects.get(ref)
        number = len(played.placed)
        played.placed.append(prepared)
        wanted = self._wanted(prepared, ref)
        played.objects[ref] = now = PlayedObject(
            after, prepared, wanted, () if was is None else was.waiting, None if was is None else was.updated
        )
        if template and change is not ObjectChange.ADDED and (is_rolled_out(after) or rolls_out(after)):
            now.updated = set()
        if after.own_pods is not None:
            played.claim(ref, played.cluster.selected_names(after.namespace, after.own_pods))
        if after.kind.is_pod:
            self._apply_pod(ref, prepared, number)
        elif after.kind.kind == DAEMON_SET:
            self._on_each_node(ref, prepared, outcome, number, template=template)
        elif change is ObjectChange.REPLACED:
            self._delete_pods(ref)
            self._fill(ref, prepared, outcome, number, wanted)
        else:
            self._bring(ref, before, outcome, number, template=template)
        played.settle()

    def _bring(
        self,
        ref: WorkloadRef,
        before: Workload | None,
        outcome: ObjectOutcome,
        number: int,
        *,
        template: bool,
    ) -> None:
        """Bring the pods of a workload to its object: by its rollout, by a scale, or without either."""
        played, now = self._played, self._played.objects[ref]
        after, prepared = now.workload, now.prepared
        if after is None or prepared is None:
            raise ValueError("a workload that is removed has no pods to bring anywhere")
        running = played.running(ref).total()
        there = running + played.pending(ref)
        others = self._of_other_revisions(ref, prepared) if template else 0
        if not there:
            self._fill(ref, prepared, outcome, number, now.wanted)
        elif others and is_rolled_out(after):
            self._play(ref, before, outcome, number, scale=None)
        elif others and rolls_out(after):
            outcome.not_played = f"how {after.kind.kind} replaces pods: all of them were deleted first"
            self._delete_pods(ref)
            self._fill(ref, prepared, outcome, number, now.wanted)
        elif now.wanted is not None and now.wanted != there and is_scaled(after):
            self._play(ref, before, outcome, number, scale=now.wanted)
        elif now.wanted is not None and now.wanted < there:
            outcome.not_played = f"which pods {after.kind.kind} deletes: the last by name were taken"
            self._delete_last(ref, there - now.wanted)
        elif now.wanted is not None:
            self._fill(ref, prepared, outcome, number, now.wanted - there)

    def _wanted(self, prepared: PreparedPod, ref: WorkloadRef) -> int | None:
        """Return how many pods a workload should have; None for a kind without a number."""
        workload = prepared.workload
        if workload.kind.is_pod:
            return 1
        if workload.replicas is not None:
            number = self._played.context.replica_sources.number(
                workload, partial(self._running, workload, ref)
            )
            return max(number.replicas, 0)
        return parallel_pods(workload)

    def _running(self, workload: Workload, ref: WorkloadRef) -> int:
        """Return how many pods of a workload run, also of those that name no owner."""
        running = self._played.running(ref).total()
        if running or workload.own_pods is None:
            return running
        return self._played.cluster.count_pods(workload.namespace, workload.own_pods)

    def _play(
        self,
        ref: WorkloadRef,
        before: Workload | None,
        outcome: ObjectOutcome,
        number: int,
        *,
        scale: int | None,
        under_way: bool = False,
    ) -> None:
        """Play the rollout or the scale of a workload to its end, from what is there now."""
        played, now = self._played, self._played.objects[ref]
        after, wanted = now.workload, now.wanted or 0
        if after is None or now.prepared is None:
            raise ValueError("what is rolled out is there")
        if wanted > min(MOST_ROLLED_OUT, self.pods_left):
            outcome.untried = wanted
            return
        self.pods_left -= wanted
        way = after.kind.replicas or ()
        obj = apply_edits(after.obj, [Edit(FieldPath(way), after.stated_replicas, wanted)])
        settings = RolloutSettings(
            known=played.known(),
            scale=scale,
            others=played.facts,
            previous=before,
            under_way=under_way,
            choose=self._choose,
            search=self.search,
        )
        context = replace(played.context, reads_stored=after.stored)

        def play() -> Rollout:
            return simulate_rollout(obj, context, settings, namespace=ref.namespace)

        try:
            rollout = play()
            if played.scaling is not None:
                rollout = with_nodes(rollout, play, played.scaling)
                played.tell_nodes()
        except PlacementError as error:
            outcome.errors = error.errors
            return
        outcome.rollout, outcome.searched = rollout, self.search
        outcome.at_first_new = outcome.at_first_new or rollout.courses.likely.at_first_new
        is_worse = rollout.courses.worst is not rollout.courses.likely
        outcome.before_rollout = played.fork() if is_worse else None
        self.adopt(ref, rollout, rollout.courses.likely, number)
        if rollout.courses.likely.waiting or rollout.courses.likely.outcome is not RolloutEnd.COMPLETE:
            now.unfinished = Unfinished(number, before, scale)

    def adopt(self, ref: WorkloadRef, rollout: Rollout, course: Course, number: int) -> None:
        """Give the cluster what there is at the end of a course."""
        played, now, namespace = self._played, self._played.objects[ref], ref.namespace
        start = dict(played.running_pods(ref))
        end = {pod.name: pod for pod in course.pods}
        touched = {step.pod for step in course.steps}
        stay = {name for name, node in start.items() if name not in touched and name in end}
        left = [
            PodOnNode(namespace, name, node, terminating=False)
            for name, node in start.items()
            if name not in stay
        ]
        for gone in left:
            self._simulation.delete(namespace, gone.name)
        played.leave(left)
        played.again.forget(entry.key for entry in played.waiting_pods(ref))
        known = {entry.key for entry in played.again.displaced}
        played.again.adopt(course.evicted)
        for pod in end.values():
            if pod.node is not None and pod.name not in stay:
                self._simulation.bind(pod.request.pod, pod.name, pod.node)
        now.waiting = tuple(pod for pod in course.pods if pod.node is None)
        played.claim(ref, end)
        played.claim(ref, (pod.name for pod in course.pods if pod.new), number)
        if now.updated is not None:
            # A scale makes pods of the template that was applied, and keeps what there was.
            was = (now.updated | (touched - start.keys())) if rollout.scaled else None
            now.updated = {pod.name for pod in course.pods if (pod.new if was is None else pod.name in was)}
        outcome = self._told(ref)
        for position, peak in enumerate(course.peaks):
            outcome.peaks[position] = max(outcome.peaks.get(position, 0), peak.skew)
        self._tell_placed(ref, course, start)
        self._tell(ref, rollout, course)
        for entry in course.evicted:
            owner = played.workload_of(*entry.key)
            if entry.preemptor and owner is not None and entry.key not in known:
                played.hit(owner).evicted += 1
                played.dip(owner)

    def _tell_placed(self, ref: WorkloadRef, course: Course, start: Mapping[str, str]) -> None:
        """Note the pods that the old revision gets before a course begins, so that it has its number."""
        created = {step.pod for step in course.steps if step.action in _COMES}
        placed = {step.pod: step.node for step in course.steps if step.pod not in created}
        placed |= {pod.name: pod.node for pod in course.pods if pod.name not in created}
        for name, node in placed.items():
            if node is not None and name not in start:
                self._played.note(Did.BOUND, pod=f"{ref.namespace}/{name}", node=node)

    def _tell(self, ref: WorkloadRef, rollout: Rollout, course: Course) -> None:
        """Note the steps of a course, and the fewest pods on its way."""
        played, hit = self._played, self._played.hit(ref)
        # As many as at its end, and those that went, but for those that came.
        running = course.running + sum(
            (step.action in _DID) - (step.action in _COMES) for step in course.steps if step.node is not None
        )
        others = {f"{entry.namespace}/{entry.name}": entry for entry in course.evicted}
        told: set[str] = set()
        for step in course.steps:
            name, decision = f"{ref.namespace}/{step.pod}", step.decision
            new = None if rollout.scaled else step.new
            why = f"for {step.evicted_for}" if step.evicted_for else None
            for victim in () if decision is None else decision.evicted:
                if victim in others and victim not in told:
                    told.add(victim)
                    played.steps.append(
                        Step(played.event, Did.EVICTED, victim, others[victim].pod.node, None, f"for {name}")
                    )
            if step.action in _DID:
                running -= step.node is not None
                played.steps.append(Step(played.event, _DID[step.action], name, step.node, new, why))
            elif step.node is not None:
                running += 1
                played.steps.append(Step(played.event, Did.BOUND, name, step.node, new))
            else:
                message = "" if decision is None else decision.message
                played.steps.append(Step(played.event, Did.PENDING, name, None, new, message or None))
            hit.lowest = min(hit.lowest, running)
        for title, entry in others.items():
            node = None if entry.step is None else entry.step.node
            if node is not None:
                played.steps.append(Step(played.event, Did.BOUND, title, node))
            elif entry.step is not None:
                played.steps.append(Step(played.event, Did.PENDING, title, why=entry.step.message or None))

    def worst_of(self, ref: WorkloadRef) -> tuple[PlayedCluster, ObjectChanges] | None:
        """Return the cluster in which the last rollout of a workload ends worst; None if that is this one."""
        outcome = self.done[ref]
        rollout, cluster = outcome.rollout, outcome.before_rollout
        if rollout is None or cluster is None:
            return None
        cluster.hits = {key: replace(hit) for key, hit in self._played.hits.items()}
        other = ObjectChanges(cluster, self._choose)
        courses = replace(rollout.courses, likely=rollout.courses.worst)
        other.done = {**self.done, ref: replace(outcome, rollout=replace(rollout, courses=courses))}
        other.adopt(ref, rollout, courses.worst, len(cluster.placed) - 1)
        cluster.settle()
        return cluster, other

    def unfinished(self) -> dict[WorkloadRef, Unfinished]:
        """Return each rollout that is not at its end."""
        objects = self._played.objects.items()
        return {ref: played.unfinished for ref, played in objects if played.unfinished is not None}

    def resume(self, unfinished: Mapping[WorkloadRef, Unfinished]) -> None:
        """Go on with rollouts that were not at their end, since there may be room now.

        Args:
            unfinished: Those that were not, before what made the room.
        """
        for ref, rollout in unfinished.items():
            played = self._played.objects[ref]
            if played.unfinished is not rollout:
                continue
            played.unfinished = None
            if rollout.fills:
                self._fill_again(ref, self._played.placed[rollout.number], rollout.number)
            else:
                outcome = self._told(ref)
                self._play(ref, rollout.before, outcome, rollout.number, scale=rollout.scale, under_way=True)

    def _told(self, ref: WorkloadRef) -> ObjectOutcome:
        """Return what is told of a workload; of one that changed before a copy was made nothing is."""
        return self.done.get(ref) or ObjectOutcome(ObjectChange.NONE, None)

    def _mark_previous(self, ref: WorkloadRef) -> None:
        """Mark the pods that were made here as of a revision that is not the next one any more."""
        played, now = self._played, self._played.objects.get(ref)
        label = None if now is None or now.workload is None else revision_label(now.workload)
        if now is None or label is None:
            return
        number = len(played.placed)
        for name, node in list(played.running_pods(ref)):
            own = played.own.get((ref.namespace, name))
            if own is not None and (now.updated is None or name in now.updated):
                pod = played.placed[own].request.pod
                marked = pod._replace(labels={**pod.labels, label: f"{PREVIOUS}-{number}"})
                self._simulation.delete(ref.namespace, name)
                self._simulation.bind(marked, name, node)

    def _apply_pod(self, ref: WorkloadRef, prepared: PreparedPod, number: int) -> None:
        self._delete_pods(ref)
        self._schedule(ref, prepared, 1, number)

    def _fill(
        self,
        ref: WorkloadRef,
        prepared: PreparedPod,
        outcome: ObjectOutcome,
        number: int,
        missing: int | None,
    ) -> None:
        """Schedule pods that are missing; of a kind without a number one."""
        missing = 1 if missing is None else max(missing, 0)
        tried = min(missing, self.pods_left)
        self.pods_left -= tried
        done = self._schedule(ref, prepared, tried, number)
        outcome.untried = missing - done

    def _schedule(self, ref: WorkloadRef, prepared: PreparedPod, count: int, number: int) -> int:
        """Schedule pods of a workload; return how many were tried."""
        played = self._played
        queue = replicas_of(prepared, count, played.cluster)
        # Without one an event on nodes has made room for pods that waited before.
        outcome = self.done.get(ref)
        if queue and outcome is not None and outcome.at_first_new is None:
            outcome.at_first_new = played.cluster.fork(ref.namespace)
        steps = self._simulation.schedule_all(queue)
        if played.scaling is not None and count_bound(steps) < len(steps) == len(queue):
            steps, _ = played.scaling.add_nodes(queue, steps)
            played.tell_nodes()
        self._placed(ref, prepared, steps, number)
        return len(steps)

    def _placed(
        self, ref: WorkloadRef, prepared: PreparedPod, steps: list[SchedulingAttempt], number: int
    ) -> None:
        """Note pods that were scheduled."""
        played, now = self._played, self._played.objects[ref]
        played.claim(ref, (step.name for step in steps), number)
        new = None if now.updated is None else True
        for step in steps:
            did = Did.PENDING if step.node is None else Did.BOUND
            pod = f"{step.namespace}/{step.name}"
            played.steps.append(Step(played.event, did, pod, step.node, new, step.message or None))
        now.waiting += tuple(
            EndPod(step.name, node=None, new=True, request=prepared.request)
            for step in steps
            if step.node is None
        )
        if now.updated is not None:
            now.updated.update(step.name for step in steps)
        if any(step.node is None for step in steps) and prepared.workload.kind.replicas is not None:
            now.unfinished = Unfinished(number, fills=True)

    def _fill_again(self, ref: WorkloadRef, prepared: PreparedPod, number: int) -> None:
        """Try pods that wait once more."""
        now = self._played.objects[ref]
        count, now.waiting = len(now.waiting), ()
        steps = len(self._played.steps)
        self._schedule(ref, prepared, count, number)
        # That they wait was told.
        self._played.steps[steps:] = [
            step for step in self._played.steps[steps:] if step.did is not Did.PENDING
        ]

    def _on_each_node(
        self, ref: WorkloadRef, prepared: PreparedPod, outcome: ObjectOutcome, number: int, *, template: bool
    ) -> None:
        """Give each node that a DaemonSet is for one of its pods, in place of one that runs there."""
        played, now = self._played, self._played.objects[ref]
        if not template and played.running(ref):
            now.wanted = played.running(ref).total()
            return
        if played.running(ref):
            outcome.not_played = "how a DaemonSet replaces pods: all of them were deleted first"
        self._delete_pods(ref)
        name = prepared.workload.name
        pods = schedule_on_each_node(self._simulation, prepared.request, name, self.pods_left)
        self.pods_left -= pods.scheduled
        now.wanted = len(pods.steps) + pods.untried
        outcome.untried = pods.untried
        self._placed(ref, prepared, list(pods.steps), number)
        now.unfinished = None

    def _has_pods(self, ref: WorkloadRef, workload: Workload) -> bool:
        """Return whether there are pods of a workload, or of nobody that it takes for its own."""
        played, own = self._played, workload.own_pods
        taken = 0 if own is None else played.cluster.count_pods(ref.namespace, own)
        return bool(taken or played.running(ref) or played.pending(ref))

    def _of_other_revisions(self, ref: WorkloadRef, after: PreparedPod) -> int:
        """Return how many pods of a workload are of other revisions than its next pod."""
        played = self._played
        selector, labels = after.workload.own_pods, after.pod.template.labels
        if selector is None:
            return played.running(ref).total() + played.pending(ref)
        known = after.revision is not None and not after.revision.is_new
        label = next((key for key in sorted(REVISION_LABELS) if key in labels), None) if known else None
        if label is not None:
            selector = selector.narrowed(Requirement(label, Operator.NOT_IN, (labels[label],)))
        return played.cluster.count_pods(ref.namespace, selector) + self._waiting(ref.namespace, selector)

    def _waiting(self, namespace: str, selector: LabelSelector) -> int:
        return sum(1 for _ in self._played.known().pending(namespace, selector))

    def _delete_pods(self, ref: WorkloadRef) -> None:
        """Delete every pod of a workload."""
        self._delete(ref, dict(self._played.running_pods(ref)))
        self._played.again.forget(entry.key for entry in self._played.waiting_pods(ref))
        if (now := self._played.objects.get(ref)) is not None:
            now.waiting = ()

    def _delete_last(self, ref: WorkloadRef, count: int) -> None:
        """Delete pods in the order of their names: those without a node, then the last."""
        played, now = self._played, self._played.objects[ref]
        waiting = [entry.key for entry in played.waiting_pods(ref)][:count]
        played.again.forget(waiting)
        count -= len(waiting)
        kept = max(len(now.waiting) - count, 0)
        count -= len(now.waiting) - kept
        now.waiting = now.waiting[:kept]
        pods = sorted(self._played.running_pods(ref))
        self._delete(ref, dict(pods[len(pods) - count :] if count else ()))

    def _delete(self, ref: WorkloadRef, pods: Mapping[str, str]) -> None:
        played = self._played
        gone = [PodOnNode(ref.namespace, name, node, terminating=False) for name, node in pods.items()]
        for pod in gone:
            self._simulation.delete(pod.namespace, pod.name)
            played.note(Did.DELETED, pod=f"{pod.namespace}/{pod.name}", node=pod.node)
        played.leave(gone)
        played.dip(ref)

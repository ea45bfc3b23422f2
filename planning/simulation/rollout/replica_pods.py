"""The pods of one workload while its controller creates and deletes them: what happens to each, in order.

A deleted pod is gone at once, and a bound pod becomes ready when its controller has nothing else to do.

A pod that fits nowhere has others of lower priority evicted. What replaces those of other workloads is
scheduled once no pod of the workload fits any more; the controller replaces its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.recovery import DisplacedPod
from planning.simulation.rescheduling import Rescheduling
from planning.simulation.rollout.choices import Choices
from planning.simulation.rollout.courses import Peak, PodAction, RolloutStep
from planning.simulation.rollout.victims import Replica, find_victims
from policies.model.controller_labels import PLACEHOLDER
from policies.model.pod_volumes import LostVolume
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.domain_tally import DomainTally
from policies.scheduler.index import ClusterIndex, PodOnNode
from policies.scheduler.request import SchedulingRequest


class ReplicaPods:
    """The pods of a workload, and the cluster that they are in.

    Attributes:
        cluster: The cluster.
        tally: What the constraints of the new revision count.
        steps: What has happened.
        before: The pods of each domain at the start, for each constraint.
        bounds: The largest skew of each constraint so far, in whatever order those pods are deleted and bound
            that were deleted or created together.
        attempts: How often pods of other workloads were scheduled.
    """

    def __init__(
        self,
        simulation: ClusterSimulation,
        requests: Mapping[str, SchedulingRequest],
        new: str,
        choices: Choices,
        *,
        again: Rescheduling | None = None,
        running: Iterable[Replica] = (),
        now: float = 0.0,
    ) -> None:
        """Start with the pods that run.

        Args:
            simulation: The cluster, which is changed, and whose choices and steps are those of this course.
            requests: The pod of each revision that may be created.
            new: The new revision.
            choices: Makes the choices of scheduler and controllers.
            again: Schedules what replaces pods of other workloads; None where the simulation evicts nobody.
            running: The pods that there are; they are changed.
            now: The time in seconds since 1970; 0 if unknown.
        """
        self.cluster, self._simulation, self._again = simulation.cluster, simulation, again
        simulation.choose, simulation.on_step = choices.node, self._note
        if again is not None:
            again.is_replaced = self._is_other
        self.attempts = 0
        #: Where what replaces pods of other workloads is, by namespace and name; None while it is pending.
        self._others: dict[tuple[str, str], str | None] = {}
        self._is_freed = False
        self.tally = DomainTally(requests[new], self.cluster)
        self.steps: list[RolloutStep] = []
        self._requests, self._new, self._choices, self._now = requests, new, choices, now
        self._pods = {pod.name: pod for pod in running}
        self._pending = {pod.name: pod for pod in self if pod.node is None}
        # A pod of an old revision that is not ready is not expected to become it.
        self._starting = {
            pod.name: pod for pod in self if pod.node is not None and not pod.ready and pod.revision == new
        }
        #: Why the next pod that is alike would stay pending, until something changes.
        self._stuck: dict[Hashable, SchedulingAttempt] = {}
        self._numbers: dict[str, int] = {}
        self._are_named = False
        self.before = self.tally.counts()
        #: The worst moment of each constraint.
        self.peaks = [
            Peak(step=0, skew=skew, counts=counts)
            for skew, counts in zip(self.tally.skews(), self.before, strict=True)
        ]
        self.bounds = self.tally.skews()
        #: The cluster in which the first new pod was scheduled that got a node, of the likely course.
        self.at_first_new: ClusterIndex | None = None
        choices.begin(self)

    def __iter__(self) -> Iterator[Replica]:
        return iter(self._pods.values())

    def named(self, name: str) -> Replica | None:
        """Return the pod of a name."""
        return self._pods.get(name)

    @property
    def pending(self) -> list[Replica]:
        """The pods without a node, oldest first."""
        return list(self._pending.values())

    @property
    def message(self) -> str:
        """Why the oldest pending pod has no node, from its PodScheduled condition; empty without one."""
        for pod in self._pending.values():
            if (known := self._stuck.get(self._like(pod))) is not None:
                return known.condition
        return ""

    @property
    def lost_volumes(self) -> tuple[LostVolume, ...]:
        """The volumes of pending pods that no node reaches."""
        known = (self._stuck.get(self._like(pod)) for pod in self.pending)
        return tuple(volume for step in known if step is not None for volume in step.lost_volumes)

    @property
    def displaced(self) -> tuple[DisplacedPod, ...]:
        """The pods of other workloads that were evicted."""
        return () if self._again is None else self._again.displaced

    @property
    def unmodeled(self) -> tuple[str, ...]:
        """Other fields of their replacements that the scheduler reads, as the API names them."""
        return () if self._again is None else self._again.unmodeled

    @property
    def state(self) -> Hashable:
        """The key of the state: courses with the same key go on alike; with names where pods keep theirs."""
        found: dict[Hashable, int] = {}
        for pod in self._pods.values():
            name = pod.name if self._are_named else ""
            key = (pod.revision, pod.node, pod.ready, pod.facts, pod.labels, name)
            found[key] = found.get(key, 0) + 1
        gone = (each.pod for each in self._simulation.preempted)
        return frozenset(found.items()), frozenset(self._others.items()), frozenset(gone)

    def of(self, revision: str) -> list[Replica]:
        """Return the pods of a revision."""
        return [pod for pod in self._pods.values() if pod.revision == revision]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Bound the skews while steps happen that a controller takes together, and in any order.

        No domain has more pods meanwhile than at the start or the end, whichever is more, nor fewer.
        """
        mark, first = self.tally.mark(), len(self.steps)
        yield
        if len(self.steps) - first > 1:
            self._bound(self.tally.bounds_since(mark))

    def create(self, revision: str, count: int, name: str = "") -> None:
        """Create pods, under names that no pod has or, one of them, under a given name; schedule them."""
        request = self._requests[revision]
        self._are_named = self._are_named or bool(name)
        labels = frozenset(request.pod.labels.items())
        with self.together():
            for _ in range(count):
                pod = Replica(name or self._free_name(revision), revision, labels)
                self._pods[pod.name] = self._pending[pod.name] = pod
                known = self._stuck.get(self._like(pod))
                # A pod like one that has just found no node is not tried.
                step = self._schedule(pod) if known is None else replace(known, name=pod.name, evicted=())
                self._record(PodAction.CREATED, pod, step)
            self.retry()

    def delete(self, pods: Sequence[Replica]) -> None:
        """Delete pods; then schedule those for which there is room now."""
        with self.together():
            for pod in pods:
                if pod.node is not None:
                    self._simulation.delete(self._namespace, pod.name)
                self._take(pod)
                self._record(PodAction.DELETED, pod)
            self._is_freed = True
            self.retry()

    def scale_down(self, pods: Sequence[Replica], count: int) -> list[Replica]:
        """Return the pods that the controller of a ReplicaSet with these pods deletes."""
        victims = find_victims(pods, count, self, self._now)
        chosen = self._choices.victims(victims.tied, victims.picks) if victims.picks else []
        return victims.certain + chosen

    def retry(self) -> None:
        """Schedule the pods that wait, oldest first, until none fits; then those of other workloads."""
        while self._retry_own() or self._replace_others():
            pass

    def _retry_own(self) -> bool:
        progress = False
        for pod in self.pending:
            if self._like(pod) in self._stuck:
                continue
            step = self._schedule(pod)
            if step.node is not None:
                progress = True
                self._record(PodAction.SCHEDULED, pod, step)
        return progress

    def _replace_others(self) -> bool:
        """Schedule what replaces evicted pods of other workloads; return whether that evicted any."""
        if self._again is None:
            return False
        before = len(self._again.displaced), len(self.steps)
        self._again.replace_preempted()
        if self._is_freed:
            self._is_freed = False
            self._again.retry()
        self._lose_evicted()
        if (len(self._again.displaced), len(self.steps)) == before:
            return False
        # What was evicted may leave more room than was needed.
        self._stuck.clear()
        if any(entry.pod.namespace == self._namespace for entry in self._again.displaced):
            self.tally.recount(self.cluster)
        return True

    def _is_other(self, pod: PodOnNode) -> bool:
        return pod.namespace != self._namespace or pod.name not in self._pods

    def _lose_evicted(self) -> None:
        """Take out the pods of the workload that were evicted for others."""
        preempted = self._simulation.preempted
        own = [each for each in preempted if not self._is_other(each.pod)]
        preempted[:] = [each for each in preempted if self._is_other(each.pod)]
        for each in own:
            pod = self._pods[each.pod.name]
            self._take(pod)
            self._record(PodAction.EVICTED, pod, preemptor=each.preemptor)

    def _take(self, pod: Replica) -> None:
        """Take out a pod that is gone from the cluster."""
        del self._pods[pod.name]
        self._pending.pop(pod.name, None)
        self._starting.pop(pod.name, None)
        if pod.node is not None:
            self.tally.add(pod.node, pod.labels, -1)
        self._stuck.clear()

    def _note(self, step: SchedulingAttempt) -> None:
        """Take note of where a pod of another workload is."""
        if step.namespace != self._namespace or step.name not in self._pods:
            self._others[step.namespace, step.name] = step.node
            self.attempts += 1

    def start_next(self) -> bool:
        """Let the pod that was bound first become ready; return whether there was one."""
        if not self._starting:
            return False
        name = next(iter(self._starting))
        self._starting.pop(name).ready = True
        return True

    def _bound(self, skews: tuple[int, ...]) -> None:
        self.bounds = tuple(map(max, self.bounds, skews))

    @property
    def _namespace(self) -> str:
        return self._requests[self._new].pod.namespace

    def _free_name(self, revision: str) -> str:
        """Return a name as the ReplicaSet of a revision gives, with a number for the random suffix."""
        base = self._requests[revision].pod.name.removesuffix(PLACEHOLDER) + (revision or PLACEHOLDER)
        taken = self.cluster.pod_names(self._namespace)
        while True:
            number = self._numbers[revision] = self._numbers.get(revision, 0) + 1
            name = f"{base}-{number}"
            if name not in taken and name not in self._pods:
                return name

    def _like(self, pod: Replica) -> Hashable:
        """Return a key that pods share which fit the same nodes: a claim that exists ties its pod alone."""
        request, storage = self._requests[pod.revision].pod, self.cluster.storage
        claims = (f"{template.name}-{pod.name}" for template in request.claim_templates)
        is_tied = any(storage.claims.get(name, request.namespace) is not None for name in claims)
        return pod.revision, pod.name if is_tied else ""

    def _schedule(self, pod: Replica) -> SchedulingAttempt:
        request = self._requests[pod.revision]
        step = self._simulation.schedule(request, pod.name)
        self._lose_evicted()
        if step.node is None:
            self._stuck[self._like(pod)] = step
            return step
        if pod.revision == self._new and self.at_first_new is None and self._choices.is_likely:
            before = self._simulation.fork(request)
            before.delete(self._namespace, pod.name)
            self.at_first_new = before.cluster
        pod.node = step.node
        del self._pending[pod.name]
        self._starting[pod.name] = pod
        self._stuck.clear()
        if any(each.pod.namespace == self._namespace for each in self._simulation.preempted):
            # Constraints may count what was evicted, too.
            self.tally.recount(self.cluster)
        else:
            self.tally.add(step.node, pod.labels, 1)
        return step

    def _record(
        self,
        action: PodAction,
        pod: Replica,
        step: SchedulingAttempt | None = None,
        preemptor: str | None = None,
    ) -> None:
        skews = self.tally.skews()
        self.steps.append(
            RolloutStep(
                action=action,
                pod=pod.name,
                new=pod.revision == self._new,
                skews=skews,
                node=pod.node,
                decision=step,
                evicted_for=preemptor,
            )
        )
        self._bound(skews)
        for position, skew in enumerate(skews):
            if skew > self.peaks[position].skew:
                counts = self.tally.counts()[position]
                self.peaks[position] = Peak(step=len(self.steps), skew=skew, counts=counts)

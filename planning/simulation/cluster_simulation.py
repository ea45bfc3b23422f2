"""A copy of a cluster in which pods are scheduled and deleted, and nodes lost, changed and added.

Every simulation runs on one of these. To *evaluate* is to find where a pod could go, which
changes nothing; to *schedule* is to bind the pod to the node that the scheduler chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np

from policies.model.cluster_kinds import POD
from policies.model.labels import LabelSelector
from policies.model.node import Node, without_transient
from policies.model.pod import Pod
from policies.model.taints import CORDON_TAINT, Taint, TaintEffect
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.binding import SchedulingAttempt, TieBreaker, first_by_name, schedule
from policies.scheduler.evaluate import NodeSampler, count_spread, evaluate
from policies.scheduler.index import ClusterIndex, PodOnNode
from policies.scheduler.repeated import RepeatedRequests
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import SchedulingResult

#: How the node lifecycle controller taints a node that no longer reports.
UNREACHABLE: Final = (
    Taint("node.kubernetes.io/unreachable", "", TaintEffect.NO_SCHEDULE.value),
    Taint("node.kubernetes.io/unreachable", "", TaintEffect.NO_EXECUTE.value),
)
#: How often a pod is tried that others are evicted for, or that waits beside such pods.
MOST_TURNS: Final = 100


@dataclass(frozen=True, slots=True)
class QueuedPod:
    """A pod that waits to be scheduled."""

    name: str  #: What it is called.
    request: SchedulingRequest  #: The pod, and the constraints in force for it.
    owner: str = ""  #: What identifies its controller; empty without one, or where it does not matter.
    #: Whether its controller creates it once the pod of its own before it in the queue is ready.
    in_order: bool = False


class PreemptedPod(NamedTuple):
    """A pod that was evicted for another one."""

    pod: PodOnNode  #: Where it was.
    preemptor: str  #: The other one, as namespace/name.


def count_bound(steps: Iterable[SchedulingAttempt]) -> int:
    """Return how many pods got a node."""
    return sum(step.node is not None for step in steps)


def never() -> bool:
    """Let work go on: it is stopped at no point."""
    return False


def unnoticed(_step: SchedulingAttempt) -> None:
    """Take no note of a step."""


def may_evict(pod: Pod, cluster: ClusterIndex) -> bool:
    """Return whether pods of a cluster could be evicted for a pod, if it fits nowhere."""
    return pod.may_preempt and cluster.has_pods_below(pod.priority)


@dataclass(slots=True, eq=False)
class ClusterSimulation:
    """A copy of a cluster, and how its scheduler chooses."""

    cluster: ClusterIndex  #: The copy, a fork.
    choose: TieBreaker = first_by_name  #: Chooses one of several best nodes.
    #: Finds as many of the feasible nodes as the scheduler would; None for all of them.
    sampler: NodeSampler | None = None
    stop: Callable[[], bool] = never  #: Whether to schedule no more pods of a queue; called before each.
    on_step: Callable[[SchedulingAttempt], None] = unnoticed  #: Called after each pod that was scheduled.
    preempts: bool = False  #: Whether pods that fit nowhere have others of lower priority evicted.
    #: The pods that were evicted so and that nothing has replaced yet.
    preempted: list[PreemptedPod] = field(default_factory=list)
    #: What is known of the requests that were scheduled.
    repeated: RepeatedRequests = field(default_factory=RepeatedRequests)

    @classmethod
    def of(
        cls,
        cluster: ClusterIndex,
        request: SchedulingRequest | None = None,
        *,
        stop: Callable[[], bool] = never,
    ) -> ClusterSimulation:
        """Return a simulation of a cluster, which stays as it is.

        Args:
            cluster: The cluster.
            request: The only pod that it is for; None for any, in all namespaces.
            stop: Whether to schedule no more pods of a queue.
        """
        if request is None:
            return cls(cluster.fork(""), stop=stop)
        pod = request.pod
        # Victims may be of any namespace.
        terms = None if may_evict(pod, cluster) else pod.terms
        return cls(cluster.fork(pod.namespace, terms), stop=stop)

    def fork(self, request: SchedulingRequest | None = None) -> ClusterSimulation:
        """Return a copy that goes its own way: see ``of``."""
        cluster = ClusterSimulation.of(self.cluster, request).cluster
        return replace(self, cluster=cluster, preempted=list(self.preempted), repeated=RepeatedRequests())

    def evaluate(self, request: SchedulingRequest) -> SchedulingResult:
        """Return where a pod could go."""
        return evaluate(request, self.cluster, self.sampler)

    def schedule(self, request: SchedulingRequest, name: str) -> SchedulingAttempt:
        """Bind a pod to the best node, or to none where no node is feasible: see ``binding.schedule``.

        With ``preempts`` a pod that fits nowhere has others evicted, which are gone at once, and is tried
        again, first on the node where that makes room.
        """
        return self._run([QueuedPod(name, request)], never)[0]

    def schedule_all(self, queue: Iterable[QueuedPod]) -> list[SchedulingAttempt]:
        """Schedule pods one after another, each taken from the queue in its turn, until it is to stop.

        With ``preempts``, when all were tried and some wait for room, those without a node are tried again,
        the highest priority first; so are pods of the queue that were evicted for others.

        Pods that are created in order are scheduled one by one; after one that fits nowhere there are no more
        of its controller.

        Returns:
            What became of each pod, in the order of the queue.
        """
        steps, stuck = list[SchedulingAttempt](), dict[tuple[str, str], str]()
        for in_order, entries in groupby(queue, key=lambda entry: entry.in_order):
            if not in_order:
                steps += self._run(entries, self.stop)
                continue
            for entry in entries:
                key = entry.request.pod.namespace, entry.owner
                if key in stuck:
                    steps.append(_not_created(entry, stuck[key]))
                    self.on_step(steps[-1])
                    continue
                if not (found := self._run([entry], self.stop)):
                    return steps
                steps += found
                if found[0].node is None:
                    stuck[key] = entry.name
        return steps

    def _run(self, queue: Iterable[QueuedPod], stop: Callable[[], bool]) -> list[SchedulingAttempt]:
        entries, steps = list[QueuedPod](), list[SchedulingAttempt]()
        for entry in queue:
            if stop():
                break
            entries.append(entry)
            steps.append(self._attempt(entry))
        for turn in range(1, MOST_TURNS):
            taken_back = self._take_back(entries, steps)
            if not (taken_back or any(step.nominated_node for step in steps)) or stop():
                break
            waiting = [number for number, step in enumerate(steps) if step.node is None]
            for number in sorted(waiting, key=lambda number: -entries[number].request.pod.priority):
                if stop():
                    break
                # In the last turn nobody is evicted, so that what comes out stands.
                last = turn == MOST_TURNS - 1
                steps[number] = self._attempt(entries[number], steps[number], may_evict=not last)
        return [step for step in steps if not step.nominated_node]

    def _attempt(
        self, entry: QueuedPod, before: SchedulingAttempt | None = None, *, may_evict: bool = True
    ) -> SchedulingAttempt:
        """Try to schedule a pod, perhaps not for the first time; make room for one that fits nowhere."""
        request, pod, evicted = entry.request, entry.request.pod, before.evicted if before else ()
        if before is not None and before.nominated_node:
            # Another pod may have the room by now.
            node = self.cluster.nominated_node(pod.namespace, entry.name)
            self.cluster.remove(*POD, pod.namespace, entry.name)
            request = replace(request, pod=pod._replace(nominated_node=node))
        step = schedule(request, self.cluster, entry.name, self.choose, self.sampler, repeated=self.repeated)
        if step.room and self.preempts and may_evict:
            room = dict(step.room)
            node = self.choose(tuple(room))
            self._make_room(entry, node, room[node])
            return replace(step, evicted=evicted + room[node], nominated_node=node, tied=tuple(room))
        if before is not None and step.node == request.pod.nominated_node:
            # It is the only node that was looked at.
            step = replace(step, tied=before.tied, feasible=1, score=None)
        step = replace(step, evicted=evicted) if evicted else step
        if before is None or before.nominated_node:
            self.on_step(step)
        return step

    def _make_room(self, entry: QueuedPod, node: str, victims: tuple[str, ...]) -> None:
        """Evict pods from a node for one that waits for their room then."""
        pod, names = entry.request.pod, frozenset(victims)
        on_node = self.cluster.pods_on([node])
        gone = self.evict(each for each in on_node if f"{each.namespace}/{each.name}" in names)
        preemptor = f"{pod.namespace}/{entry.name}"
        self.preempted += (PreemptedPod(each, preemptor) for each in gone)
        self.cluster.nominate(pod, entry.name, node)

    def _take_back(self, entries: list[QueuedPod], steps: list[SchedulingAttempt]) -> bool:
        """Let those of some pods wait again that were evicted; return whether there are any."""
        if not self.preempted:
            return False
        numbers = {(entry.request.pod.namespace, entry.name): number for number, entry in enumerate(entries)}
        others = []
        for each in self.preempted:
            number = numbers.get((each.pod.namespace, each.pod.name))
            if number is None:
                others.append(each)
            else:
                step = steps[number]
                steps[number] = SchedulingAttempt(
                    namespace=step.namespace, name=step.name, evicted=step.evicted
                )
        is_any = len(others) < len(self.preempted)
        self.preempted[:] = others
        return is_any

    def schedule_fitting(
        self,
        request: SchedulingRequest,
        most: int,
        names: Iterator[str] | None = None,
        *,
        apart: bool = False,
    ) -> list[SchedulingAttempt]:
        """Schedule pods that are alike until one fits nowhere, which is the last step then.

        Args:
            request: The pod.
            most: How many.
            names: What they are called; None for names that no pod has.
            apart: Whether those after one that fits nowhere are scheduled all the same.
        """
        steps = list[SchedulingAttempt]()
        while len(steps) < most and not self.stop():
            # No pod has such a name; nor has one that was scheduled here before.
            name = f"/{self.cluster.pod_count}" if names is None else next(names)
            steps.append(self.schedule(request, name))
            if steps[-1].node is None and not apart:
                break
        return steps

    def bind(self, pod: Pod, name: str, node: str) -> None:
        """Bind a pod to a node, whatever the scheduler thinks of it."""
        self.cluster.bind(pod, name, node)

    def delete(self, namespace: str, name: str) -> None:
        """Delete a pod, which is gone at once."""
        self.cluster.remove(*POD, namespace, name)

    def delete_selected(self, namespace: str, selector: LabelSelector) -> None:
        """Delete every pod that is selected."""
        self.cluster.unbind(namespace, selector)

    def delete_below(self, priority: int) -> None:
        """Delete every pod of lower priority."""
        for namespace, table in list(self.cluster.pod_tables()):
            below = frozenset(np.flatnonzero(table.rows().priority < priority).tolist())
            for name in table.names_of_slots(below).values():
                self.delete(namespace, name)

    def put(self, node: Node) -> None:
        """Add a node, or put it in the place of the one of its name, whose pods it keeps."""
        self.cluster.nodes.put(node)

    def evict(self, pods: Iterable[PodOnNode]) -> list[PodOnNode]:
        """Delete pods; return those that their controllers replace now.

        The replacement of one that is being deleted is there already.
        """
        evicted = list(pods)
        for pod in evicted:
            self.delete(pod.namespace, pod.name)
        return [pod for pod in evicted if not pod.terminating]

    def lose(self, name: str, *, unreachable: bool = False) -> None:
        """Remove a node, or leave it as one that no longer reports; that evicts no pod."""
        if not unreachable:
            self.cluster.nodes.remove(name)
        elif (node := self.cluster.nodes.find(name)) is not None:
            self.taint(node, *UNREACHABLE)

    def cordon(self, node: Node) -> None:
        """Let a node take no more pods."""
        self.taint(node._replace(unschedulable=True), CORDON_TAINT)

    def taint(self, node: Node, *taints: Taint) -> None:
        """Give a node taints, in place of those of the same key and effect; that evicts no pod."""
        new = {(taint.key, taint.effect) for taint in taints}
        kept = tuple(taint for taint in node.taints if (taint.key, taint.effect) not in new)
        self.put(node._replace(taints=kept + taints))

    def add(self, like: Node, count: int) -> list[str]:
        """Add nodes like one, without pods, images and passing taints; return their names."""
        model, names, number = without_transient(like), list[str](), 0
        while len(names) < count:
            number += 1
            if self.cluster.nodes.find(name := f"{like.name}-new-{number}") is None:
                labels = {**model.labels, HOSTNAME: name}
                self.put(model._replace(name=name, labels=labels, images=(), kept_by=()))
                names.append(name)
        return names

    def count(self, request: SchedulingRequest) -> list[dict[str, int]]:
        """Return the matching pods by domain, for each constraint in force."""
        return [result.domains.by_value() for result in count_spread(request, self.cluster)]


def _not_created(entry: QueuedPod, stuck: str) -> SchedulingAttempt:
    """Return the outcome of a pod that its controller does not create.

    Source: ``updateStatefulSet``, ``pkg/controller/statefulset/stateful_set_control.go``, Kubernetes 1.36.
    """
    why = f"not created: {stuck} is not ready, and podManagementPolicy is OrderedReady"
    return SchedulingAttempt(
        namespace=entry.request.pod.namespace, name=entry.name, message=why, condition=why
    )

"""Pods that lost their node are scheduled again, each beside those that stayed and those before it.

Whatever displaces pods leaves them to this: actions, losses, rollouts, plans, autoscalers that remove nodes,
and the scheduler where it evicts pods for others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from planning.simulation.cluster_simulation import ClusterSimulation, PreemptedPod, QueuedPod
from planning.simulation.pod_facts import PodFacts
from planning.simulation.recovery import MOST_OTHERS, DisplacedPod, PodOutcome
from policies.config.context import AdmissionContext
from policies.model.controller_labels import ordinal_of
from policies.model.labels import LabelSelector
from policies.model.pod_volumes import NO_VOLUMES
from policies.pods.placement import DAEMON_SET, PlacementError, prepare, read_workload
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.index import PodOnNode
from policies.scheduler.request import SchedulingRequest

#: What is scheduled in place of pods, or why nothing is, by their manifests.
MadeRequests: TypeAlias = dict[bytes, SchedulingRequest | str]


class Rescheduling:
    """Schedules again what replaces pods that lost their node.

    The highest priority comes first, then the oldest pod, then the name: the scheduler's queue has the order
    in which controllers create the replacements, which is not known. Where the simulation preempts, the pods
    that are evicted then lose their node as well.

    Attributes:
        facts: What is known of the cluster's pods.
        is_replaced: Whether a pod that was evicted for another one is replaced here; others stay in the
            simulation's ``preempted``.
        on_preempted: Called with each pod that was evicted for another one, before it is replaced.
    """

    def __init__(
        self,
        simulation: ClusterSimulation,
        facts: PodFacts,
        context: AdmissionContext,
        *,
        others: int = MOST_OTHERS,
        made: MadeRequests | None = None,
        displaced: Iterable[DisplacedPod] = (),
    ) -> None:
        """Start without pods, or with those that lost their node before.

        Args:
            simulation: The cluster, which gets the replacements.
            facts: What is known of its pods; those of given workloads are replaced as these define.
            context: What other pods are prepared by.
            others: How many pods of other workloads are scheduled again, too.
            made: Requests of pods that others have prepared, with the same context on forks of the same
                cluster; has those of this one, too, afterwards. None for none.
            displaced: The pods that lost their node before.
        """
        self.facts = facts
        self.is_replaced: Callable[[PodOnNode], bool] = lambda _pod: True
        self.on_preempted: Callable[[PreemptedPod], None] = lambda _pod: None
        self._simulation = simulation
        # The rules that a request may break hold for its own pods alone.
        self._context = replace(context, cluster=simulation.cluster, tolerated=frozenset())
        self._others_left, self._others = others, others
        self._displaced = {entry.key: entry for entry in displaced}
        self._unmodeled: dict[str, None] = {}
        self._made = {} if made is None else made
        # Claims are bound with the pods, and so differ from one simulation to the next.
        self._made_with_volumes: MadeRequests = {}

    @property
    def unmodeled(self) -> tuple[str, ...]:
        """Other fields of the replacements that a scheduler reads, as the API names them."""
        return tuple(self._unmodeled)

    @property
    def displaced(self) -> tuple[DisplacedPod, ...]:
        """Every pod that lost its node, in the order in which they were scheduled again."""
        return tuple(self._displaced.values())

    @property
    def pending(self) -> list[tuple[QueuedPod, SchedulingAttempt]]:
        """The replacements that stay pending, each with its last step."""
        return [
            (self._queued(entry, request), entry.step)
            for entry in self._displaced.values()
            if entry.step is not None and entry.outcome is PodOutcome.PENDING
            if (request := self.request_of(entry)) is not None
        ]

    def latest(self, entry: DisplacedPod) -> DisplacedPod:
        """Return the outcome since for a pod that lost its node."""
        return self._displaced.get(entry.key, entry)

    def request_of(self, entry: DisplacedPod) -> SchedulingRequest | None:
        """Return the request of a pod that was scheduled again; None for any other."""
        request = None if entry.step is None else self._request(entry)
        return request if isinstance(request, SchedulingRequest) else None

    def replacement(self, pod: PodOnNode) -> SchedulingRequest | None:
        """Return the replacement of a pod; None if that is not known."""
        if self.facts.own(pod.namespace, pod.name) is None and self.facts.object_of(pod) is None:
            return None
        found = self._request(self._lost(pod))
        return found if isinstance(found, SchedulingRequest) else None

    def schedule(self, pods: Iterable[PodOnNode]) -> None:
        """Schedule again what replaces pods, given as they were, and what is evicted for that."""
        self._schedule(map(self._lost, pods))
        self.replace_preempted()

    def retry(self) -> None:
        """Schedule again those that stayed pending, once there may be room for them."""
        waiting = [entry for entry in self.displaced if entry.outcome is PodOutcome.PENDING]
        self._schedule(self._lost(entry.pod, entry.preemptor) for entry in waiting)
        self.replace_preempted()

    def replace_preempted(self) -> None:
        """Schedule again what replaces pods that were evicted for others, until nobody else is."""
        preempted = self._simulation.preempted
        while gone := [each for each in preempted if self.is_replaced(each.pod)]:
            preempted[:] = [each for each in preempted if not self.is_replaced(each.pod)]
            for each in gone:
                self.on_preempted(each)
            self._schedule(self._lost(each.pod, each.preemptor) for each in gone)

    def record(self, steps: Iterable[SchedulingAttempt]) -> None:
        """Record what has become since of pods that were scheduled again."""
        for step in steps:
            key = step.namespace, step.name
            self._displaced[key] = replace(self._displaced[key], step=step)

    def leave(self, namespace: str, selector: LabelSelector, why: str) -> None:
        """Schedule those no more that stayed pending and are selected, and say why."""
        for pod, _ in self.pending:
            key = pod.request.pod.namespace, pod.name
            if key[0] == namespace and selector.matches(pod.request.pod.labels):
                self._displaced[key] = replace(self._displaced[key], step=None, why=why, final=True)

    def forget(self, keys: Iterable[tuple[str, str]]) -> None:
        """Forget pods, by namespace and name, which others take care of."""
        for key in keys:
            self._displaced.pop(key, None)

    def adopt(self, displaced: Iterable[DisplacedPod]) -> None:
        """Give the cluster the pods that another simulation, which began with it, scheduled again."""
        for entry in displaced:
            self._simulation.delete(*entry.key)
            self._displaced[entry.key] = entry
            request = self.request_of(entry)
            if request is not None and entry.step is not None and entry.step.node is not None:
                self._simulation.bind(request.pod, entry.name, entry.step.node)

    def _schedule(self, lost: Iterable[DisplacedPod]) -> None:
        waiting = self._by_ordinal(sorted(lost, key=_turn))
        steps = {
            (step.namespace, step.name): step for step in self._simulation.schedule_all(self._queue(waiting))
        }
        for entry in waiting:
            key = entry.key
            if key in steps:
                # What lost its node again has the last outcome, and the first of its nodes.
                first = self._displaced.get(key, entry)
                self._displaced[key] = replace(first, step=steps[key])
            elif key not in self._displaced or not self._displaced[key].why:
                self._displaced[key] = replace(entry, why=entry.why or "ended early")

    def _queue(self, waiting: Iterable[DisplacedPod]) -> Iterator[QueuedPod]:
        """Yield the replacements of pods; record why others have none."""
        for entry in waiting:
            known = self._displaced.get(entry.key, entry)
            request = self._find(entry, is_new=known is entry)
            if isinstance(request, str):
                self._displaced[entry.key] = replace(known, step=None, why=request, final=entry.final)
                continue
            self._displaced[entry.key] = known
            self._unmodeled |= dict.fromkeys(request.unmodeled)
            yield self._queued(entry, request)

    def _queued(self, entry: DisplacedPod, request: SchedulingRequest) -> QueuedPod:
        return QueuedPod(entry.name, request, self._controller(entry), self.facts.is_ordered(entry.pod))

    def _controller(self, entry: DisplacedPod) -> str:
        return entry.owner if entry.workload is None else self.facts.workloads[entry.workload].workload.title

    def _by_ordinal(self, waiting: list[DisplacedPod]) -> list[DisplacedPod]:
        """Return pods in their order, with those of each StatefulSet that has one by their ordinals.

        One that was created anew since comes before older ones of higher ordinals all the same.
        """
        turns = defaultdict[tuple[str, str], list[int]](list)
        for turn, entry in enumerate(waiting):
            if self.facts.is_ordered(entry.pod):
                turns[entry.namespace, self._controller(entry)].append(turn)
        ordered = list(waiting)
        for (_, controller), own in turns.items():
            of_set = sorted((waiting[turn] for turn in own), key=partial(_ordinal, controller=controller))
            for turn, entry in zip(own, of_set, strict=True):
                ordered[turn] = entry
        return ordered

    def _lost(self, pod: PodOnNode, preemptor: str = "") -> DisplacedPod:
        """Return a pod that lost its node with what is known of it, and why nothing replaces it.

        The controller of a DaemonSet replaces one that was evicted for another pod, for the same node. One
        that never had a node is there, and needs nobody who replaces it.
        """
        number, known = self.facts.own(pod.namespace, pod.name), self.facts.object_of(pod)
        owner = None if known is None else known.owner
        entry = DisplacedPod(
            pod=pod,
            workload=number,
            owner="" if owner is None else f"{owner.kind} {owner.name}",
            priority=0 if known is None else known.priority,
            created="" if known is None else known.created,
            preemptor=preemptor,
        )
        if number is not None:
            workload = self.facts.workloads[number].workload
            if workload.kind.kind == DAEMON_SET and not preemptor:
                return replace(entry, why=f"{workload.title} runs one on each node", final=True)
            return entry
        if known is None:
            return replace(entry, why="its spec is not known")
        if known.why_final and pod.node and not (known.of_daemon_set and preemptor):
            return replace(entry, why=known.why_final, final=True)
        return entry

    def _find(self, entry: DisplacedPod, *, is_new: bool) -> SchedulingRequest | str:
        """Return the replacement of a pod, or why there is none; one that had one is counted no more."""
        if entry.why:
            return entry.why
        if entry.workload is None and is_new:
            self._others_left -= 1
            if self._others_left < 0:
                return f"only {self._others:,} pods of other workloads are tried"
        return self._request(entry)

    def _request(self, entry: DisplacedPod) -> SchedulingRequest | str:
        """Return what is scheduled in place of a pod, or why nothing is."""
        if entry.workload is None:
            request = self._of_alike(entry)
        else:
            request = self.facts.workloads[entry.workload].request
        if isinstance(request, str) or not entry.pod.node or not self.facts.is_tied(entry.pod):
            return request
        return request.pinned_to(entry.pod.node)

    def _of_alike(self, entry: DisplacedPod) -> SchedulingRequest | str:
        """Return the same for a pod of another workload, prepared once for pods that are alike."""
        known = self.facts.object_of(entry.pod)
        if known is None:
            raise ValueError("a pod whose object is not known has no request")
        manifest = known.manifest
        request = self._made.get(manifest) or self._made_with_volumes.get(manifest)
        if request is None:
            request = self._prepare(known.to_dict(entry.name))
            has_volumes = not isinstance(request, str) and request.pod.volumes is not NO_VOLUMES
            (self._made_with_volumes if has_volumes else self._made)[manifest] = request
        return request

    def _prepare(self, pod: dict[str, Any]) -> SchedulingRequest | str:
        workload = read_workload(pod, self._context)
        try:
            return prepare(workload, self._context).request
        except PlacementError as error:
            return f"Kubernetes would reject it: {error.errors[0]}"


def _ordinal(entry: DisplacedPod, *, controller: str) -> int:
    """Return the ordinal of a pod, by the kind and name of its StatefulSet."""
    return ordinal_of(entry.name, controller.partition(" ")[2]) or 0


def _turn(entry: DisplacedPod) -> tuple[int, str, str, str]:
    return -entry.priority, entry.created, *entry.key

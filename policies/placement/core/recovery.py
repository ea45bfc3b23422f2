"""The pods that lost their node: what replaces them, where that goes, and what stays pending."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import chain, repeat
from typing import Annotated, Any, Final, TypeAlias

from policies.config.context import AdmissionContext
from policies.manifests.wire import INLINE, INTERNAL, OPTIONAL, Count, SentAs, sent
from policies.model.controller_labels import ordinal_of
from policies.model.labels import LabelSelector
from policies.model.pod_volumes import NO_VOLUMES
from policies.placement.core.actions import Disruption
from policies.placement.core.cluster_simulation import ClusterSimulation, QueuedPod
from policies.placement.core.placement import DAEMON_SET, PlacementError, PreparedPod, prepare, read_workload
from policies.placement.core.pod_facts import PodFacts
from policies.scheduler.binding import Step
from policies.scheduler.index import PodOnNode
from policies.scheduler.request import SchedulingRequest

#: What is scheduled in place of pods, or why nothing is, by their manifests.
MadeRequests: TypeAlias = dict[bytes, SchedulingRequest | str]
#: Pods of other workloads that are scheduled again: some milliseconds each where nodes are thousands.
MOST_OTHERS: Final = 10_000


class PodOutcome(StrEnum):
    """The outcome for a pod that lost its node."""

    RECOVERED = "recovered"
    PENDING = "pending"
    NOT_RECREATED = "notRecreated"
    NOT_TRIED = "notTried"


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplacedPod:
    """A pod that lost its node. One that was scheduled again has the members of a step, others ``why``.

    Attributes:
        pod: Where it was.
        workload: The number of the given workload that it belongs to; None for any other.
        owner: Its controller, as kind and name; empty if it has none or that is not known.
        priority: Its priority.
        created: When it was created; empty if that is not known.
        why: Why nothing replaces it, or why that was not tried; empty if it was scheduled again.
        final: Whether nothing replaces it.
        step: What became of its replacement.
        preemptor: The pod that it was evicted for, as namespace/name; empty if an action displaced it.
    """

    pod: Annotated[PodOnNode, INTERNAL]
    workload: Annotated[int | None, INTERNAL] = None
    owner: str = ""
    priority: int = 0
    created: Annotated[str, INTERNAL] = ""
    why: Annotated[str, INTERNAL] = ""
    final: Annotated[bool, INTERNAL] = False
    step: Annotated[Step | None, INLINE] = None
    preemptor: Annotated[str, INTERNAL] = ""

    @property
    @sent
    def evicted_for(self) -> Annotated[str | None, OPTIONAL]:
        """The pod that it was evicted for, as namespace/name; None if it was not."""
        return self.preemptor or None

    @property
    @sent
    def name(self) -> str:
        """Its name."""
        return self.pod.name

    @property
    @sent
    def namespace(self) -> str:
        """Its namespace."""
        return self.pod.namespace

    @property
    @sent
    def lost_node(self) -> str:
        """The node that it lost."""
        return self.pod.node

    @property
    @sent
    def own(self) -> bool:
        """Whether it belongs to a given workload."""
        return self.workload is not None

    @property
    @sent
    def reason(self) -> Annotated[str | None, OPTIONAL, SentAs("why")]:
        """Why it was not scheduled again; None if it was."""
        return self.why if self.step is None else None

    @property
    @sent
    def outcome(self) -> PodOutcome:
        """The outcome for the pod."""
        if self.step is not None:
            return PodOutcome.PENDING if self.step.node is None else PodOutcome.RECOVERED
        return PodOutcome.NOT_RECREATED if self.final else PodOutcome.NOT_TRIED


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The effect of some actions on the pods of a cluster.

    Attributes:
        disruption: What the actions did.
        displaced: Every pod that lost its node, in the order in which they were scheduled again.
        complete: Whether what was needed of every pod is known.
        unmodeled: What else a scheduler looks at in the replacements, as the API names it.
        waiting: What was scheduled in place of each of these pods and stays pending; None for all else.
    """

    disruption: Annotated[Disruption, INLINE]
    displaced: tuple[DisplacedPod, ...]
    complete: Annotated[bool, SentAs("podsKnown")]
    unmodeled: Annotated[tuple[str, ...], INTERNAL] = ()
    waiting: Annotated[tuple[QueuedPod | None, ...], INTERNAL] = ()

    @property
    @sent
    def recovered(self) -> Count:
        """How many pods got a node again."""
        return self.count(PodOutcome.RECOVERED)

    @property
    @sent
    def pending(self) -> Count:
        """How many pods got none."""
        return self.count(PodOutcome.PENDING)

    @property
    @sent
    def not_recreated(self) -> Count:
        """How many pods nothing recreates: bare and static ones, and those of DaemonSets."""
        return self.count(PodOutcome.NOT_RECREATED)

    @property
    @sent
    def not_tried(self) -> Count:
        """How many pods were not scheduled again, mostly since their objects are not known."""
        return self.count(PodOutcome.NOT_TRIED)

    def count(self, outcome: PodOutcome) -> int:
        """Return how many pods have an outcome."""
        return sum(pod.outcome is outcome for pod in self.displaced)


def recover(
    disruption: Disruption,
    simulation: ClusterSimulation,
    facts: PodFacts,
    workloads: Sequence[PreparedPod],
    context: AdmissionContext,
    *,
    others: int = MOST_OTHERS,
    made: MadeRequests | None = None,
    then: Callable[[Rescheduling], object] = lambda _again: None,
) -> Recovery:
    """Schedule again what lost its node, each pod beside those that stayed and those before it.

    Where the simulation preempts, the pods that are evicted then lose their node as well.

    The highest priority comes first, then the oldest pod, then the name: the scheduler's queue has the order
    in which controllers create the replacements, which is not known.

    Args:
        disruption: What happened to the cluster.
        simulation: The cluster after it, which has the replacements afterwards.
        facts: What is known of its pods.
        workloads: The given workloads, whose pods are replaced as they define.
        context: What other pods are prepared by.
        others: How many pods of other workloads are scheduled again, too.
        made: Requests of pods that other recoveries have prepared, with the same context on forks of the same
            cluster; has those of this one, too, afterwards. None for a single recovery.
        then: Is called when all are scheduled, and may go on with those that stay pending.
    """
    again = Rescheduling(simulation, facts, workloads, context, others=others, made=made)
    again.schedule(disruption.evicted)
    again.replace_preempted()
    then(again)
    return Recovery(
        disruption=disruption,
        displaced=again.displaced,
        complete=facts.complete,
        unmodeled=again.unmodeled,
        waiting=again.waiting,
    )


class Rescheduling:
    """Schedules again what replaces pods that lost their node."""

    def __init__(
        self,
        simulation: ClusterSimulation,
        facts: PodFacts,
        workloads: Sequence[PreparedPod],
        context: AdmissionContext,
        *,
        others: int = MOST_OTHERS,
        made: MadeRequests | None = None,
        displaced: Iterable[DisplacedPod] = (),
    ) -> None:
        """Start without pods, or with those that lost their node before: see ``recover``."""
        self._simulation, self._facts, self._workloads = simulation, facts, workloads
        self._requests = _Requests(facts, workloads, replace(context, cluster=simulation.cluster), made)
        self._others_left, self._others = others, others
        self._displaced = {(entry.pod.namespace, entry.pod.name): entry for entry in displaced}
        self._unmodeled: dict[str, None] = {}

    @property
    def unmodeled(self) -> tuple[str, ...]:
        """Other fields of the replacements that a scheduler reads, as the API names them."""
        return tuple(self._unmodeled)

    @property
    def displaced(self) -> tuple[DisplacedPod, ...]:
        """Every pod that lost its node, in the order in which they were scheduled again."""
        return tuple(self._displaced.values())

    def latest(self, entry: DisplacedPod) -> DisplacedPod:
        """Return the outcome since for a pod that lost its node."""
        return self._displaced.get((entry.pod.namespace, entry.pod.name), entry)

    @property
    def waiting(self) -> tuple[QueuedPod | None, ...]:
        """The replacement of each of them that stays pending; None for all others."""
        return tuple(map(self._waiting, self._displaced.values()))

    def _waiting(self, entry: DisplacedPod) -> QueuedPod | None:
        request = self.request_of(entry) if entry.outcome is PodOutcome.PENDING else None
        if request is None:
            return None
        return self._queued(entry, request)

    def request_of(self, entry: DisplacedPod) -> SchedulingRequest | None:
        """Return the request of a pod that was scheduled again; None for any other."""
        request = None if entry.step is None else self._requests.find(entry)
        return request if isinstance(request, SchedulingRequest) else None

    def replacement(self, pod: PodOnNode) -> SchedulingRequest | None:
        """Return the replacement of a pod; None if that is not known."""
        if self._facts.own(pod.namespace, pod.name) is None and self._facts.object_of(pod) is None:
            return None
        found = self._requests.find(_displaced(pod, self._facts, self._workloads, ""))
        return found if isinstance(found, SchedulingRequest) else None

    def schedule(self, pods: Iterable[PodOnNode], preemptors: Sequence[str] = ()) -> None:
        """Schedule again what replaces pods.

        Args:
            pods: The pods, as they were.
            preemptors: For which pod each of them was evicted; none where that is not why they go.
        """
        known = [
            _displaced(pod, self._facts, self._workloads, preemptor)
            for pod, preemptor in zip(pods, chain(preemptors, repeat("")), strict=False)
        ]
        waiting = self._by_ordinal(sorted(known, key=_turn))
        steps = {
            (step.namespace, step.name): step for step in self._simulation.schedule_all(self._queue(waiting))
        }
        for entry in waiting:
            key = (entry.pod.namespace, entry.pod.name)
            if key in steps:
                # What lost its node again has the last outcome, and the first of its nodes.
                first = self._displaced.get(key, entry)
                self._displaced[key] = replace(first, step=steps[key])
            elif key not in self._displaced or not self._displaced[key].why:
                self._displaced[key] = replace(entry, why=entry.why or "ended early")

    def replace_preempted(self, is_replaced: Callable[[PodOnNode], bool] = lambda _pod: True) -> None:
        """Schedule again what replaces pods that were evicted for others, until nobody else is.

        Args:
            is_replaced: Whether a pod is replaced here; others stay in the simulation's ``preempted``.
        """
        preempted = self._simulation.preempted
        while gone := [each for each in preempted if is_replaced(each.pod)]:
            preempted[:] = [each for each in preempted if not is_replaced(each.pod)]
            self.schedule([each.pod for each in gone], [each.preemptor for each in gone])

    def retry(self) -> None:
        """Schedule again those that stayed pending, once there may be room for them."""
        waiting = [entry for entry in self.displaced if entry.outcome is PodOutcome.PENDING]
        self.schedule([entry.pod for entry in waiting], [entry.preemptor for entry in waiting])

    def record(self, steps: Iterable[Step]) -> None:
        """Record what has become since of pods that were scheduled again."""
        for step in steps:
            key = step.namespace, step.name
            self._displaced[key] = replace(self._displaced[key], step=step)

    def leave(self, namespace: str, selector: LabelSelector, why: str) -> None:
        """Schedule those no more that stayed pending and are selected, and say why."""
        for key, entry in self._displaced.items():
            if entry.outcome is PodOutcome.PENDING and entry.namespace == namespace:
                request = self.request_of(entry)
                if request is not None and selector.matches(request.pod.labels):
                    self._displaced[key] = replace(entry, step=None, why=why, final=True)

    def adopt(self, displaced: Iterable[DisplacedPod]) -> None:
        """Give the cluster the pods that another simulation, which began with it, scheduled again."""
        for entry in displaced:
            self._simulation.delete(entry.pod.namespace, entry.pod.name)
            self._displaced[entry.pod.namespace, entry.pod.name] = entry
            request = self.request_of(entry)
            if request is not None and entry.step is not None and entry.step.node is not None:
                self._simulation.bind(request.pod, entry.pod.name, entry.step.node)

    def _queue(self, waiting: Iterable[DisplacedPod]) -> Iterator[QueuedPod]:
        """Yield the replacements of pods; record why others have none."""
        for entry in waiting:
            key = (entry.pod.namespace, entry.pod.name)
            known = self._displaced.get(key, entry)
            request = self._find(entry, is_new=known is entry)
            if isinstance(request, str):
                self._displaced[key] = replace(known, step=None, why=request, final=entry.final)
                continue
            self._displaced[key] = known
            self._unmodeled |= dict.fromkeys(request.unmodeled)
            yield self._queued(entry, request)

    def _queued(self, entry: DisplacedPod, request: SchedulingRequest) -> QueuedPod:
        in_order = self._facts.is_ordered(entry.pod)
        return QueuedPod(entry.pod.name, request, self._controller(entry), in_order)

    def _controller(self, entry: DisplacedPod) -> str:
        return entry.owner if entry.workload is None else self._workloads[entry.workload].workload.title

    def _by_ordinal(self, waiting: list[DisplacedPod]) -> list[DisplacedPod]:
        """Return pods in their order, with those of each StatefulSet that has one by their ordinals.

        One that was created anew since comes before older ones of higher ordinals all the same.
        """
        turns = defaultdict[tuple[str, str], list[int]](list)
        for turn, entry in enumerate(waiting):
            if self._facts.is_ordered(entry.pod):
                turns[entry.pod.namespace, self._controller(entry)].append(turn)
        ordered = list(waiting)
        for (_, controller), own in turns.items():
            of_set = sorted((waiting[turn] for turn in own), key=partial(_ordinal, controller=controller))
            for turn, entry in zip(own, of_set, strict=True):
                ordered[turn] = entry
        return ordered

    def _find(self, entry: DisplacedPod, *, is_new: bool) -> SchedulingRequest | str:
        """Return the replacement of a pod, or why there is none; one that had one is counted no more."""
        if entry.why:
            return entry.why
        if entry.workload is None and is_new:
            self._others_left -= 1
            if self._others_left < 0:
                return f"only {self._others:,} pods of other workloads are tried"
        return self._requests.find(entry)


def _ordinal(entry: DisplacedPod, *, controller: str) -> int:
    """Return the ordinal of a pod, by the kind and name of its StatefulSet."""
    return ordinal_of(entry.pod.name, controller.partition(" ")[2]) or 0


def _turn(entry: DisplacedPod) -> tuple[int, str, str, str]:
    return -entry.priority, entry.created, entry.pod.namespace, entry.pod.name


def _displaced(
    pod: PodOnNode, facts: PodFacts, workloads: Sequence[PreparedPod], preemptor: str
) -> DisplacedPod:
    """Return a pod with what is known of it, and why nothing replaces it.

    The controller of a DaemonSet replaces one that was evicted for another pod, for the same node.
    """
    number, known = facts.own(pod.namespace, pod.name), facts.object_of(pod)
    if known is None:
        entry = DisplacedPod(pod=pod, workload=number, preemptor=preemptor)
    else:
        entry = DisplacedPod(
            pod=pod,
            workload=number,
            owner="" if known.owner is None else f"{known.owner.kind} {known.owner.name}",
            priority=known.priority,
            created=known.created,
            preemptor=preemptor,
        )
    if number is not None:
        workload = workloads[number].workload
        if workload.kind.kind == DAEMON_SET and not preemptor:
            return replace(entry, why=f"{workload.title} runs one on each node", final=True)
        return entry
    if known is None:
        return replace(entry, why="its spec is not known")
    if known.why_final and not (known.of_daemon_set and preemptor):
        return replace(entry, why=known.why_final, final=True)
    return entry


class _Requests:
    """The requests that are scheduled in place of pods, prepared once for pods that are alike."""

    def __init__(
        self,
        facts: PodFacts,
        workloads: Sequence[PreparedPod],
        context: AdmissionContext,
        made: MadeRequests | None,
    ) -> None:
        self._facts = facts
        self._workloads = workloads
        self._context = context
        self._shared = {} if made is None else made
        # Claims are bound with the pods, and so differ from one recovery to the next.
        self._with_volumes: MadeRequests = {}

    def find(self, entry: DisplacedPod) -> SchedulingRequest | str:
        """Return the request, or why there is none."""
        request = self._of_alike(entry)
        if isinstance(request, str) or not self._facts.is_tied(entry.pod):
            return request
        return request.pinned_to(entry.pod.node)

    def _of_alike(self, entry: DisplacedPod) -> SchedulingRequest | str:
        if entry.workload is not None:
            return self._workloads[entry.workload].request
        known = self._facts.object_of(entry.pod)
        if known is None:
            raise ValueError("a pod whose object is not known has no request")
        manifest = known.manifest
        request = self._shared.get(manifest) or self._with_volumes.get(manifest)
        if request is None:
            request = self._prepare(known.to_dict(entry.pod.name))
            has_volumes = not isinstance(request, str) and request.pod.volumes is not NO_VOLUMES
            (self._with_volumes if has_volumes else self._shared)[manifest] = request
        return request

    def _prepare(self, pod: dict[str, Any]) -> SchedulingRequest | str:
        workload = read_workload(pod, self._context)
        try:
            return prepare(workload, self._context).request
        except PlacementError as error:
            return f"Kubernetes would reject it: {error.errors[0]}"

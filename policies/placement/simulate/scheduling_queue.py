"""The pods that a simulation schedules: replicas of a workload, or pods that are given one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from policies.autoscaler.node_autoscaler import NodeAutoscaler
from policies.config.context import AdmissionContext
from policies.manifests.fields import (
    NAME_TAKEN,
    ErrorList,
    FieldPath,
    duplicate_value,
    invalid_value,
    member,
    text_member,
    unsupported_value,
)
from policies.model.version import KubernetesVersion
from policies.model.workload import Workload, controller_of
from policies.placement.core.actions import Action, DrainNode
from policies.placement.core.autoscaling import MOST_COMPARED, Autoscaled, alternatives
from policies.placement.core.cluster_simulation import (
    ClusterSimulation,
    QueuedPod,
    may_evict,
    nodes_of_daemon,
)
from policies.placement.core.placement import (
    DAEMON_SET,
    PlacementError,
    PreparedPod,
    prepare,
    read_workload,
)
from policies.placement.core.pod_facts import PodFacts
from policies.placement.core.pod_objects import PodObjects
from policies.placement.core.recovery import MOST_OTHERS, DisplacedPod, PodOutcome, Rescheduling
from policies.placement.core.replicas import (
    ReplicaEnds,
    Replicas,
    check_replicas,
    parallel_pods,
    replicas_of,
    running_replicas,
)
from policies.placement.core.scale_down import MOST_TRIED, scale_down
from policies.placement.rollout.new_revision import ReplacedPods, find_replaced
from policies.placement.simulate.distribution import Distribution, DistributionTally
from policies.placement.simulate.simulate import (
    NOT_LOOKED_AT,
    NOT_LOOKED_AT_AFTER,
    NOT_LOOKED_AT_BESIDE,
    Simulation,
    not_replaced,
    simulate,
)
from policies.placement.simulate.what_if import WhatIf, what_if
from policies.scheduler.binding import Step, TieBreaker, first_by_name
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_sampling import ADAPTIVE, NodeSampler, nodes_to_find

#: What a drain respects besides, and is not simulated.
_BUDGETS: Final = "PodDisruptionBudgets, which may keep a drain from evicting pods"

#: The rule that an object breaks whose pods no scheduler compares nodes for, or that makes several.
NOT_SIMULATED: Final = "not-simulated"

_KIND = FieldPath(("kind",))
_NAME = FieldPath(("metadata", "name"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingQueue:
    """Pods that wait to be scheduled, and the cluster that they wait for.

    Attributes:
        pods: The pods, in order.
        cluster: A fork, of which each simulation makes one of its own.
        context: What they, and other pods of the cluster, are prepared by.
        version: The release of Kubernetes.
        prepared: The workload whose replicas they are; None for pods that were given one by one.
        replicas: How many replicas the workload wants and has; None where that is not known.
        replaced: What the workload replaces where it is applied; None where a number of pods is given.
    """

    pods: tuple[QueuedPod, ...]
    cluster: ClusterIndex
    context: AdmissionContext
    version: KubernetesVersion
    prepared: PreparedPod | None = None
    replicas: Replicas | None = None
    replaced: ReplacedPods | None = None

    @property
    def may_evict(self) -> bool:
        """Whether pods of the cluster could be evicted for a pod of the queue, if it fits nowhere."""
        return any(may_evict(entry.request.pod, self.cluster) for entry in self.pods)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationSettings:
    """How pods are scheduled.

    Attributes:
        seed: Chooses among the best nodes at random; None for the first by name, if there is one run.
        runs: How often they are scheduled, each time on the same cluster; None for once, without numbers of
            how the ends differ.
        percentage: The scheduler's ``percentageOfNodesToScore``, or ``ADAPTIVE``; None to look at all nodes.
    """

    seed: int | None = None
    runs: int | None = None
    percentage: int | None = None

    @property
    def used_seed(self) -> int | None:
        """The seed of random choices; several runs always have one, since they would be equal otherwise."""
        return 0 if self.seed is None and self.runs is not None else self.seed


#: Once, with the first by name of the best nodes, of which all are looked at.
PLAIN: Final = SimulationSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedActions:
    """The changes to pods of the cluster: before those of a queue are scheduled, and for them.

    Attributes:
        actions: The actions before, in order.
        running: The objects of the cluster's pods; None where only the index is known.
        others: How many pods of other workloads are scheduled again.
        autoscaler: What adds nodes for pods of the queue that are pending; None for nothing.
        scales_down: Whether it then removes nodes that are not needed, the first time.
        most_tried: Pods that are tried elsewhere for that.
    """

    actions: tuple[Action, ...] = ()
    running: PodObjects | None = None
    others: int = MOST_OTHERS
    autoscaler: NodeAutoscaler | None = None
    scales_down: bool = False
    most_tried: int = MOST_TRIED


#: No actions, and no objects of the cluster's pods.
NOTHING_PLANNED: Final = PlannedActions()


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedQueue:
    """A queue, and what became of its pods.

    Attributes:
        queue: The queue.
        settings: How they were scheduled.
        simulation: What became of them; the first time, if there were several.
        distribution: What became of them every time; None if they were to be scheduled once.
        what_if: What happened to the cluster before, the first time; None without actions.
    """

    queue: SchedulingQueue
    settings: SimulationSettings
    simulation: Simulation
    distribution: Distribution | None = None
    what_if: WhatIf | None = None

    @property
    def succeeds(self) -> bool:
        """Whether something was judged, and no pod stayed pending."""
        return self.is_judged and not self.pending

    @property
    def is_judged(self) -> bool:
        """Whether there was anything to judge: pods to schedule, or a node for those that run."""
        return bool(self.simulation.queued or self.queue.cluster.node_count)

    @property
    def pending(self) -> int:
        """The most pods that stayed pending any time, with those that actions displaced the first time.

        Of a new revision that is applied they are those that its rollout leaves pending.
        """
        replaced, is_plain = self.queue.replaced, self.what_if is None and self.settings.runs is None
        if is_plain and replaced is not None and replaced.pending is not None:
            return replaced.pending
        ends = self.distribution.pending if self.distribution is not None else ()
        displaced = sum(entry.outcome is PodOutcome.PENDING for entry in self.displaced)
        removed = 0 if self.simulation.scaled_down is None else self.simulation.scaled_down.pending
        return max(ends, default=self.simulation.pending) + displaced + removed

    @property
    def ends(self) -> ReplicaEnds | None:
        """The pods of the workload at the end, the first time; None where their number is not known."""
        before = 0 if self.queue.replicas is None else self.queue.replicas.placed
        own = [entry for entry in self.displaced if entry.own]
        if self.what_if is not None and self.what_if.own_stayed is not None:
            # What was evicted for pods of the queue had stayed until then.
            before = self.what_if.own_stayed - sum(entry.own for entry in self.simulation.evicted)
            before += sum(entry.outcome is PodOutcome.RECOVERED for entry in own)
        elif self.queue.replicas is None:
            return None
        stuck = sum(entry.outcome in {PodOutcome.PENDING, PodOutcome.NOT_TRIED} for entry in own)
        # Without actions only pods of other revisions are evicted, which do not count here.
        removed = () if self.simulation.scaled_down is None else self.simulation.scaled_down.evicted
        lost = sum(entry.own and entry.outcome is PodOutcome.PENDING for entry in removed)
        pending = self.simulation.pending + (0 if self.what_if is None else stuck) + lost
        bound = len(self.simulation.steps) - self.simulation.pending - lost
        return ReplicaEnds(running=before + bound, pending=pending)

    @property
    def displaced(self) -> tuple[DisplacedPod, ...]:
        """The pods that lost their node the first time, by actions and for others."""
        by_actions = () if self.what_if is None else self.what_if.recovery.displaced
        return (*by_actions, *self.simulation.evicted)

    @property
    def steps(self) -> list[Step]:
        """The outcome of every pod that was scheduled the first time, and of those that actions displaced."""
        displaced = (entry.step for entry in self.displaced)
        return [*(step for step in displaced if step is not None), *self.simulation.steps]

    @property
    def unmodeled(self) -> tuple[str, ...]:
        """The parts of these pods that a scheduler reads and that are not modeled, as the API names them."""
        displaced = () if self.what_if is None else self.what_if.recovery.unmodeled
        return tuple(dict.fromkeys((*displaced, *self.simulation.unmodeled)))

    @property
    def complete(self) -> bool:
        """Whether all pods were tried, every time."""
        runs = None if self.distribution is None else self.distribution.runs
        return self.simulation.complete and runs == self.settings.runs

    @property
    def nodes_to_find(self) -> int:
        """How many feasible nodes are looked for, for each pod."""
        nodes, percentage = self.queue.cluster.node_count, self.settings.percentage
        return nodes if percentage is None else min(nodes_to_find(percentage, nodes), nodes)

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        """Features of a real cluster that may change the course and are not part of the simulation."""
        drained = self.what_if is not None and any(isinstance(e, DrainNode) for e in self.what_if.actions)
        usually: tuple[str, ...] = NOT_LOOKED_AT
        if self.simulation.autoscaled is not None:
            removes = self.simulation.scaled_down is not None
            usually = NOT_LOOKED_AT_AFTER if removes else NOT_LOOKED_AT_BESIDE
        budgets = (_BUDGETS,) if drained else ()
        left_out = (*usually, *budgets, *not_replaced(self.simulation.evicted))
        nodes = self.queue.cluster.node_count
        configured = {entry.request.profile.percentage_of_nodes_to_score for entry in self.queue.pods}
        usual = min((nodes_to_find(each or ADAPTIVE, nodes) for each in configured), default=nodes)
        if self.settings.percentage is not None or usual >= nodes:
            return left_out
        text = f"percentageOfNodesToScore: kube-scheduler stops at {usual:,} feasible nodes of {nodes:,}"
        return (*left_out, text)


def simulate_queue(
    queue: SchedulingQueue,
    settings: SimulationSettings = PLAIN,
    *,
    planned: PlannedActions = NOTHING_PLANNED,
    choose: TieBreaker = first_by_name,
    on_step: Callable[[Step], None] = lambda _step: None,
    stop: Callable[[], bool] = lambda: False,
) -> SimulatedQueue:
    """Schedule the pods of a queue: see ``simulate``.

    Args:
        queue: The queue.
        settings: How they are scheduled.
        planned: What happens to the cluster first, every time; displaced pods are scheduled before the queue.
            Its objects of pods are what replaces those that are evicted for pods of the queue.
        choose: Chooses one of several best nodes, by the seed of the settings.
        on_step: Called after each pod.
        stop: Whether to schedule no more pods. What one time was not finished does not count, but the first.

    Raises:
        ActionError: An action names something that the cluster does not have.
    """

    def begin() -> ClusterSimulation:
        simulation = ClusterSimulation.of(queue.cluster, stop=stop)
        simulation.choose, simulation.preempts = choose, True
        if settings.percentage is not None:
            simulation.sampler = NodeSampler(settings.percentage)
        return simulation

    def once(*, is_first: bool = False) -> tuple[Simulation, WhatIf | None]:
        simulation, happened, autoscaler, scaled = begin(), None, planned.autoscaler, None
        simulation.on_step = on_step
        if planned.actions:
            happened = what_if(
                planned.actions,
                simulation,
                queue.context,
                prepared=queue.prepared,
                running=planned.running,
                others=planned.others,
                autoscaler=autoscaler,
            )
            scaled = happened.autoscaled
            autoscaler = _grown(autoscaler, scaled)
        workloads = () if queue.prepared is None else (queue.prepared,)
        facts = PodFacts(simulation.cluster, workloads, planned.running)
        again = Rescheduling(simulation, facts, workloads, queue.context, others=planned.others)
        found = simulate(queue.pods, simulation, again, autoscaler)
        found = replace(found, autoscaled=_both(scaled, found.autoscaled))
        if is_first and planned.scales_down and found.complete:
            found = _with_scale_down(found, queue, planned, simulation)
        return found, happened

    first, happened = once(is_first=True)
    first = _with_alternatives(first, queue, planned, begin)
    simulation = first
    tally = DistributionTally()
    tally.add(first)
    for _ in range(1, settings.runs or 1):
        if not simulation.complete or stop():
            break
        simulation, _ = once()
        if simulation.complete and not stop():
            tally.add(simulation)
    distribution = None if settings.runs is None else tally.distribution()
    return SimulatedQueue(
        queue=queue, settings=settings, simulation=first, distribution=distribution, what_if=happened
    )


def _grown(autoscaler: NodeAutoscaler | None, scaled: Autoscaled | None) -> NodeAutoscaler | None:
    return autoscaler if autoscaler is None or scaled is None else autoscaler.grown(scaled.nodes)


def _both(first: Autoscaled | None, then: Autoscaled | None) -> Autoscaled | None:
    return first if then is None else then if first is None else first.then(then)


def _with_scale_down(
    found: Simulation, queue: SchedulingQueue, planned: PlannedActions, simulation: ClusterSimulation
) -> Simulation:
    """Return a simulation with the nodes that the autoscaler then removes."""
    autoscaler, scaled = planned.autoscaler, found.autoscaled
    if autoscaler is None or scaled is None:
        return found
    removed = scale_down(
        queue.pods,
        simulation,
        autoscaler.grown(scaled.nodes),
        queue.context,
        workloads=() if queue.prepared is None else (queue.prepared,),
        running=planned.running,
        most_tried=planned.most_tried,
    )
    return replace(found, scaled_down=removed)


def _with_alternatives(
    first: Simulation, queue: SchedulingQueue, planned: PlannedActions, begin: Callable[[], ClusterSimulation]
) -> Simulation:
    """Return a simulation with what would be if something were otherwise, where nodes are added."""
    scaled, autoscaler = first.autoscaled, planned.autoscaler
    size = len(queue.pods) * (queue.cluster.node_count + (0 if scaled is None else len(scaled.nodes)))
    if scaled is None or autoscaler is None or planned.actions or not first.complete:
        return first
    if not (scaled.nodes or scaled.unhelped) or size > MOST_COMPARED:
        return first
    return replace(
        first, autoscaled=replace(scaled, alternatives=alternatives(queue.pods, begin, autoscaler))
    )


def queue_replicas(
    obj: Mapping[str, Any],
    context: AdmissionContext,
    *,
    namespace: str = "",
    count: int | None = None,
    tolerated: frozenset[str] = frozenset(),
    changes_nodes: bool = False,
) -> SchedulingQueue:
    """Return replicas of a workload, or the pods that the controller of a DaemonSet makes, one for each node.

    Those of a DaemonSet are as after its rollout: in place of the ones that run.

    Args:
        obj: The workload, or a pod, of any shape.
        context: What its pods are placed by; its cluster must be there.
        namespace: Where the object goes if it names no namespace itself.
        count: How many replicas; by default those that the workload wants and that have no node; of a Job
            those that it runs at once, and one pod of any other object without a number of replicas.
        tolerated: Rules of the API server that the object may break.
        changes_nodes: Whether nodes change before these pods are scheduled, or for them.

    Raises:
        PlacementError: Kubernetes would refuse the object or its pods, or the controller of a DaemonSet makes
            none, or others than are asked for; holds every error.
    """
    workload = read_workload(obj, context, namespace=namespace)
    if workload.kind.kind == DAEMON_SET:
        return _one_for_each_node(workload, context, tolerated, is_plain=count is None and not changes_nodes)
    with context.reading():
        prepared = prepare(workload, context, tolerated=tolerated)
        replicas, replaced = running_replicas(prepared), None
        if count is None:
            count = _missing(workload, replicas)
            replaced = find_replaced(prepared, context, tolerated=tolerated)
        return SchedulingQueue(
            pods=tuple(replicas_of(prepared, count)),
            cluster=prepared.cluster.fork(""),
            context=context,
            version=prepared.version,
            prepared=prepared,
            replicas=replicas,
            replaced=replaced,
        )


def _one_for_each_node(
    workload: Workload, context: AdmissionContext, tolerated: frozenset[str], *, is_plain: bool
) -> SchedulingQueue:
    """Return the pods of a DaemonSet.

    Source: ``podsShouldBeOnNode``, ``pkg/controller/daemon/daemon_controller.go``, Kubernetes 1.36.
    """
    if not is_plain:
        text = "must not be DaemonSet with a number of pods, actions or an autoscaler: one pod a node is made"
        raise PlacementError((invalid_value(_KIND, DAEMON_SET, text, NOT_SIMULATED),))
    with context.reading():
        prepared = prepare(workload, context, tolerated=tolerated)
        result = evaluate(prepared.request, prepared.cluster)
        nodes = [result.names[position] for position in nodes_of_daemon(result)]
        if not nodes:
            text = "its controller makes no pod: there is no node that its affinity and tolerations allow"
            raise PlacementError((invalid_value(_KIND, DAEMON_SET, text, NOT_SIMULATED),))
        return SchedulingQueue(
            pods=tuple(
                QueuedPod(f"{workload.name}-{node}", prepared.request.pinned_to(node)) for node in nodes
            ),
            cluster=prepared.cluster.fork(""),
            context=context,
            version=prepared.version,
            prepared=prepared,
        )


def _missing(workload: Workload, replicas: Replicas | None) -> int:
    """Return how many replicas have no node, or how many pods an object without replicas creates at once."""
    check_replicas(workload)
    if replicas is not None:
        return max(replicas.wanted - replicas.placed, 0)
    parallel = parallel_pods(workload)
    return 1 if parallel is None else parallel


def queue_pods(
    pods: Sequence[tuple[FieldPath, Mapping[str, Any]]],
    context: AdmissionContext,
    *,
    tolerated: frozenset[str] = frozenset(),
) -> SchedulingQueue:
    """Return pods that are given one by one, as manifests or as the API server has stored them.

    Args:
        pods: The pods, of any shape, and where each is.
        context: What they are placed by; its cluster must be there.
        tolerated: Rules of the API server that they may break.

    Raises:
        PlacementError: Kubernetes would refuse a pod; holds every error.
    """
    cluster = context.cluster
    if cluster is None:
        raise ValueError("there is no cluster to place anything in")
    found, queued = ErrorList(), []
    taken: dict[str, set[str]] = {}
    with context.reading():
        for path, obj in pods:
            if found.full:
                break
            try:
                prepared = _prepare_pod(obj, context, tolerated)
            except PlacementError as error:
                found.extend(replace(entry, path=path + entry.path) for entry in error.errors)
                continue
            namespace, name = prepared.request.pod.namespace, prepared.request.pod.name or str(path)
            if namespace not in taken:
                table = cluster.pods_of(namespace)
                taken[namespace] = set(() if table is None else table.names())
            if name in taken[namespace]:
                found.add(duplicate_value(path + _NAME, name, NAME_TAKEN))
            taken[namespace].add(name)
            owner = controller_of(member(obj, "metadata"))
            owned = "" if owner is None else f"{owner.kind}/{owner.name}"
            queued.append(QueuedPod(name, prepared.request, owned))
        if found.errors:
            raise PlacementError(tuple(found.errors))
        return SchedulingQueue(
            pods=tuple(queued),
            cluster=cluster.fork(""),
            context=context,
            version=context.kubernetes_version,
        )


def _prepare_pod(obj: Mapping[str, Any], context: AdmissionContext, tolerated: frozenset[str]) -> PreparedPod:
    kind = context.kind_of(obj)
    if kind is not None and not kind.is_pod:
        raise PlacementError((unsupported_value(_KIND, text_member(obj, "kind"), ["Pod"], NOT_SIMULATED),))
    return prepare(read_workload(obj, context), context, tolerated=tolerated)

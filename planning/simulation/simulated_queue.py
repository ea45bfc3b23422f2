"""Queues of pods and what becomes of them: scheduled once or many times, perhaps after nodes went or came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from planning.simulation.actions import Where, by_option
from planning.simulation.autoscaling import Autoscaling
from planning.simulation.cluster_simulation import ClusterSimulation, never, unnoticed
from planning.simulation.distribution import Distribution, DistributionTally
from planning.simulation.events import NodeEvent
from planning.simulation.node_source import NodeSource
from planning.simulation.pod_facts import PodFacts
from planning.simulation.recovery import MOST_OTHERS, DisplacedPod, PodOutcome
from planning.simulation.replicas import ReplicaEnds
from planning.simulation.rescheduling import Rescheduling
from planning.simulation.scheduling_queue import SchedulingQueue
from planning.simulation.simulate import (
    NOT_LOOKED_AT,
    NOT_LOOKED_AT_BESIDE,
    Simulation,
    not_replaced,
    simulate,
)
from planning.simulation.what_if import WhatIf, what_if
from policies.scheduler.binding import SchedulingAttempt, TieBreaker, first_by_name
from policies.scheduler.evaluate import ADAPTIVE, NodeSampler, nodes_to_find

#: What a drain respects besides, and is not simulated.
_BUDGETS: Final = "PodDisruptionBudgets, which may keep a drain from evicting pods"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationSettings:
    """How pods are scheduled."""

    #: Chooses among the best nodes at random; None for the first by name, if there is one run.
    seed: int | None = None
    #: How often they are scheduled, each time on the same cluster; None for once, without numbers of how the
    #: ends differ.
    runs: int | None = None
    #: The scheduler's ``percentageOfNodesToScore``, or ``ADAPTIVE``; None to look at all nodes.
    percentage: int | None = None

    @property
    def used_seed(self) -> int | None:
        """The seed of random choices; several runs always have one, since they would be equal otherwise."""
        return 0 if self.seed is None and self.runs is not None else self.seed


#: Once, with the first by name of the best nodes, of which all are looked at.
PLAIN: Final = SimulationSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedActions:
    """The changes to pods of the cluster: before those of a queue are scheduled, and for them."""

    actions: tuple[NodeEvent, ...] = ()  #: The actions before, in order.
    where: Where = by_option  #: Returns where one of them is that is wrong.
    others: int = MOST_OTHERS  #: How many pods of other workloads are scheduled again.
    #: What adds nodes for pods of the queue that are pending; None for nothing.
    autoscaler: NodeSource | None = None


#: No actions.
NOTHING_PLANNED: Final = PlannedActions()


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedQueue:
    """A queue, and what became of its pods."""

    queue: SchedulingQueue  #: The queue.
    settings: SimulationSettings  #: How they were scheduled.
    simulation: Simulation  #: What became of them; the first time, if there were several.
    #: What became of them every time; None if they were to be scheduled once.
    distribution: Distribution | None = None
    #: What happened to the cluster before, the first time; None without actions.
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
        """The most pods that stayed pending any time, with those that actions displaced the first time."""
        ends = self.distribution.pending if self.distribution is not None else ()
        displaced = sum(entry.outcome is PodOutcome.PENDING for entry in self.displaced)
        return max(ends, default=self.simulation.pending) + displaced

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
        pending = self.simulation.pending + (0 if self.what_if is None else stuck)
        bound = len(self.simulation.steps) - self.simulation.pending
        return ReplicaEnds(running=before + bound, pending=pending)

    @property
    def displaced(self) -> tuple[DisplacedPod, ...]:
        """The pods that lost their node the first time, by actions and for others."""
        by_actions = () if self.what_if is None else self.what_if.recovery.displaced
        return (*by_actions, *self.simulation.evicted)

    @property
    def steps(self) -> list[SchedulingAttempt]:
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
        drained = self.what_if is not None and any(e.drain is not None for e in self.what_if.actions)
        usually = NOT_LOOKED_AT if self.simulation.autoscaled is None else NOT_LOOKED_AT_BESIDE
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
    on_step: Callable[[SchedulingAttempt], None] = unnoticed,
    stop: Callable[[], bool] = never,
) -> SimulatedQueue:
    """Schedule the pods of a queue: see ``simulate``.

    Args:
        queue: The queue.
        settings: How they are scheduled.
        planned: What happens to the cluster first, every time; displaced pods are scheduled before the queue.
        choose: Chooses one of several best nodes, by the seed of the settings.
        on_step: Called after each pod.
        stop: Whether to schedule no more pods. What one time was not finished does not count, but the first.

    Raises:
        ActionError: An action names something that the cluster does not have.
    """
    runs = _Runs(queue, settings, planned, choose, on_step, stop)
    first, happened = runs.first()
    return SimulatedQueue(
        queue=queue,
        settings=settings,
        simulation=first,
        distribution=None if settings.runs is None else runs.distribution(first, settings.runs),
        what_if=happened,
    )


@dataclass(frozen=True, slots=True)
class _Runs:
    """Simulations of one queue, each on a copy of the cluster: see ``simulate_queue``."""

    queue: SchedulingQueue
    settings: SimulationSettings
    planned: PlannedActions
    choose: TieBreaker
    on_step: Callable[[SchedulingAttempt], None]
    stop: Callable[[], bool]

    def first(self) -> tuple[Simulation, WhatIf | None]:
        """Return the first one."""
        return self._run(self._begin())

    def distribution(self, simulation: Simulation, runs: int) -> Distribution:
        """Return the ends of so many of them, of which one is the first."""
        tally = DistributionTally()
        tally.add(simulation)
        for _ in range(1, runs):
            if not simulation.complete or self.stop():
                break
            simulation, _ = self._run(self._begin())
            if simulation.complete and not self.stop():
                tally.add(simulation)
        return tally.distribution()

    def _begin(self) -> ClusterSimulation:
        simulation = ClusterSimulation.of(self.queue.cluster, stop=self.stop)
        simulation.choose, simulation.preempts = self.choose, True
        if self.settings.percentage is not None:
            simulation.sampler = NodeSampler(self.settings.percentage)
        return simulation

    def _run(self, simulation: ClusterSimulation) -> tuple[Simulation, WhatIf | None]:
        simulation.on_step = self.on_step
        planned, happened = self.planned, None
        scaling = None if planned.autoscaler is None else Autoscaling(simulation, planned.autoscaler)
        if planned.actions:
            happened = what_if(planned.actions, simulation, self._again(simulation), scaling, planned.where)
        return simulate(self.queue.pods, simulation, self._again(simulation), scaling), happened

    def _again(self, simulation: ClusterSimulation) -> Rescheduling:
        """Return what schedules displaced pods again, with the pods that there are now."""
        facts = PodFacts(simulation.cluster, self.queue.workloads, self.queue.known.running)
        return Rescheduling(simulation, facts, self.queue.context, others=self.planned.others)

"""Whether every replica that must run still can when any one domain of a topology key is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from planning.simulation.actions import apply_events, domains_of
from planning.simulation.autoscaling import Autoscaling
from planning.simulation.cluster_simulation import ClusterSimulation, count_bound, never
from planning.simulation.events import LostDomain, NodeEvent
from planning.simulation.pod_facts import PodFacts
from planning.simulation.recovery import DisplacedPod
from planning.simulation.rescheduling import MadeRequests, Rescheduling
from planning.simulation.survive.deployed_workloads import Deployment
from planning.simulation.survive.loss import (
    Loss,
    LossOptions,
    LossWithNewNodes,
    OtherPods,
    WorkloadLoss,
)
from policies.config.context import AdmissionContext
from policies.manifests.fields import ErrorList
from policies.model.workload import Workload
from policies.pods.pod_objects import PodObjects
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.index import ClusterIndex

#: Replicas beyond those that must run that are tried after a loss: a larger margin is no news.
MOST_MARGIN: Final = 100
#: Losses that are tried although they displace no replica: with as many nodes as Kubernetes supports each
#: takes a good part of a second.
MOST_LOST: Final = 100


class SingleLosses:
    """Loses one domain after the other, each time of the cluster in which every workload runs.

    Attributes:
        deployed: The workloads before a loss, in the order that they were given.
        domains: The names of the nodes of each domain.
        without_key: How many nodes do not have the key.
    """

    def __init__(
        self,
        workloads: Sequence[Workload],
        context: AdmissionContext,
        options: LossOptions,
        running: PodObjects,
        *,
        stop: Callable[[], bool] = never,
        on_step: Callable[[float], None] = lambda _share: None,
    ) -> None:
        """Place the replicas that do not run yet.

        Args:
            workloads: Workloads for which ``why_unjudged`` is empty.
            context: What they are placed by; its cluster must be there and stays as it is.
            options: What is lost.
            running: The objects of the cluster's pods.
            stop: Whether to try no more; called before each pod.
            on_step: Called after each pod of a loss with the share of that loss that is done.

        Raises:
            PlacementError: Kubernetes would refuse a workload or its pods.
        """
        if context.cluster is None:
            raise ValueError("there is no cluster to lose anything of")
        self.options = options
        self._simulation = ClusterSimulation.of(context.cluster, stop=stop)
        self._simulation.preempts = True
        self.cluster = self._simulation.cluster
        self._context = replace(context, cluster=self.cluster)
        self._running = running
        self._stop = stop
        self._on_step = on_step
        self.domains = domains_of(self.cluster, options.key)
        self.without_key = self.cluster.node_count - sum(map(len, self.domains.values()))
        # What replaces pods of other workloads, whatever is lost.
        self._made: MadeRequests = {}
        deployment = Deployment(self._simulation, self._context, options, running)
        self.deployed = deployment.deploy(workloads, self.domains)
        self._own = deployment.own
        self._margins = [MOST_MARGIN] * len(self.deployed)

    def losses(self) -> Iterator[Loss]:
        """Yield the effect of each loss, those of domains with most replicas first, then with most nodes.

        A loss that displaces no replica is survived; it is tried all the same, for what would fit then. There
        are no more once it is to stop.
        """
        ordered = sorted(self.domains, key=self._rank)
        for turn, domain in enumerate(ordered):
            if self._stop():
                return
            if self._replicas_in(domain) or turn < MOST_LOST:
                loss = self._lose(domain)
                if self._stop():
                    return  # It was not finished, perhaps.
                yield loss
            else:
                entries = (
                    WorkloadLoss(displaced=0, running=d.running, required=d.required) for d in self.deployed
                )
                yield Loss(domain=domain, nodes=len(self.domains[domain]), workloads=tuple(entries))

    def survives(self, number: int, first: str | None = None) -> bool | None:
        """Return whether one workload survives every loss; None if it was to stop before that was known.

        Each loss ends with the last of the workload's pods, since none after it takes a node from it.

        Args:
            number: Which workload.
            first: The domain to lose first.
        """
        deployed = self.deployed[number]
        if self._stop():
            return None
        if not deployed.runs:
            return False
        # What displaces none of its pods leaves as many as ran before.
        for domain in sorted(
            (domain for domain, pods in deployed.domains.items() if pods),
            key=lambda domain: (domain != first, self._rank(domain)),
        ):
            _, again = self._lost(domain, last_of=number)
            if self._stop():
                return None
            if deployed.running - _pending_of(number, again.displaced) < deployed.required:
                return False
        return True

    def after(self, domain: str) -> ClusterIndex:
        """Return the cluster after a loss, with everything that was scheduled again until it was to stop."""
        return self._lost(domain)[0].cluster

    def _rank(self, domain: str) -> tuple[int, int, str]:
        return -self._replicas_in(domain), -len(self.domains[domain]), domain

    def _replicas_in(self, domain: str) -> int:
        return sum(deployed.domains[domain] for deployed in self.deployed)

    def _lost(self, domain: str, *, last_of: int | None = None) -> tuple[ClusterSimulation, Rescheduling]:
        """Lose a domain, and schedule again what it displaces; no more after the last pod of one workload."""
        simulation, found = self._simulation.fork(), ErrorList()
        prepared = [deployed.prepared for deployed in self.deployed]
        facts = PodFacts(simulation.cluster, prepared, self._running, self._own)
        lost = LostDomain(topology_key=self.options.key, value=domain, unreachable=self.options.unreachable)
        disruption = apply_events([NodeEvent(lose=lost)], simulation, facts, found)
        scheduled = min(len(disruption.evicted), facts.own_count + self.options.others)
        done = count(1)
        left = {
            (pod.namespace, pod.name)
            for pod in disruption.evicted
            if last_of is not None and self._own.get((pod.namespace, pod.name)) == last_of
        }

        def on_step(step: SchedulingAttempt) -> None:
            left.discard((step.namespace, step.name))
            # Those that are evicted for others come besides.
            self._on_step(min(next(done) / scheduled, 1.0))

        def stop() -> bool:
            gone = ((each.pod.namespace, each.pod.name) for each in simulation.preempted)
            left.update(key for key in gone if last_of is not None and self._own.get(key) == last_of)
            return self._stop() or (last_of is not None and not left)

        simulation.on_step = on_step
        simulation.stop = stop
        others, made = self.options.others, self._made
        again = Rescheduling(simulation, facts, self._context, others=others, made=made)
        again.schedule(disruption.evicted)
        return simulation, again

    def _lose(self, domain: str) -> Loss:
        simulation, again = self._lost(domain)
        displaced = again.displaced
        evicted = tuple(pod for pod in displaced if pod.preemptor)
        others = [pod for pod in displaced if pod.workload is None and not pod.preemptor]
        workloads = tuple(
            self._evaluate(number, simulation, displaced) for number in range(len(self.deployed))
        )
        return Loss(
            domain=domain,
            nodes=len(self.domains[domain]),
            workloads=workloads,
            others=OtherPods.of(others),
            evicted=evicted,
            unmodeled=again.unmodeled,
            autoscaled=self._with_nodes(domain, simulation, again),
        )

    def _with_nodes(
        self, domain: str, simulation: ClusterSimulation, again: Rescheduling
    ) -> LossWithNewNodes | None:
        """Return the outcome for pending pods if nodes are added, for which nobody is evicted.

        None where that is not requested, and where none is pending.
        """
        if self.options.autoscaler is None:
            return None
        simulation.preempts = False
        scaling = Autoscaling(simulation, self.options.autoscaler.without(self.options.key, domain))
        scaling.schedule_again(again)
        if scaling.scaled is None:
            return None
        pending = (_pending_of(number, again.displaced) for number in range(len(self.deployed)))
        return LossWithNewNodes(
            running=tuple(d.running - count for d, count in zip(self.deployed, pending, strict=True)),
            pending=len(again.pending),
            scaled=scaling.scaled,
        )

    def _evaluate(
        self, number: int, simulation: ClusterSimulation, displaced: Sequence[DisplacedPod]
    ) -> WorkloadLoss:
        deployed = self.deployed[number]
        steps = _steps_of(number, displaced)
        lost = _pending_of(number, displaced)
        running = deployed.running - lost
        loss = WorkloadLoss(
            displaced=len(steps),
            running=running,
            required=deployed.required,
            # Where the loss displaces none, those fit nowhere that did so before.
            pending=next((step for step in steps if step.node is None), None if lost else deployed.pending),
        )
        if not loss.survives:
            return loss
        # The least of all losses is wanted, so that no more need be tried than fit after those before.
        surplus = running - deployed.required
        most = max(self._margins[number] - surplus, 0)
        request = deployed.prepared.request
        further = ClusterSimulation.of(simulation.cluster, request, stop=self._stop)
        more = count_bound(further.schedule_fitting(request, most))
        self._margins[number] = min(self._margins[number], surplus + more)
        return replace(loss, margin=self._margins[number])


def _steps_of(number: int, displaced: Iterable[DisplacedPod]) -> list[SchedulingAttempt]:
    return [pod.step for pod in displaced if pod.workload == number and pod.step is not None]


def _pending_of(number: int, displaced: Iterable[DisplacedPod]) -> int:
    return sum(step.node is None for step in _steps_of(number, displaced))

"""Whether every replica that must run still can when any one domain of a topology key is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Annotated, Final

from policies.autoscaler.node_autoscaler import NodeAutoscaler
from policies.config.context import AdmissionContext
from policies.manifests.fields import ErrorList, FieldPath
from policies.manifests.wire import INLINE, INTERNAL, Count, SentAs, sent
from policies.model.labels import LabelSelector
from policies.model.replica_number import ReplicaNumber
from policies.model.workload import Workload
from policies.placement.core.actions import LoseDomain, apply_actions, domains_of
from policies.placement.core.autoscaling import Autoscaling
from policies.placement.core.cluster_simulation import ClusterSimulation, count_bound
from policies.placement.core.placement import DAEMON_SET, PreparedPod, prepare
from policies.placement.core.pod_facts import PodFacts
from policies.placement.core.pod_objects import PodObjects
from policies.placement.core.recovery import MOST_OTHERS, DisplacedPod, PodOutcome
from policies.placement.core.replicas import replicas_of, revision_selector
from policies.placement.core.rescheduling import MadeRequests, Rescheduling
from policies.placement.survive.loss import (
    Loss,
    LossWithNewNodes,
    OtherPods,
    PendingMessages,
    WorkloadLoss,
)
from policies.scheduler.binding import Step
from policies.scheduler.index import ClusterIndex

#: Replicas beyond those that must run that are tried after a loss: a larger margin is no news.
MOST_MARGIN: Final = 100
#: Losses that are tried although they displace no replica: with as many nodes as Kubernetes supports each
#: takes a good part of a second.
MOST_LOST: Final = 100

_NOWHERE = FieldPath()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedWorkload:
    """A workload as it runs before anything is lost.

    Attributes:
        prepared: Its next pod.
        wanted: How many replicas it wants.
        required: How many must run.
        used: Pods of the cluster that were taken as they are.
        placed: Replicas that were placed besides, as its controller and the scheduler would.
        pending: The first replica that fits nowhere even before a loss; None if all fit.
        untried: Replicas that were not placed, because the work was ended.
        evicted: How many of its pods were evicted for those of other workloads and fit nowhere then.
        replaced: Pods of other revisions that were left out, as after a rollout.
        domains: Its pods by domain of the key; those on nodes without it are left out.
    """

    prepared: Annotated[PreparedPod, INTERNAL]
    wanted: Annotated[Count, SentAs("replicas")]
    required: Count
    used: Count
    placed: Count
    pending: Annotated[Step | None, INTERNAL]
    replaced: Count
    untried: Annotated[Count, SentAs("notTried")] = 0
    evicted: Annotated[int, INTERNAL] = 0
    domains: Annotated[dict[str, int], INTERNAL] = field(default_factory=dict)

    @property
    @sent
    def workload(self) -> Annotated[Workload, INLINE]:
        """The workload."""
        return self.prepared.workload

    @property
    @sent
    def replicas_from(self) -> ReplicaNumber | None:
        """The source of the number of replicas that it wants."""
        return self.workload.replica_number

    @property
    @sent
    def running(self) -> Count:
        """How many replicas run before a loss."""
        return self.used + self.placed - self.evicted

    @property
    @sent
    def messages(self) -> Annotated[PendingMessages, INLINE]:
        """The scheduler's messages on the first replica that fits nowhere even before a loss."""
        return PendingMessages.of(self.pending)

    @property
    def runs(self) -> bool:
        """Whether as many run as must before anything is lost."""
        return self.running >= self.required

    @property
    def lacks(self) -> bool:
        """Whether fewer run than must, however many more would fit that were not tried."""
        return self.running + self.untried < self.required


@dataclass(frozen=True, slots=True)
class LossOptions:
    """Options: the domains that are lost, and the replicas and pods that count.

    Attributes:
        key: The topology key.
        allowed_missing: How many replicas of each workload may be missing after a loss.
        unreachable: Whether lost nodes stay in the API, as in an outage.
        others: How many pods of other workloads are scheduled again, too.
        autoscaler: What adds nodes for pods that are pending after a loss; None for nothing. No verdict
            counts these nodes.
    """

    key: str
    allowed_missing: int = 0
    unreachable: bool = False
    others: int = MOST_OTHERS
    autoscaler: NodeAutoscaler | None = None


def why_unjudged(workload: Workload) -> str:
    """Return why there is no number of replicas that could survive; empty if there is one."""
    if workload.kind.is_pod:
        return "no controller recreates a Pod" if workload.owner is None else "its controller decides"
    if workload.kind.kind == DAEMON_SET:
        return "it runs one pod on each node, which is lost with it"
    if workload.replicas is None or workload.replicas < 0:
        return "it has no number of replicas"
    return "" if workload.selector is not None else "its pods cannot be distinguished from others"


class Survival:
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
        running: PodObjects | None = None,
        *,
        stop: Callable[[], bool] = lambda: False,
        on_step: Callable[[float], None] = lambda _share: None,
    ) -> None:
        """Place the replicas that do not run yet.

        Args:
            workloads: Workloads for which ``why_unjudged`` is empty.
            context: What they are placed by; its cluster must be there and stays as it is.
            options: What is lost.
            running: The objects of the cluster's pods; None where only the index is known.
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
        # Which workload each pod belongs to: selectors may overlap.
        self._own: dict[tuple[str, str], int] = {}
        deployed = self._replace_evicted([self._deploy(*each) for each in enumerate(workloads)])
        # Of each together, so that no one's pods are looked for among all others.
        domains = self._by_domain(len(deployed))
        self.deployed = tuple(replace(each, domains=of) for each, of in zip(deployed, domains, strict=True))
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

    def _deploy(self, number: int, workload: Workload) -> DeployedWorkload:
        prepared = prepare(workload, self._context)
        own, namespace = workload.selector, workload.namespace
        if own is None or workload.replicas is None:
            raise ValueError("why_unjudged tells why this has no replicas to place")
        everything = self.cluster.count_pods(namespace, own)
        used = self._use(number, prepared, own)
        replaced = everything - self.cluster.count_pods(namespace, own)
        queue = replicas_of(prepared, max(workload.replicas - used, 0), self.cluster)
        steps = tuple(self._simulation.schedule_all(queue))
        self._own |= {(step.namespace, step.name): number for step in steps if step.node is not None}
        return DeployedWorkload(
            prepared=prepared,
            wanted=workload.replicas,
            required=max(workload.replicas - self.options.allowed_missing, 0),
            used=used,
            placed=count_bound(steps),
            pending=next((step for step in steps if step.node is None), None),
            replaced=replaced,
            untried=len(queue) - len(steps),
        )

    def _replace_evicted(self, deployed: list[DeployedWorkload]) -> list[DeployedWorkload]:
        """Schedule again what was evicted for replicas that were placed; return the workloads with that."""
        prepared = [each.prepared for each in deployed]
        facts = PodFacts(self.cluster, prepared, self._running, self._own)
        again = Rescheduling(self._simulation, facts, self._context, others=self.options.others)
        again.replace_preempted()
        for entry in again.displaced:
            if entry.workload is not None and entry.outcome is not PodOutcome.RECOVERED:
                known = deployed[entry.workload]
                deployed[entry.workload] = replace(
                    known, evicted=known.evicted + 1, pending=known.pending or entry.step
                )
        return deployed

    def _use(self, number: int, prepared: PreparedPod, own: LabelSelector) -> int:
        """Remove the pods of a workload that a rollout would replace; return how many are left.

        Those of workloads that were deployed before are not its own, though its selector may select them.
        """
        namespace, of_revision = prepared.workload.namespace, revision_selector(prepared)
        if of_revision is None:
            return 0
        is_new = prepared.revision is not None and prepared.revision.is_new
        kept = set() if is_new else set(self.cluster.selected_names(namespace, of_revision))
        used = 0
        for name in self.cluster.selected_names(namespace, own):
            if (namespace, name) in self._own:
                continue
            if name in kept:
                self._own[namespace, name] = number
                used += 1
            else:
                self._simulation.delete(namespace, name)
        return used

    def _by_domain(self, workloads: int) -> list[dict[str, int]]:
        """Return how many pods of each workload each domain has."""
        counts = [dict.fromkeys(self.domains, 0) for _ in range(workloads)]
        domain_of = {name: domain for domain, names in self.domains.items() for name in names}
        for pod in self.cluster.pods_on(domain_of):
            number = self._own.get((pod.namespace, pod.name))
            if number is not None:
                counts[number][domain_of[pod.node]] += 1
        return counts

    def _rank(self, domain: str) -> tuple[int, int, str]:
        return -self._replicas_in(domain), -len(self.domains[domain]), domain

    def _replicas_in(self, domain: str) -> int:
        return sum(deployed.domains[domain] for deployed in self.deployed)

    def _lost(self, domain: str, *, last_of: int | None = None) -> tuple[ClusterSimulation, Rescheduling]:
        """Lose a domain, and schedule again what it displaces; no more after the last pod of one workload."""
        simulation, found = self._simulation.fork(), ErrorList()
        prepared = [deployed.prepared for deployed in self.deployed]
        facts = PodFacts(simulation.cluster, prepared, self._running, self._own)
        lose = LoseDomain(
            at=_NOWHERE, key=self.options.key, value=domain, unreachable=self.options.unreachable
        )
        disruption = apply_actions([lose], simulation, facts, found)
        scheduled = min(len(disruption.evicted), facts.own_count + self.options.others)
        done = count(1)
        left = {
            (pod.namespace, pod.name)
            for pod in disruption.evicted
            if last_of is not None and self._own.get((pod.namespace, pod.name)) == last_of
        }

        def on_step(step: Step) -> None:
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


def _steps_of(number: int, displaced: Iterable[DisplacedPod]) -> list[Step]:
    return [pod.step for pod in displaced if pod.workload == number and pod.step is not None]


def _pending_of(number: int, displaced: Iterable[DisplacedPod]) -> int:
    return sum(step.node is None for step in _steps_of(number, displaced))

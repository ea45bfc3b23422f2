"""Workloads as they run before anything is lost, with all replicas that their controllers would make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from planning.simulation.cluster_simulation import ClusterSimulation, count_bound
from planning.simulation.pod_facts import PodFacts
from planning.simulation.recovery import PodOutcome
from planning.simulation.replicas import replicas_of, revision_selector
from planning.simulation.rescheduling import Rescheduling
from planning.simulation.survive.loss import LossOptions, PendingMessages
from policies.config.context import AdmissionContext
from policies.manifests.wire import INLINE, INTERNAL, Count, SentAs, sent
from policies.model.labels import LabelSelector
from policies.model.replica_number import ReplicaNumber
from policies.model.workload import Workload
from policies.pods.placement import DAEMON_SET, PreparedPod, prepare
from policies.pods.pod_objects import PodObjects
from policies.scheduler.binding import SchedulingAttempt


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedWorkload:
    """A workload as it runs before anything is lost."""

    prepared: Annotated[PreparedPod, INTERNAL]  #: Its next pod.
    wanted: Annotated[Count, SentAs("replicas")]  #: How many replicas it wants.
    required: Count  #: How many must run.
    used: Count  #: Pods of the cluster that were taken as they are.
    placed: Count  #: Replicas that were placed besides, as its controller and the scheduler would.
    #: The first replica that fits nowhere even before a loss; None if all fit.
    pending: Annotated[SchedulingAttempt | None, INTERNAL]
    replaced: Count  #: Pods of other revisions that were left out, as after a rollout.
    #: Replicas that were not placed, because the work was ended.
    untried: Annotated[Count, SentAs("notTried")] = 0
    #: How many of its pods were evicted for those of other workloads and fit nowhere then.
    evicted: Annotated[int, INTERNAL] = 0
    #: Its pods by domain of the key; those on nodes without it are left out.
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


def why_unjudged(workload: Workload) -> str:
    """Return why there is no number of replicas that could survive; empty if there is one."""
    if workload.kind.is_pod:
        return "no controller recreates a Pod" if workload.owner is None else "its controller decides"
    if workload.kind.kind == DAEMON_SET:
        return "it runs one pod on each node, which is lost with it"
    if workload.replicas is None or workload.replicas < 0:
        return "it has no number of replicas"
    return "" if workload.selector is not None else "its pods cannot be distinguished from others"


class Deployment:
    """Deploys workloads to a cluster, one after another.

    Attributes:
        own: The number of the workload that each of their pods belongs to, by namespace and name: selectors
            may overlap.
    """

    def __init__(
        self,
        simulation: ClusterSimulation,
        context: AdmissionContext,
        options: LossOptions,
        running: PodObjects,
    ) -> None:
        self.own: dict[tuple[str, str], int] = {}
        self._simulation, self._cluster = simulation, simulation.cluster
        self._context, self._options, self._running = context, options, running

    def deploy(
        self, workloads: Sequence[Workload], domains: Mapping[str, Sequence[str]]
    ) -> tuple[DeployedWorkload, ...]:
        """Place the replicas that do not run yet; what is evicted for them is replaced.

        Args:
            workloads: Workloads for which ``why_unjudged`` is empty.
            domains: The names of the nodes of each domain.

        Raises:
            PlacementError: Kubernetes would refuse a workload or its pods.
        """
        deployed = self._replace_evicted([self._deploy(*each) for each in enumerate(workloads)])
        # Of each together, so that no one's pods are looked for among all others.
        counts = self._by_domain(domains, len(deployed))
        return tuple(replace(each, domains=of) for each, of in zip(deployed, counts, strict=True))

    def _deploy(self, number: int, workload: Workload) -> DeployedWorkload:
        prepared = prepare(workload, self._context)
        own, namespace = workload.own_pods, workload.namespace
        if own is None or workload.replicas is None:
            raise ValueError("why_unjudged tells why this has no replicas to place")
        everything = self._cluster.count_pods(namespace, own)
        used = self._use(number, prepared, own)
        replaced = everything - self._cluster.count_pods(namespace, own)
        queue = replicas_of(prepared, max(workload.replicas - used, 0), self._cluster)
        steps = tuple(self._simulation.schedule_all(queue))
        self.own |= {(step.namespace, step.name): number for step in steps if step.node is not None}
        return DeployedWorkload(
            prepared=prepared,
            wanted=workload.replicas,
            required=max(workload.replicas - self._options.allowed_missing, 0),
            used=used,
            placed=count_bound(steps),
            pending=next((step for step in steps if step.node is None), None),
            replaced=replaced,
            untried=len(queue) - len(steps),
        )

    def _replace_evicted(self, deployed: list[DeployedWorkload]) -> list[DeployedWorkload]:
        """Schedule again what was evicted for replicas that were placed; return the workloads with that."""
        prepared = [each.prepared for each in deployed]
        facts = PodFacts(self._cluster, prepared, self._running, self.own)
        again = Rescheduling(self._simulation, facts, self._context, others=self._options.others)
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
        kept = set() if is_new else set(self._cluster.selected_names(namespace, of_revision))
        used = 0
        for name in self._cluster.selected_names(namespace, own):
            if (namespace, name) in self.own:
                continue
            if name in kept:
                self.own[namespace, name] = number
                used += 1
            else:
                self._simulation.delete(namespace, name)
        return used

    def _by_domain(self, domains: Mapping[str, Sequence[str]], workloads: int) -> list[dict[str, int]]:
        """Return how many pods of each workload each domain has."""
        counts = [dict.fromkeys(domains, 0) for _ in range(workloads)]
        domain_of = {name: domain for domain, names in domains.items() for name in names}
        for pod in self._cluster.pods_on(domain_of):
            number = self.own.get((pod.namespace, pod.name))
            if number is not None:
                counts[number][domain_of[pod.node]] += 1
        return counts

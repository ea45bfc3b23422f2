"""Whether every replica that must run still can when any one domain of a topology key is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from policies.config.context import AdmissionContext
from policies.manifests.fields import ErrorList, FieldPath
from policies.model.labels import LabelSelector
from policies.model.workload import Workload
from policies.placement.actions import LoseDomain, apply_actions, domains_of
from policies.placement.loss import Loss, OtherPods, WorkloadLoss
from policies.placement.placement import DAEMON_SET, PreparedPod, prepare
from policies.placement.pod_facts import PodFacts
from policies.placement.pod_objects import PodObjects
from policies.placement.recovery import MOST_OTHERS, PodOutcome, Recovery, recover
from policies.placement.replicas import revision_selector
from policies.placement.simulate import replicas_of
from policies.scheduler.binding import Step, schedule
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
        wanted: How many replicas it asks for.
        required: How many must run.
        used: Pods of the cluster that were taken as they are.
        placed: Replicas that were placed besides, as its controller and the scheduler would.
        pending: The first replica that fits nowhere even before a loss; None if all fit.
        replaced: Pods of other revisions that were left out, as after a rollout.
        domains: Its pods by domain of the key; those on nodes without it are left out.
    """

    prepared: PreparedPod
    wanted: int
    required: int
    used: int
    placed: int
    pending: Step | None
    replaced: int
    domains: dict[str, int] = field(default_factory=dict)

    @property
    def workload(self) -> Workload:
        """The workload."""
        return self.prepared.workload

    @property
    def running(self) -> int:
        """How many replicas run before a loss."""
        return self.used + self.placed

    @property
    def runs(self) -> bool:
        """Whether as many run as must before anything is lost."""
        return self.running >= self.required


@dataclass(frozen=True, slots=True)
class LossOptions:
    """What is lost, and what counts.

    Attributes:
        key: The topology key.
        allowed_missing: How many replicas of each workload may be missing after a loss.
        unreachable: Whether lost nodes stay in the API, as in an outage.
        others: How many pods of other workloads are scheduled again, too.
    """

    key: str
    allowed_missing: int = 0
    unreachable: bool = False
    others: int = MOST_OTHERS


def why_unjudged(workload: Workload) -> str:
    """Return why there is no number of replicas that could survive; empty if there is one."""
    if workload.kind.is_pod:
        return "no controller recreates a Pod" if workload.owner is None else "its controller decides"
    if workload.kind.kind == DAEMON_SET:
        return "it runs one pod on each node, which is lost with it"
    if workload.replicas is None or workload.replicas < 0:
        return "it has no number of replicas"
    return "" if workload.selector is not None else "its pods cannot be told from others"


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
    ) -> None:
        """Place the replicas that do not run yet.

        Args:
            workloads: Workloads for which ``why_unjudged`` is empty.
            context: What they are placed by; its cluster must be there and stays as it is.
            options: What is lost.
            running: The objects of the cluster's pods; None where only the index is known.
            stop: Whether to try no more; asked before each pod.

        Raises:
            PlacementError: Kubernetes would refuse a workload or its pods.
        """
        if context.cluster is None:
            raise ValueError("there is no cluster to lose anything of")
        self.options = options
        self.cluster = context.cluster.fork("")
        self._context = replace(context, cluster=self.cluster)
        self._running = running
        self._stop = stop
        self.domains = domains_of(self.cluster, options.key)
        self.without_key = self.cluster.node_count - sum(map(len, self.domains.values()))
        # Which workload each pod belongs to: selectors may overlap.
        self._own: dict[tuple[str, str], int] = {}
        deployed = [self._deploy(*each) for each in enumerate(workloads)]
        # Of each together, so that no one's pods are looked for among all others.
        domains = self._by_domain(len(deployed))
        self.deployed = tuple(replace(each, domains=of) for each, of in zip(deployed, domains, strict=True))
        self._margins = [MOST_MARGIN] * len(self.deployed)

    def losses(self) -> Iterator[Loss]:
        """Yield what each loss does, those of domains first that have most replicas, then most nodes.

        A loss that displaces no replica is survived; it is tried all the same, for what would fit then. There
        are no more once it is to stop.
        """
        ordered = sorted(self.domains, key=self._rank)
        for turn, domain in enumerate(ordered):
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

    def after(self, domain: str) -> ClusterIndex:
        """Return the cluster after a loss, with everything that was scheduled again."""
        return self._lost(domain)[0]

    def _deploy(self, number: int, workload: Workload) -> DeployedWorkload:
        prepared = prepare(workload, self._context)
        own, namespace = workload.selector, workload.namespace
        if own is None or workload.replicas is None:
            raise ValueError("why_unjudged tells why this has no replicas to place")
        everything = self.cluster.count_pods(namespace, own)
        used = self._use(number, prepared, own)
        replaced = everything - self.cluster.count_pods(namespace, own)
        wanted, placed, pending = workload.replicas, 0, None
        for queued in replicas_of(prepared, max(wanted - used, 0)):
            step = schedule(queued.request, self.cluster, queued.name)
            if step.node is not None:
                placed += 1
                self._own[step.namespace, step.name] = number
            pending = pending or (step if step.node is None else None)
        return DeployedWorkload(
            prepared=prepared,
            wanted=wanted,
            required=max(wanted - self.options.allowed_missing, 0),
            used=used,
            placed=placed,
            pending=pending,
            replaced=replaced,
        )

    def _use(self, number: int, prepared: PreparedPod, own: LabelSelector) -> int:
        """Remove the pods of a workload that a rollout would replace; return how many are left.

        Those of workloads that were deployed before are not its own, though its selector may select them.
        """
        namespace, of_revision = prepared.workload.namespace, revision_selector(prepared)
        table = self.cluster.pods_of(namespace)
        if table is None or of_revision is None:
            return 0
        is_new = prepared.revision is not None and prepared.revision.is_new
        kept = set() if is_new else set(table.names_of(of_revision))
        used = 0
        for name in table.names_of(own):
            if (namespace, name) in self._own:
                continue
            if name in kept:
                self._own[namespace, name] = number
                used += 1
            else:
                self.cluster.remove("v1", "Pod", namespace, name)
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

    def _lost(self, domain: str) -> tuple[ClusterIndex, Recovery]:
        fork, found = self.cluster.fork(""), ErrorList()
        prepared = [deployed.prepared for deployed in self.deployed]
        facts = PodFacts(fork, prepared, self._running, self._own)
        lose = LoseDomain(
            at=_NOWHERE, key=self.options.key, value=domain, unreachable=self.options.unreachable
        )
        disruption = apply_actions([lose], fork, facts, found)
        recovery = recover(
            disruption,
            fork,
            facts,
            prepared,
            self._context,
            others=self.options.others,
        )
        return fork, recovery

    def _lose(self, domain: str) -> Loss:
        fork, recovery = self._lost(domain)
        others = [pod for pod in recovery.displaced if pod.workload is None]
        workloads = tuple(self._judge(number, fork, recovery) for number in range(len(self.deployed)))
        return Loss(
            domain=domain,
            nodes=len(self.domains[domain]),
            workloads=workloads,
            others=OtherPods(
                displaced=len(others),
                pending=sum(pod.outcome is PodOutcome.PENDING for pod in others),
                untried=sum(pod.outcome is PodOutcome.NOT_TRIED for pod in others),
            ),
            unmodeled=recovery.unmodeled,
        )

    def _judge(self, number: int, fork: ClusterIndex, recovery: Recovery) -> WorkloadLoss:
        deployed = self.deployed[number]
        steps = [pod.step for pod in recovery.displaced if pod.workload == number and pod.step is not None]
        lost = sum(step.node is None for step in steps)
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
        more = _fitting(deployed.prepared, fork, max(self._margins[number] - surplus, 0))
        self._margins[number] = min(self._margins[number], surplus + more)
        return replace(loss, margin=self._margins[number])


def _fitting(prepared: PreparedPod, cluster: ClusterIndex, most: int) -> int:
    """Return how many replicas more fit, up to so many; the cluster stays as it is."""
    fork = cluster.fork(prepared.workload.namespace, prepared.request.pod.terms)
    for number, queued in enumerate(replicas_of(prepared, most)):
        if schedule(queued.request, fork, f"/{queued.name}").node is None:
            return number
    return most

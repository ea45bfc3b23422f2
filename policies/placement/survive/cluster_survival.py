"""The effect of disruptions on a whole cluster: each domain in turn is lost, or something else happens."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np

from policies.autoscaler.node_autoscaler import NodeAutoscaler
from policies.config.context import AdmissionContext
from policies.manifests.cached_property import cached_property
from policies.manifests.fields import ErrorList, FieldPath
from policies.model.cluster_kinds import BUDGET
from policies.model.eviction_budget import EvictionBudget
from policies.model.labels import LabelSelector
from policies.model.pod_volumes import LostVolume
from policies.model.workload_ref import WorkloadRef
from policies.placement.core.actions import Action, ChangedNodes, LoseDomain, apply_actions, domains_of
from policies.placement.core.autoscaling import Autoscaling
from policies.placement.core.cluster_simulation import ClusterSimulation
from policies.placement.core.cluster_workloads import ClusterWorkloads
from policies.placement.core.pod_facts import PodFacts
from policies.placement.core.pod_objects import PodObject, PodObjects
from policies.placement.core.recovery import DisplacedPod, PodOutcome
from policies.placement.core.rescheduling import MadeRequests, Rescheduling
from policies.placement.survive.cluster_loss import ClusterLoss, ClusterSurvivalReport, ClusterWithNewNodes
from policies.placement.survive.damage import (
    BudgetNeed,
    ConstraintSkews,
    Damage,
    DomainImpact,
    WorkloadDamage,
)
from policies.scheduler.binding import Step
from policies.scheduler.evaluate import count_spread
from policies.scheduler.index import ClusterIndex, PodOnNode
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.skew import skew

_NOWHERE: Final = FieldPath()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLossOptions:
    """Options: the domains that are lost, and how.

    Attributes:
        key: The topology key; empty where no domain is lost, but something else happens.
        domain: The only domain that is lost; None for each in turn.
        allowed_missing: How many pods of each workload may be missing in the end.
        unreachable: Whether lost nodes stay in the API, as in an outage.
        autoscaler: What adds nodes for pods that are pending after a loss; None for nothing. No damage counts
            these nodes.
    """

    key: str
    domain: str | None = None
    allowed_missing: int = 0
    unreachable: bool = False
    autoscaler: NodeAutoscaler | None = None


class Disrupted(NamedTuple):
    """The effect of actions on all workloads, and where each pod went.

    Attributes:
        loss: The effect.
        displaced: Every pod that lost its node, in the order in which they were scheduled again.
        lost: The names of the nodes that are gone or unreachable.
        added: Those of new nodes.
        changed: New nodes, and those that are otherwise than before.
    """

    loss: ClusterLoss
    displaced: tuple[DisplacedPod, ...]
    lost: tuple[str, ...]
    added: tuple[str, ...]
    changed: tuple[ChangedNodes, ...]


@dataclass(slots=True)
class _Lost:
    """The pods of one workload that lose their node, and what became of them."""

    lost: int = 0
    evicted: int = 0
    outcomes: Counter[PodOutcome] = field(default_factory=Counter)
    message: str = ""
    reasons: dict[str, None] = field(default_factory=dict)
    volumes: list[LostVolume] = field(default_factory=list)
    # A pod of each request.
    pods: dict[bytes, DisplacedPod] = field(default_factory=dict)


class ClusterSurvival:
    """Loses one domain after the other, each time of the cluster as it is.

    Attributes:
        cluster: The cluster.
        domains: The names of the nodes of each domain that is lost.
        without_key: How many nodes do not have the key.
        impacts: What is gone with each of these domains, those with most pods first.
        waiting: How many pods have no node, and are not scheduled.
        on_step: Called after each pod of a loss with the share of that loss that is done.
    """

    def __init__(
        self,
        workloads: ClusterWorkloads,
        context: AdmissionContext,
        options: ClusterLossOptions,
        running: PodObjects,
        *,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Find out whose the pods are, and what is gone with each domain.

        Args:
            workloads: The workloads of the cluster; only those of its namespace are judged.
            context: What pods are prepared by; its cluster must be there and stays as it is.
            options: What is lost; some node must have it.
            running: The objects of the cluster's pods.
            stop: Whether to schedule no more pods; called before each.
        """
        if context.cluster is None:
            raise ValueError("there is no cluster to lose anything of")
        self.cluster = context.cluster
        self.options = options
        self._workloads, self._context, self._running = workloads, context, running
        self._stop = stop
        self.on_step: Callable[[float], None] = lambda _share: None
        domains = domains_of(self.cluster, options.key) if options.key else {}
        self.without_key = self.cluster.node_count - sum(map(len, domains.values())) if options.key else 0
        only = options.domain
        self.domains = domains if only is None else {only: domains[only]}
        self.waiting = len(workloads.pending_pods())
        self._owners: dict[WorkloadRef, WorkloadRef] = {}
        self._before = Counter(
            ref
            for pod in self.cluster.pods_on(self.cluster.nodes.names())
            if not pod.terminating and (ref := self.workload_of(pod)) is not None
        )
        self._budgets = _Budgets(self)
        # What replaces pods, whatever is lost.
        self._made: MadeRequests = {}
        impacts = map(self._impact, self.domains)
        self.impacts = tuple(sorted(impacts, key=lambda each: (-each.pods, -each.nodes, each.domain)))

    def workload_of(self, pod: PodOnNode) -> WorkloadRef | None:
        """Return the workload that replaces a pod elsewhere; None where nothing does."""
        found = self._running.find(pod.namespace, pod.name)
        if found is None or found.owner is None or found.why_final:
            return None
        key = WorkloadRef(pod.namespace, found.owner.kind, found.owner.name)
        owner = self._owners.get(key)
        if owner is None:
            owner = self._owners[key] = self._workloads.controller(key)
        return owner

    @property
    def namespaces(self) -> set[str]:
        """The namespaces in which workloads have pods before a loss."""
        return {ref.namespace for ref in self._before}

    @property
    def judges_any(self) -> bool:
        """Whether a workload has pods that is of the namespace that is looked at."""
        return any(map(self.is_judged, self._before))

    def is_judged(self, ref: WorkloadRef) -> bool:
        """Return whether a workload is of the namespace that is looked at."""
        return self._workloads.namespace in ("", ref.namespace)

    def expected(self, ref: WorkloadRef) -> int:
        """Return how many pods a workload should have: its replicas, or without a number as many as run."""
        return self._replicas.get(ref, self._before[ref])

    @cached_property
    def _replicas(self) -> dict[WorkloadRef, int]:
        """The replicas of each workload that has a number."""
        found: dict[WorkloadRef, int] = {}
        for each in self._workloads.each():
            if each is not None and each.workload.replicas is not None:
                ref = WorkloadRef(each.workload.namespace, each.kind, each.name)
                # Of a Deployment that is not there, the ReplicaSet with most of them.
                found[ref] = max(each.workload.replicas, found.get(ref, 0))
        return found

    def losses(self) -> Iterator[Disrupted]:
        """Yield the effect of each loss; the one in which it was to stop is the last, and not complete."""
        for impact in self.impacts:
            if self._stop():
                return
            yield self._lose(impact)

    def disrupt(self, actions: Sequence[Action], found: ErrorList) -> Disrupted:
        """Let actions happen one after another, and schedule again what they displace.

        Args:
            actions: The actions.
            found: Takes what is wrong with them; such an action changes nothing.
        """
        domain = actions[0].value if len(actions) == 1 and isinstance(actions[0], LoseDomain) else ""
        return self._disrupt(actions, domain, None, found)

    def report(
        self, losses: Sequence[ClusterLoss], *, fail_on: Damage, unread: tuple[str, ...] = (), stopped: bool
    ) -> ClusterSurvivalReport:
        """Return the report on losses.

        Args:
            losses: Those that were tried, or the only one of a disruption.
            fail_on: The least damage that is too much.
            unread: What could not be read of the cluster, a line each.
            stopped: Whether the work was ended.
        """
        return ClusterSurvivalReport(
            key=self.options.key,
            impacts=self.impacts if self.options.key else tuple(loss.impact for loss in losses),
            losses=tuple(losses),
            fail_on=fail_on,
            unreachable=self.options.unreachable,
            allowed_missing=self.options.allowed_missing,
            namespace=self._workloads.namespace,
            nodes=self.cluster.node_count,
            pods=self.cluster.pod_count,
            without_key=self.without_key,
            waiting=self.waiting,
            budgets_known=self.cluster.knows(BUDGET),
            unread=unread,
            version=self._context.kubernetes_version,
            stopped=stopped,
        )

    def _impact(self, domain: str) -> DomainImpact:
        """Return the nodes and pods that are gone with a domain."""
        nodes = self.domains[domain]
        gone = []
        for pod in self.cluster.pods_on(nodes):
            found = self._running.find(pod.namespace, pod.name)
            stays = self.options.unreachable and found is not None and _is_tied(found)
            if not pod.terminating and not stays:
                gone.append(pod)
        return self._impact_of(domain, len(nodes), gone)

    def _impact_of(self, domain: str, nodes: int, gone: Iterable[PodOnNode]) -> DomainImpact:
        """Return the impact of pods that lose their node."""
        workloads, final, pods = set[WorkloadRef](), Counter[str](), 0
        for pod in gone:
            found = self._running.find(pod.namespace, pod.name)
            pods += 1
            ref = self.workload_of(pod)
            if ref is not None and self.is_judged(ref):
                workloads.add(ref)
            if found is not None and found.why_final:
                final[_why_final(found)] += 1
        return DomainImpact(
            domain=domain,
            nodes=nodes,
            pods=pods,
            workloads=len(workloads),
            not_recreated=dict(sorted(final.items())),
        )

    def _lose(self, impact: DomainImpact) -> Disrupted:
        """Lose a domain, and schedule again what that displaces."""
        lose = LoseDomain(
            at=_NOWHERE, key=self.options.key, value=impact.domain, unreachable=self.options.unreachable
        )
        return self._disrupt([lose], impact.domain, impact, ErrorList())

    def _disrupt(
        self, actions: Sequence[Action], domain: str, impact: DomainImpact | None, found: ErrorList
    ) -> Disrupted:
        simulation = ClusterSimulation.of(self.cluster, stop=self._stop)
        simulation.preempts = True
        facts = PodFacts(simulation.cluster, (), self._running, {})
        disruption = apply_actions(actions, simulation, facts, found)
        impact = impact or self._impact_of(domain, len(disruption.lost), disruption.evicted)
        done, most = 0, max(len(disruption.evicted), 1)

        def on_step(_step: Step) -> None:
            nonlocal done
            done += 1
            # Those that are evicted for others come besides.
            self.on_step(min(done / most, 1.0))

        simulation.on_step = on_step
        others = self.cluster.pod_count * most
        again = Rescheduling(simulation, facts, self._context, others=others, made=self._made)
        again.schedule(disruption.evicted)
        loss = self._evaluate(impact, simulation.cluster, again, complete=not self._stop())
        displaced = again.displaced
        return Disrupted(
            replace(loss, autoscaled=self._with_new_nodes(actions, again, simulation)),
            displaced,
            tuple(disruption.lost),
            tuple(disruption.added),
            tuple(disruption.changed),
        )

    def _with_new_nodes(
        self, actions: Sequence[Action], again: Rescheduling, simulation: ClusterSimulation
    ) -> ClusterWithNewNodes | None:
        """Return the outcome for pending pods if nodes are added, none of them in a domain that is lost."""
        autoscaler = self.options.autoscaler
        if autoscaler is None:
            return None
        for action in actions:
            if isinstance(action, LoseDomain):
                autoscaler = autoscaler.without(action.key, action.value)
        simulation.preempts = False
        simulation.on_step = lambda _step: None
        scaling = Autoscaling(simulation, autoscaler)
        scaling.schedule_again(again)
        if scaling.scaled is None:
            return None
        return ClusterWithNewNodes(pending=len(again.pending), scaled=scaling.scaled)

    def _evaluate(
        self, impact: DomainImpact, after: ClusterIndex, again: Rescheduling, *, complete: bool
    ) -> ClusterLoss:
        displaced = again.displaced
        outcomes = Counter(pod.outcome for pod in displaced)
        found = self._by_workload(displaced)
        below = self._budgets.below(found, after) if complete else {}
        damages = (
            self._damage(ref, lost, below.get(ref, ()), self._skews(lost, again, after) if complete else ())
            for ref, lost in found.items()
        )
        whole = (_evaluated(each, self.options.allowed_missing, complete=complete) for each in damages)
        return ClusterLoss(
            impact=impact,
            complete=complete,
            recovered=outcomes[PodOutcome.RECOVERED],
            pending=outcomes[PodOutcome.PENDING],
            untried=outcomes[PodOutcome.NOT_TRIED],
            evicted=sum(bool(pod.preemptor) for pod in displaced),
            workloads=tuple(sorted(whole, key=lambda each: each.rank)),
            unmodeled=again.unmodeled,
        )

    def _by_workload(self, displaced: tuple[DisplacedPod, ...]) -> dict[WorkloadRef, _Lost]:
        """Return the outcome for the pods of each judged workload."""
        found: defaultdict[WorkloadRef, _Lost] = defaultdict(_Lost)
        for entry in displaced:
            ref = self.workload_of(entry.pod)
            if ref is None or not self.is_judged(ref):
                continue
            lost, outcome = found[ref], entry.outcome
            lost.lost += not entry.preemptor
            lost.evicted += bool(entry.preemptor)
            lost.outcomes[outcome] += 1
            if outcome is PodOutcome.PENDING and entry.step is not None:
                lost.message = lost.message or entry.step.message
                lost.volumes += entry.step.lost_volumes
            if entry.why:
                lost.reasons[entry.why] = None
            known = self._running.find(entry.pod.namespace, entry.pod.name)
            if known is not None and entry.step is not None:
                lost.pods.setdefault(known.manifest, entry)
        return found

    def _damage(
        self,
        ref: WorkloadRef,
        lost: _Lost,
        budgets: tuple[BudgetNeed, ...],
        skews: tuple[ConstraintSkews, ...],
    ) -> WorkloadDamage:
        return WorkloadDamage(
            ref=ref,
            before=self._before[ref],
            lost=lost.lost,
            evicted=lost.evicted,
            recovered=lost.outcomes[PodOutcome.RECOVERED],
            pending=lost.outcomes[PodOutcome.PENDING],
            untried=lost.outcomes[PodOutcome.NOT_TRIED],
            budgets=budgets,
            skews=skews,
            message=lost.message,
            reasons=tuple(lost.reasons),
            lost_volumes=tuple(lost.volumes),
        )

    def _skews(self, lost: _Lost, again: Rescheduling, after: ClusterIndex) -> tuple[ConstraintSkews, ...]:
        """Return the constraints of pods that exceed their maxSkew then, and did by less before.

        Not those that the scheduler has built in, which keep no pod away and are exceeded everywhere.
        """
        found: dict[ConstraintSkews, None] = {}
        for entry in lost.pods.values():
            request = again.request_of(entry)
            if request is None or all(each.is_built_in for each in request.constraints):
                continue
            before, then = _skews_now(request, self.cluster), _skews_now(request, after)
            for applied, old, new in zip(request.constraints, before, then, strict=True):
                constraint = applied.constraint
                if applied.is_built_in or new <= max(constraint.max_skew, old):
                    continue
                skews = ConstraintSkews(
                    key=constraint.topology_key,
                    when_unsatisfiable=constraint.when_unsatisfiable,
                    max_skew=constraint.max_skew,
                    before=old,
                    after=new,
                )
                found[skews] = None
        return tuple(found)


class _Selected:
    """The pods that a PodDisruptionBudget selects before a loss: how many must run, and whose they are."""

    def __init__(self, survival: ClusterSurvival, budget: EvictionBudget, selector: LabelSelector) -> None:
        self.name, self.namespace, self.selector = budget.name, budget.namespace, selector
        table = survival.cluster.pods_of(budget.namespace)
        names = [] if table is None else table.names_of(selector)
        pods = (PodOnNode(budget.namespace, name, "", terminating=False) for name in names)
        self.workloads = {ref for pod in pods if (ref := survival.workload_of(pod)) is not None}
        self.before = len(names)
        # A number is what it says, however many there should be.
        is_plain = budget.max_unavailable is None and isinstance(budget.min_available, int)
        self.required = budget.required(0 if is_plain else sum(map(survival.expected, self.workloads)))


class _Budgets:
    """The PodDisruptionBudgets of the cluster; each is looked at when one of its pods is lost."""

    def __init__(self, survival: ClusterSurvival) -> None:
        self._survival = survival
        self._read: defaultdict[str, list[EvictionBudget]] = defaultdict(list)
        for budget in survival.cluster.budgets:
            self._read[budget.namespace].append(budget)
        self._selected: dict[str, list[_Selected]] = {}

    def below(
        self, lost: Mapping[WorkloadRef, _Lost], after: ClusterIndex
    ) -> dict[WorkloadRef, tuple[BudgetNeed, ...]]:
        """Return the budgets that workloads fall below in the end, and did not by as much before."""
        found: dict[WorkloadRef, tuple[BudgetNeed, ...]] = {}
        for namespace in sorted({ref.namespace for ref in lost} & self._read.keys()):
            for budget in self._of(namespace):
                hit = budget.workloads & lost.keys()
                running = after.count_pods(namespace, budget.selector) if hit else 0
                if not hit or running >= min(budget.required, budget.before):
                    continue
                need = BudgetNeed(
                    name=budget.name, required=budget.required, before=budget.before, running=running
                )
                for ref in hit:
                    if lost[ref].outcomes[PodOutcome.RECOVERED] < lost[ref].outcomes.total():
                        found[ref] = (*found.get(ref, ()), need)
        return found

    def _of(self, namespace: str) -> list[_Selected]:
        if namespace not in self._selected:
            self._selected[namespace] = [
                _Selected(self._survival, budget, budget.selector)
                for budget in self._read[namespace]
                if budget.selector is not None
            ]
        return self._selected[namespace]


def _evaluated(found: WorkloadDamage, allowed_missing: int, *, complete: bool) -> WorkloadDamage:
    """Return a workload with its damages; what was not finished is no damage yet."""
    has = {Damage.INTERRUPTED: 0 < found.before == found.lost}
    if complete and not found.untried:
        has |= {
            Damage.DOWN: found.before > 0 == found.running,
            Damage.BELOW_BUDGET: bool(found.budgets),
            Damage.PENDING: found.before - found.running > allowed_missing,
            Damage.SKEWED: bool(found.skews),
        }
    return replace(found, damages=tuple(damage for damage in Damage if has.get(damage)))


def _skews_now(request: SchedulingRequest, cluster: ClusterIndex) -> list[int]:
    counted = count_spread(request, cluster)
    return [
        skew(each.applied, each.domains.matching[np.flatnonzero(each.domains.exists)]) for each in counted
    ]


def _is_tied(pod: PodObject) -> bool:
    return pod.static or pod.of_daemon_set


def _why_final(pod: PodObject) -> str:
    """Return a group of pods that nothing creates anew elsewhere."""
    if pod.static:
        return "static pods"
    return "pods of DaemonSets" if pod.of_daemon_set else "pods without a controller"

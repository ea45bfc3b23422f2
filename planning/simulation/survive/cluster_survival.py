"""The effect of disruptions on a whole cluster: each domain in turn is lost, or something else happens."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from planning.simulation.actions import Disruption, Where, apply_events, by_option, domains_of
from planning.simulation.autoscaling import Autoscaling
from planning.simulation.cluster_simulation import ClusterSimulation, never, unnoticed
from planning.simulation.events import LostDomain, NodeEvent
from planning.simulation.pod_facts import PodFacts
from planning.simulation.recovery import DisplacedPod, PodOutcome
from planning.simulation.rescheduling import MadeRequests, Rescheduling
from planning.simulation.survive.cluster_loss import ClusterLoss, ClusterSurvivalReport, ClusterWithNewNodes
from planning.simulation.survive.damage import (
    BudgetNeed,
    ConstraintSkews,
    Damage,
    DomainImpact,
    WorkloadDamage,
)
from planning.simulation.survive.loss import LossOptions
from planning.simulation.survive.running_workloads import BudgetsBelow, RunningWorkloads
from policies.config.context import AdmissionContext
from policies.manifests.fields import ErrorList
from policies.model.cluster_kinds import BUDGET
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_ref import WorkloadRef
from policies.pods.pod_objects import PodObjects
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.evaluate import count_spread
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.skew import skew


class Disrupted(NamedTuple):
    """The effect of actions on all workloads, and where each pod went."""

    loss: ClusterLoss  #: The effect.
    #: Every pod that lost its node, in the order in which they were scheduled again.
    displaced: tuple[DisplacedPod, ...]
    disruption: Disruption  #: What the actions did to nodes.


class ClusterSurvival:
    """Loses one domain after the other, each time of the cluster as it is.

    Attributes:
        cluster: The cluster.
        domains: The names of the nodes of each domain that is lost.
        without_key: How many nodes do not have the key.
        impacts: What is gone with each of these domains, those with most pods first.
        running: The workloads whose pods run before a loss.
        waiting: How many pods have no node, and are not scheduled.
        on_step: Called after each pod of a loss with the share of that loss that is done.
    """

    def __init__(
        self,
        workloads: ClusterWorkloads,
        context: AdmissionContext,
        options: LossOptions,
        running: PodObjects,
        *,
        stop: Callable[[], bool] = never,
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
        self._workloads, self._context, self._pods = workloads, context, running
        self._stop = stop
        self.on_step: Callable[[float], None] = lambda _share: None
        domains = domains_of(self.cluster, options.key) if options.key else {}
        self.without_key = self.cluster.node_count - sum(map(len, domains.values())) if options.key else 0
        only = options.domain
        self.domains = domains if only is None else {only: domains[only]}
        self.waiting = len(workloads.pending_pods())
        self.running = RunningWorkloads(workloads, self.cluster, running)
        self._budgets = BudgetsBelow(self.cluster, self.running)
        # What replaces pods, whatever is lost.
        self._made: MadeRequests = {}
        impacts = map(self._impact, self.domains)
        self.impacts = tuple(sorted(impacts, key=lambda each: (-each.pods, -each.nodes, each.domain)))

    def losses(self) -> Iterator[Disrupted]:
        """Yield the effect of each loss; the one in which it was to stop is the last, and not complete."""
        for impact in self.impacts:
            if self._stop():
                return
            yield self._lose(impact)

    def disrupt(self, actions: Sequence[NodeEvent], found: ErrorList, where: Where = by_option) -> Disrupted:
        """Let actions happen one after another, and schedule again what they displace.

        Args:
            actions: The actions.
            found: Takes what is wrong with them; such an action changes nothing.
            where: Returns where that is.
        """
        lost = actions[0].lose if len(actions) == 1 else None
        return self._disrupt(actions, "" if lost is None else lost.value, None, found, where)

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
            found = self._pods.find(pod.namespace, pod.name)
            stays = self.options.unreachable and found is not None and found.is_tied
            if not pod.terminating and not stays:
                gone.append(pod)
        return self.running.impact(domain, len(nodes), gone)

    def _lose(self, impact: DomainImpact) -> Disrupted:
        """Lose a domain, and schedule again what that displaces."""
        lost = LostDomain(
            topology_key=self.options.key, value=impact.domain, unreachable=self.options.unreachable
        )
        return self._disrupt([NodeEvent(lose=lost)], impact.domain, impact, ErrorList(), by_option)

    def _disrupt(
        self,
        actions: Sequence[NodeEvent],
        domain: str,
        impact: DomainImpact | None,
        found: ErrorList,
        where: Where,
    ) -> Disrupted:
        simulation = ClusterSimulation.of(self.cluster, stop=self._stop)
        simulation.preempts = True
        facts = PodFacts(simulation.cluster, (), self._pods, {})
        disruption = apply_events(actions, simulation, facts, found, where)
        impact = impact or self.running.impact(domain, len(disruption.lost), disruption.evicted)
        done, most = 0, max(len(disruption.evicted), 1)

        def on_step(_step: SchedulingAttempt) -> None:
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
        loss = replace(loss, autoscaled=self._with_new_nodes(actions, again, simulation))
        return Disrupted(loss, displaced, disruption)

    def _with_new_nodes(
        self, actions: Sequence[NodeEvent], again: Rescheduling, simulation: ClusterSimulation
    ) -> ClusterWithNewNodes | None:
        """Return the outcome for pending pods if nodes are added, none of them in a domain that is lost."""
        autoscaler = self.options.autoscaler
        if autoscaler is None:
            return None
        for action in actions:
            if (lost := action.lose) is not None:
                autoscaler = autoscaler.without(lost.key, lost.value)
        simulation.preempts = False
        simulation.on_step = unnoticed
        scaling = Autoscaling(simulation, autoscaler)
        scaling.schedule_again(again)
        if scaling.scaled is None:
            return None
        return ClusterWithNewNodes(pending=len(again.pending), scaled=scaling.scaled)

    def _evaluate(
        self, impact: DomainImpact, after: ClusterIndex, again: Rescheduling, *, complete: bool
    ) -> ClusterLoss:
        displaced = again.displaced
        outcomes, found = Counter(pod.outcome for pod in displaced), self._by_workload(displaced)
        below = self._budgets.below(found, after) if complete else {}
        damages = (
            self._damage(
                ref,
                pods,
                budgets=below.get(ref, ()),
                skews=self._skews(pods, again, after) if complete else (),
                complete=complete,
            )
            for ref, pods in found.items()
        )
        return ClusterLoss(
            impact=impact,
            complete=complete,
            recovered=outcomes[PodOutcome.RECOVERED],
            pending=outcomes[PodOutcome.PENDING],
            untried=outcomes[PodOutcome.NOT_TRIED],
            evicted=sum(bool(pod.preemptor) for pod in displaced),
            workloads=tuple(sorted(damages, key=lambda each: each.rank)),
            unmodeled=again.unmodeled,
        )

    def _by_workload(self, displaced: Iterable[DisplacedPod]) -> dict[WorkloadRef, list[DisplacedPod]]:
        """Return the displaced pods of each judged workload."""
        found: defaultdict[WorkloadRef, list[DisplacedPod]] = defaultdict(list)
        for entry in displaced:
            ref = self.running.workload_of(entry.pod)
            if ref is not None and self.running.is_judged(ref):
                found[ref].append(entry)
        return found

    def _damage(
        self,
        ref: WorkloadRef,
        displaced: Sequence[DisplacedPod],
        *,
        budgets: tuple[BudgetNeed, ...],
        skews: tuple[ConstraintSkews, ...],
        complete: bool,
    ) -> WorkloadDamage:
        """Return the damage to a workload; what was not finished is no damage yet."""
        outcomes = Counter(pod.outcome for pod in displaced)
        pending = [pod.step for pod in displaced if pod.step is not None and pod.step.node is None]
        evicted = sum(bool(pod.preemptor) for pod in displaced)
        found = WorkloadDamage(
            ref=ref,
            before=self.running.before[ref],
            lost=len(displaced) - evicted,
            evicted=evicted,
            recovered=outcomes[PodOutcome.RECOVERED],
            pending=outcomes[PodOutcome.PENDING],
            untried=outcomes[PodOutcome.NOT_TRIED],
            budgets=budgets,
            skews=skews,
            message=next((step.message for step in pending if step.message), ""),
            reasons=tuple(dict.fromkeys(pod.why for pod in displaced if pod.why)),
            lost_volumes=tuple(chain.from_iterable(step.lost_volumes for step in pending)),
        )
        has = {Damage.INTERRUPTED: 0 < found.before == found.lost}
        if complete and not found.untried:
            has |= {
                Damage.DOWN: found.before > 0 == found.running,
                Damage.BELOW_BUDGET: bool(budgets),
                Damage.PENDING: found.before - found.running > self.options.allowed_missing,
                Damage.SKEWED: bool(skews),
            }
        return replace(found, damages=tuple(damage for damage in Damage if has.get(damage)))

    def _skews(
        self, displaced: Iterable[DisplacedPod], again: Rescheduling, after: ClusterIndex
    ) -> tuple[ConstraintSkews, ...]:
        """Return the constraints of pods that exceed their maxSkew then, and did by less before.

        Not those that the scheduler has built in, which keep no pod away and are exceeded everywhere.
        """
        alike: dict[bytes, DisplacedPod] = {}
        for entry in displaced:
            known = self._pods.find(*entry.key)
            if known is not None and entry.step is not None:
                alike.setdefault(known.manifest, entry)
        found: dict[ConstraintSkews, None] = {}
        for request in filter(None, map(again.request_of, alike.values())):
            if all(each.is_built_in for each in request.constraints):
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


def _skews_now(request: SchedulingRequest, cluster: ClusterIndex) -> list[int]:
    counted = count_spread(request, cluster)
    return [
        skew(each.applied, each.domains.matching[np.flatnonzero(each.domains.exists)]) for each in counted
    ]

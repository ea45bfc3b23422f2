"""How each workload of a cluster is spread now, against what its constraints require."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final

import numpy as np

from policies.config.context import AdmissionContext
from policies.manifests.fields import FieldError
from policies.manifests.findings import Severity
from policies.manifests.wire import INLINE, INTERNAL, Count, SentAs, sent
from policies.model.labels import LabelSelector
from policies.model.topology_keys import HOSTNAME, ZONE
from policies.placement.core.cluster_workloads import ClusterWorkload
from policies.placement.core.placement import PlacementError, PreparedPod, prepare
from policies.scheduler.defaults import NoConstraints
from policies.scheduler.evaluate import evaluate
from policies.scheduler.headroom import Headroom, headroom
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import MISSING
from policies.scheduler.profile import Plugin
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.result import FilterResult, SchedulingResult, ScoreResult
from policies.scheduler.skew import global_minimum


class Risk(StrEnum):
    """A problem of how a workload is spread, worst first."""

    #: The skew of a DoNotSchedule constraint is above maxSkew: something changed after scheduling.
    VIOLATED = "violated"
    #: The same of a constraint that a policy gives to new pods, and that pods which run were not placed by.
    WOULD_VIOLATE = "would-violate"
    #: Pods are pending, and PodTopologySpread refuses nodes for them.
    PENDING = "pending"
    #: Several pods, all in one zone or on one node, and no constraint but the scheduler's built-in defaults.
    ONE_DOMAIN = "one-domain"
    #: The next replica fits no node, and spread is a reason.
    NO_ROOM = "no-room"
    #: A constraint can never refuse or prefer a node.
    NEVER_BINDS = "never-binds"
    #: A ScheduleAnyway constraint has a larger skew than its maxSkew.
    UNEVEN = "uneven"
    #: The object cannot be evaluated: the API server would refuse it today.
    INVALID = "invalid"


#: How bad each risk is.
SEVERITIES: Final[Mapping[Risk, Severity]] = MappingProxyType(
    {
        Risk.VIOLATED: Severity.ERROR,
        Risk.WOULD_VIOLATE: Severity.WARNING,
        Risk.PENDING: Severity.ERROR,
        Risk.ONE_DOMAIN: Severity.WARNING,
        Risk.NO_ROOM: Severity.WARNING,
        Risk.NEVER_BINDS: Severity.WARNING,
        Risk.UNEVEN: Severity.NOTE,
        Risk.INVALID: Severity.WARNING,
    }
)
_ORDER: Final = {risk: position for position, risk in enumerate(Risk)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintSkew:
    """How the pods that a constraint counts are spread now.

    Attributes:
        applied: The constraint.
        domains: How many domains eligible nodes have.
        minimum: Matching pods of the emptiest domain; 0 where there are fewer domains than ``minDomains``.
        most: Matching pods of the fullest domain.
        fullest: That domain; empty without domains.
        counts: Whether its selector can match a pod in this release.
    """

    applied: Annotated[AppliedConstraint, INLINE]
    domains: Count
    minimum: Annotated[Count, SentAs("globalMinimum")]
    most: Count
    fullest: str
    counts: Annotated[bool, INTERNAL]

    @property
    @sent
    def skew(self) -> int:
        """How many more pods the fullest domain has than the minimum."""
        return self.most - self.minimum

    @property
    def excess(self) -> float:
        """The skew as a share of the pods of the fullest domain, by which equal risks are sorted."""
        return self.skew / self.most if self.most else 0.0

    @property
    @sent
    def within(self) -> bool:
        """Whether that is at most ``maxSkew``."""
        return self.skew <= self.applied.constraint.max_skew

    @property
    @sent
    def never_binds(self) -> bool:
        """Whether it can neither refuse a node nor prefer one: it counts nothing, or has one domain."""
        # With one domain the skew is that of the pod itself; minDomains keeps the minimum at 0.
        alone = self.domains == 1 and self.applied.constraint.min_domains <= 1
        return not self.counts or self.misses_all or alone or (self.domains == 0 and not self.applied.is_hard)

    @property
    def misses_all(self) -> bool:
        """Whether its selector matches neither the workload's own pods nor any other on eligible nodes."""
        return self.most == 0 and not self.applied.self_match


@dataclass(frozen=True, slots=True, kw_only=True)
class Concentration:
    """All pods of a workload are in one domain.

    Attributes:
        key: The topology key.
        domain: The domain.
        domains: How many domains the nodes of the cluster have.
    """

    key: Annotated[str, SentAs("topologyKey")]
    domain: str
    domains: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstZone:
    """The zone that has most pods of a workload, which are lost with it.

    Attributes:
        zone: The zone, the first by name of several; empty for a workload without pods in any.
        pods: How many pods it has.
    """

    zone: str
    pods: Count


@dataclass(frozen=True, slots=True)
class SpreadProblem:
    """Something that is wrong with a workload.

    Attributes:
        risk: What.
        constraint: The position of the constraint; None where it is about no single one.
    """

    risk: Risk
    constraint: int | None = None

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return SEVERITIES[self.risk]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadAudit:
    """One workload.

    Attributes:
        namespace: Its namespace.
        api_version: Its apiVersion; empty if unknown.
        kind: Its kind; of a ReplicaSet, its owner's.
        name: Its name.
        uid: Its uid; empty if unknown.
        wanted: How many replicas it wants; None for kinds without a number.
        running: How many of its pods are bound and not being deleted; None where its selector is not known.
        pending: How many of its pods have no node.
        problems: What is wrong, worst first.
        constraints: Of each constraint in force.
        why_none: Why no constraint is in force; None if there is one, or the object is invalid.
        policy: The SpreadPolicy that gives the constraints; None if none does.
        concentration: Where all its pods are, if that is one domain of several and no constraint is in force
            but the scheduler's built-in defaults, which keep no pod away.
        worst_zone: The zone with most of its pods; None where that is not known, or no node has a zone.
        room: How many more replicas fit; None for an invalid object.
        feasible: How many nodes the next replica fits.
        message: The scheduler's sentence where that is none; else empty.
        errors: Why it is invalid.
        unmodeled: What else a scheduler looks at in its pods, which may refuse more nodes.
    """

    namespace: str
    api_version: str = ""
    kind: str
    name: str
    uid: str = ""
    wanted: Annotated[Count | None, SentAs("replicas")]
    running: Count | None
    pending: Count
    problems: Annotated[tuple[SpreadProblem, ...], INTERNAL] = ()
    constraints: tuple[ConstraintSkew, ...] = ()
    why_none: Annotated[NoConstraints | None, SentAs("whyNoConstraints")] = None
    policy: str | None = None
    concentration: Annotated[Concentration | None, SentAs("allIn")] = None
    worst_zone: Annotated[WorstZone | None, SentAs("lostWithWorstZone")] = None
    room: Annotated[Headroom | None, INTERNAL] = None
    feasible: Annotated[Count, SentAs("feasibleNodes")] = 0
    message: str = ""
    errors: tuple[FieldError, ...] = ()
    unmodeled: Annotated[tuple[str, ...], SentAs("notModeled")] = ()

    @property
    def rank(self) -> tuple[int, float, str, str, str]:
        """Sorts by risk: the worst problem, then the share of pods that is in excess, then the name."""
        worst = _ORDER[self.problems[0].risk] if self.problems else len(_ORDER)
        excess = max((skew.excess for skew in self.constraints), default=0.0)
        return worst, -excess, self.namespace, self.kind, self.name


def audit(entry: ClusterWorkload, context: AdmissionContext) -> WorkloadAudit:
    """Evaluate how a workload of the cluster is spread.

    Args:
        entry: The workload, which has a number of replicas.
        context: The cluster, which must be there, and what gives constraints.
    """
    cluster, workload = context.cluster, replace(entry.workload, release=context.release)
    if cluster is None:
        raise ValueError("there is no cluster to audit")
    with cluster.reading():
        selector = workload.selector
        running = None if selector is None else cluster.count_pods(workload.namespace, selector)
        found = WorkloadAudit(
            namespace=workload.namespace,
            kind=entry.kind,
            name=entry.name,
            wanted=workload.replicas,
            running=running,
            pending=max(0, entry.made - running) if entry.made and running is not None else entry.pending,
            api_version=entry.api_version,
            uid=entry.uid,
            worst_zone=None if selector is None else _worst_zone(cluster, workload.namespace, selector),
        )
        try:
            prepared = prepare(workload, context)
        except PlacementError as error:
            return replace(found, problems=(SpreadProblem(Risk.INVALID),), errors=error.errors)
        return _evaluate(found, prepared)


def _evaluate(found: WorkloadAudit, prepared: PreparedPod) -> WorkloadAudit:
    """Return the audit of a workload whose next pod is valid."""
    cluster, selector = prepared.cluster, prepared.workload.selector
    result = evaluate(prepared.request, cluster, scored=False)
    skews = tuple(constraint_skew(each) for each in result.results)
    where = None
    if selector is not None and all(each.applied.is_built_in for each in skews):
        where = _concentration(cluster, found.namespace, selector)
    problems = _problems(
        skews, result, pending=found.pending, where=where, wanted=found.wanted, placed=placed_by(prepared)
    )
    return replace(
        found,
        problems=tuple(sorted(problems, key=lambda problem: _ORDER[problem.risk])),
        constraints=skews,
        why_none=prepared.why_none,
        policy=prepared.policy,
        concentration=where,
        room=headroom(result, cluster),
        feasible=result.feasible_count,
        message=result.message,
        unmodeled=prepared.request.unmodeled,
    )


def placed_by(prepared: PreparedPod) -> bool:
    """Return whether the pods that run were placed by the constraints in force, as far as is known.

    Those that a policy gives to pods are on each of them, and missing where pods were created before it.
    """
    if prepared.policy is None or prepared.pod.template.constraints:
        return True
    workload = prepared.workload
    return workload.selector is None or prepared.cluster.all_spread(workload.namespace, workload.selector)


def skew_problems(skews: Iterable[ConstraintSkew], *, placed: bool) -> list[SpreadProblem]:
    """Return the problems of a workload's constraints that follow from their skew alone, in their order.

    Args:
        skews: Of each constraint in force.
        placed: Whether the pods that run were placed by them.
    """
    violated = Risk.VIOLATED if placed else Risk.WOULD_VIOLATE
    problems = []
    for position, skew in enumerate(skews):
        if skew.never_binds:
            problems.append(SpreadProblem(Risk.NEVER_BINDS, position))
        elif not skew.within:
            problems.append(SpreadProblem(violated if skew.applied.is_hard else Risk.UNEVEN, position))
    return problems


def _problems(
    skews: tuple[ConstraintSkew, ...],
    result: SchedulingResult,
    *,
    pending: int,
    where: Concentration | None,
    wanted: int | None,
    placed: bool,
) -> list[SpreadProblem]:
    problems = skew_problems(skews, placed=placed)
    if where is not None:
        problems.append(SpreadProblem(Risk.ONE_DOMAIN))
    # A workload that keeps no pods makes no next one.
    if not result.feasible_count and wanted != 0 and _refused_by_spread(result):
        problems.append(SpreadProblem(Risk.PENDING if pending else Risk.NO_ROOM))
    return problems


def _refused_by_spread(result: SchedulingResult) -> bool:
    """Return whether spread alone refuses some node."""
    others = np.zeros(len(result.names), np.bool_)
    spread = others
    for rejected in result.rejections:
        if rejected.plugin is Plugin.POD_TOPOLOGY_SPREAD:
            spread = rejected.of_node > 0
        else:
            others |= rejected.of_node > 0
    return bool((spread & ~others).any())


def constraint_skew(result: FilterResult | ScoreResult) -> ConstraintSkew:
    """Return how the pods that a constraint counts are spread.

    Args:
        result: What was counted.
    """
    domains = result.domains
    existing = np.flatnonzero(domains.exists)
    matching = domains.matching[existing]
    fullest = int(existing[np.argmax(matching)]) if len(existing) else None
    return ConstraintSkew(
        applied=result.applied,
        domains=len(existing),
        minimum=global_minimum(result.applied, matching),
        most=0 if fullest is None else int(domains.matching[fullest]),
        fullest="" if fullest is None else domains.values[fullest],
        counts=result.applied.counted is not None,
    )


def _concentration(cluster: ClusterIndex, namespace: str, selector: LabelSelector) -> Concentration | None:
    """Return the only zone, or else the only node, that has all selected pods, if there are others."""
    table, nodes = cluster.pods_of(namespace), cluster.nodes
    if table is None:
        return None
    slots = nodes.order()
    pods = table.count_by_node(selector, slots=nodes.slots)[slots]
    used = np.flatnonzero(pods)
    if pods.sum() < 2:
        return None
    for key in (ZONE, HOSTNAME):
        column = nodes.label(key)
        if column is None:
            continue
        values = column.column.data[slots]
        found = np.unique(values[used])
        domains = len(np.unique(values[values != MISSING]))
        if len(found) == 1 and found[0] != MISSING and domains > 1:
            return Concentration(key=key, domain=column.texts[int(found[0])], domains=domains)
    return None


def _worst_zone(cluster: ClusterIndex, namespace: str, selector: LabelSelector) -> WorstZone | None:
    """Return the zone with most of the selected pods; None if no node has a zone."""
    table, nodes = cluster.pods_of(namespace), cluster.nodes
    slots, column = nodes.order(), nodes.label(ZONE)
    if column is None:
        return None
    values = column.column.data[slots]
    zoned = values != MISSING
    if not zoned.any():
        return None
    if table is None:
        return WorstZone(zone="", pods=0)
    pods = table.count_by_node(selector, slots=nodes.slots)[slots][zoned]
    numbers, of_node = np.unique(values[zoned], return_inverse=True)
    counts = np.bincount(of_node, weights=pods).astype(np.int64)
    most = int(counts.max())
    tied = (column.texts[int(number)] for number in numbers[counts == most])
    return WorstZone(zone=min(tied) if most else "", pods=most)

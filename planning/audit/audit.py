"""How each workload of a cluster is spread now, against what its constraints require."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import numpy as np

from planning.audit.workload_audit import (
    ORDER,
    ConstraintSkew,
    Risk,
    SpreadProblem,
    WorkloadAudit,
)
from planning.simulation.survival import Survival, survivals
from policies.config.context import AdmissionContext
from policies.config.default_constraints import missed_policy
from policies.model.cluster_workloads import ClusterWorkload
from policies.pods.placement import PlacementError, PreparedPod, prepare
from policies.scheduler.evaluate import count_spread, evaluate
from policies.scheduler.headroom import headroom
from policies.scheduler.profile import Plugin
from policies.scheduler.result import FilterResult, SchedulingResult, ScoreResult
from policies.scheduler.skew import global_minimum

#: The risks that are found without a verdict on the next pod, and that of pods which are pending.
_OF_SKEW: Final = frozenset(
    {
        Risk.VIOLATED,
        Risk.WOULD_VIOLATE,
        Risk.PENDING,
        Risk.ONE_DOMAIN,
        Risk.NEVER_BINDS,
        Risk.UNEVEN,
        Risk.INVALID,
    }
)


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
        selector = workload.own_pods
        running = None if selector is None else cluster.count_pods(workload.namespace, selector)
        found = replace(
            _unaudited(entry),
            wanted=workload.replicas,
            running=running,
            pending=max(0, entry.made - running) if entry.made and running is not None else entry.pending,
        )
        try:
            prepared = prepare(workload, context)
        except PlacementError as error:
            return replace(found, problems=(SpreadProblem(Risk.INVALID),), errors=error.errors)
        missed = missed_policy(prepared.workload, lambda: prepared.pod, context)
        return _evaluate(replace(found, missed_policy=missed), prepared)


def workload_skew(entry: ClusterWorkload, context: AdmissionContext) -> WorkloadAudit:
    """Return how a workload of the cluster is spread, in half the time of an audit, to be repeated often.

    Args:
        entry: The workload.
        context: The cluster, which must be there, and what gives constraints.

    Returns:
        An audit without what takes a verdict, but for pods that are pending since some node refuses them for
        their spread alone: how many these are, and the scheduler's sentence on them.
    """
    if entry.pending:
        whole = audit(entry, context)
        waits = any(problem.risk is Risk.PENDING for problem in whole.problems)
        return replace(
            whole,
            pending=entry.pending if waits else 0,
            message=whole.message if waits else "",
            problems=tuple(problem for problem in whole.problems if problem.risk in _OF_SKEW),
        )
    found = _unaudited(entry)
    try:
        prepared = prepare(replace(entry.workload, release=context.release), context)
    except PlacementError:
        return replace(found, problems=(SpreadProblem(Risk.INVALID),))
    results = count_spread(prepared.request, prepared.cluster)
    skews = tuple(constraint_skew(each) for each in results)
    survival = _survival(prepared)
    problems = skew_problems(skews, survival, placed=placed_by(prepared))
    return replace(
        found,
        problems=tuple(problems),
        constraints=skews,
        why_none=prepared.why_none,
        survival=survival,
    )


def _unaudited(entry: ClusterWorkload) -> WorkloadAudit:
    """Return which workload it is, before anything is known of it."""
    return WorkloadAudit(
        namespace=entry.workload.namespace,
        api_version=entry.api_version,
        kind=entry.kind,
        name=entry.name,
        uid=entry.uid,
        wanted=None,
        running=None,
        pending=0,
    )


def _evaluate(found: WorkloadAudit, prepared: PreparedPod) -> WorkloadAudit:
    """Return the audit of a workload whose next pod is valid."""
    result = evaluate(prepared.request, prepared.cluster, filters_only=True)
    skews, survival = tuple(map(constraint_skew, result.results)), _survival(prepared)
    problems = skew_problems(skews, survival, placed=placed_by(prepared))
    # A workload that keeps no pods makes no next one.
    if not result.feasible_count and found.wanted != 0 and _refused_by_spread(result):
        problems.append(SpreadProblem(Risk.PENDING if found.pending else Risk.NO_ROOM))
    if found.missed_policy is not None:
        problems.append(SpreadProblem(Risk.NOT_INJECTED))
    return replace(
        found,
        problems=tuple(sorted(problems, key=lambda problem: ORDER[problem.risk])),
        constraints=skews,
        why_none=prepared.why_none,
        policy=prepared.policy,
        survival=survival,
        room=headroom(result, prepared.cluster),
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
    return workload.own_pods is None or prepared.cluster.all_spread(workload.namespace, workload.own_pods)


def skew_problems(
    skews: Iterable[ConstraintSkew], survival: Iterable[Survival], *, placed: bool
) -> list[SpreadProblem]:
    """Return the problems of a workload that follow from where its pods are: of each constraint, then of all.

    Args:
        skews: Of each constraint in force.
        survival: What is left of it, for each key.
        placed: Whether the pods that run were placed by them.
    """
    violated = Risk.VIOLATED if placed else Risk.WOULD_VIOLATE
    problems = []
    for position, skew in enumerate(skews):
        if skew.never_binds:
            problems.append(SpreadProblem(Risk.NEVER_BINDS, position))
        elif not skew.within:
            problems.append(SpreadProblem(violated if skew.applied.is_hard else Risk.UNEVEN, position))
    if any(each.stops for each in survival):
        problems.append(SpreadProblem(Risk.ONE_DOMAIN))
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


def _survival(prepared: PreparedPod) -> tuple[Survival, ...]:
    """Return what is left of a workload if the fullest domain of a key goes; empty without a selector."""
    cluster, namespace, selector = prepared.cluster, prepared.workload.namespace, prepared.workload.own_pods
    if selector is None:
        return ()
    return survivals(prepared.request, None, cluster.count_by_node(namespace, selector), cluster, cluster)

"""How the pods of one workload are spread, and no more: an audit without what a next replica would meet.

It takes half the time of an audit, so that it can be repeated all the time.
"""

from __future__ import annotations

from dataclasses import replace

from policies.config.context import AdmissionContext
from policies.placement.audit.audit import (
    Risk,
    SpreadProblem,
    WorkloadAudit,
    audit,
    constraint_skew,
    placed_by,
    skew_problems,
)
from policies.placement.core.cluster_workloads import ClusterWorkload
from policies.placement.core.placement import PlacementError, prepare
from policies.scheduler.evaluate import count_spread


def workload_skew(entry: ClusterWorkload, context: AdmissionContext) -> WorkloadAudit:
    """Return how a workload of the cluster is spread, as an audit has it.

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
            problems=tuple(problem for problem in whole.problems if problem.risk in _SHOWN),
        )
    found = WorkloadAudit(
        api_version=entry.api_version,
        kind=entry.kind,
        namespace=entry.workload.namespace,
        name=entry.name,
        uid=entry.uid,
        wanted=None,
        running=None,
        pending=0,
    )
    try:
        prepared = prepare(replace(entry.workload, release=context.release), context)
    except PlacementError:
        return replace(found, problems=(SpreadProblem(Risk.INVALID),))
    results = count_spread(prepared.request, prepared.cluster)
    skews = tuple(constraint_skew(each) for each in results)
    problems = skew_problems(skews, placed=placed_by(prepared))
    return replace(found, problems=tuple(problems), constraints=skews)


#: The risks that are found without a verdict on the next pod, and that of pods which are pending.
_SHOWN = frozenset(
    {Risk.VIOLATED, Risk.WOULD_VIOLATE, Risk.PENDING, Risk.NEVER_BINDS, Risk.UNEVEN, Risk.INVALID}
)

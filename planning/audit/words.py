"""The sentences of audit reports: on all workloads, on each, and on each problem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planning.audit.run import AuditRun
from planning.audit.workload_audit import ConstraintSkew, Risk, SpreadProblem, WorkloadAudit
from planning.simulation.phrases import whose_loss_stops
from policies.manifests.fields import first_of
from policies.manifests.sanitize import one_line
from policies.manifests.words import object_title, plural
from policies.scheduler.request import ConstraintOrigin

_ORIGINS: Final = {
    ConstraintOrigin.POD: "their own",
    ConstraintOrigin.POLICY: "a SpreadPolicy's",
    ConstraintOrigin.SCHEDULER_LIST: "the scheduler's defaultConstraints",
    ConstraintOrigin.SCHEDULER_SYSTEM: "kube-scheduler's built-in defaults",
    None: "none",
}


def summary(run: AuditRun) -> Iterator[str]:
    """Yield the summary of all workloads, a line each."""
    cluster = run.cluster
    numbers = ((run.total, "workload"), (cluster.nodes, "node"), (cluster.pods, "pod"))
    size = ", ".join(plural(count, noun) for count, noun in numbers)
    nothing = "nothing found until then" if run.left else "nothing to report"
    counts = ", ".join(f"{run.problems[risk]:,} {risk}" for risk in Risk if run.problems[risk])
    yield f"{size} (Kubernetes {cluster.version}): {counts or nothing}"
    origins = (f"{name} {run.origins[origin]:,}" for origin, name in _ORIGINS.items() if run.origins[origin])
    yield f"Constraints in force: {', '.join(origins) or 'none'}"


def notes(run: AuditRun) -> Iterator[str]:
    """Yield notes on the parts that a report of all workloads lacks, a line each."""
    if len(run.workloads) < run.total:
        yield f"Only the {len(run.workloads):,} riskiest of {run.total:,} workloads are shown"
    if run.left:
        yield f"Ended early; objects that were not looked at: {run.left:,}"
    if any(found.unmodeled for found in run.workloads):
        yield "Some pods have fields that are not modeled or not known: room is an upper bound for them"
    yield from map(one_line, run.cluster.unread)


def title(found: WorkloadAudit) -> str:
    """Return the title of a workload: kind, namespace and name."""
    return object_title(found.kind, found.namespace, found.name)


def pods(found: WorkloadAudit) -> str:
    """Return how many pods of a workload run, of those that it wants."""
    running = "?" if found.running is None else f"{found.running:,}"
    return running if found.wanted is None else f"{running} of {found.wanted:,}"


def why(problem: SpreadProblem, found: WorkloadAudit) -> str:
    """Return the problem in words, in one line."""
    skew = None if problem.constraint is None else found.constraints[problem.constraint]
    match problem.risk:
        case Risk.VIOLATED | Risk.UNEVEN if skew is not None:
            return skew_text(skew)
        case Risk.WOULD_VIOLATE if skew is not None:
            given = f"SpreadPolicy {one_line(found.policy or '')} gives it to new pods"
            return f"{skew_text(skew)}; {given}, and some pods that run were placed without it"
        case Risk.NEVER_BINDS if skew is not None:
            return f"{_named(skew)}: {_why_inert(skew)}"
        case Risk.PENDING:
            return f"{found.pending:,} pending: {one_line(found.message)}"
        case Risk.NO_ROOM:
            return f"no further replica fits: {one_line(found.message)}"
        case Risk.NOT_INJECTED:
            given = (
                f"SpreadPolicy {one_line(found.missed_policy or '')} gives default constraints to new ones"
            )
            return f"{given}; it was created before that, or while no webhook answered, and has none"
        case Risk.ONE_DOMAIN:
            return f"{whose_loss_stops(found.survival)}{_unprotected(found)}"
        case _:
            return one_line(first_of(found.errors))


def _unprotected(found: WorkloadAudit) -> str:
    """Return why no constraint keeps its pods apart; empty where one is in force that could."""
    if not found.constraints:
        return f"; no constraint is in force: {found.why_none}"
    if all(each.applied.is_built_in for each in found.constraints):
        return "; only kube-scheduler's built-in defaults are in force, which keep no pod away"
    return ""


def room(found: WorkloadAudit) -> str:
    """Return how many more replicas fit, and what keeps further ones out; empty where it is not known."""
    if found.room is None:
        return ""
    text = f"room for {places(found)} more"
    if found.room.constraint is None:
        return text
    constraint = found.constraints[found.room.constraint].applied.constraint
    key = one_line(constraint.topology_key)
    if found.room.domain:
        key = f"{key}={one_line(found.room.domain)}"
    elif constraint.min_domains > 1:
        key = f"minDomains {constraint.min_domains} of {key}"
    return f"{text} (limited by {key})"


def places(found: WorkloadAudit) -> str:
    """Return how many more replicas fit, as a number; empty where it is not known."""
    if found.room is None:
        return ""
    return f"{'at most ' if is_bound(found) and found.room.pods else ''}{found.room.pods:,}"


def is_bound(found: WorkloadAudit) -> bool:
    """Return whether the room for more replicas is an upper bound only."""
    return bool(found.unmodeled) or sum(skew.applied.is_hard for skew in found.constraints) > 1


def skew_text(skew: ConstraintSkew) -> str:
    """Return a constraint with how its pods are spread, in one line."""
    return f"{_named(skew)}: {_counts(skew)}"


def _named(skew: ConstraintSkew) -> str:
    constraint = skew.applied.constraint
    return f"{one_line(constraint.topology_key)} ({constraint.when_unsatisfiable})"


def _counts(skew: ConstraintSkew) -> str:
    limit = skew.applied.constraint.max_skew
    most = f"{one_line(skew.fullest)} has {skew.most:,} matching pods, the minimum is {skew.minimum:,}"
    return f"{most}: skew {skew.skew:,}, maxSkew {limit:,}"


def _why_inert(skew: ConstraintSkew) -> str:
    if not skew.counts:
        return "its labelSelector matches no pod"
    if not skew.domains:
        return "no eligible node has the topology key"
    if skew.misses_all:
        return "its labelSelector matches neither the workload's own pods nor any other pod on eligible nodes"
    return f"all eligible nodes are in one domain, {one_line(skew.fullest)}"

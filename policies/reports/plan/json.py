"""A plan as one JSON object for programs, of the form ``plan.schema.json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, NamedTuple, TypedDict

from policies.manifests.findings import Finding, Severity
from policies.manifests.skipped import Skipped, SkipReason, SourceKind, in_order
from policies.manifests.wire import INLINE, Count, Keywords, dumps
from policies.model.version import KubernetesVersion
from policies.model.workload_ref import WorkloadRef
from policies.placement.plan.placement_plan import PlannedWorkload
from policies.placement.plan.plan_differences import PlanAction
from policies.placement.rollout.courses import Outcome, RolloutStep
from policies.placement.rollout.rollout import Rollout
from policies.reports.lint.json import FindingFields, Line, ToolVersion, finding_fields
from policies.reports.plan.run import PlanRun
from policies.reports.plan.words import not_looked_at
from policies.reports.rollout.words import assumptions, strategy
from policies.reports.simulate.autoscale_text import new_node_lines

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/plan/v1"
#: Steps of the worst course that are listed.
MAX_TRACED: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSummary:
    """The plan in numbers.

    Attributes:
        remove: Workloads that are removed.
        replace: Workloads that must be deleted and created again.
        change: Workloads that are changed.
        add: Workloads that are added.
        unchanged: Workloads that stay as they are; they are not listed.
        pending: Pods that stay pending.
        evicted: Pods of other workloads that are evicted for pods of the workloads.
        evicted_pending: How many of those stay pending.
        new_nodes: Nodes that an autoscaler adds; 0 without one.
        deadlocks: Rollouts that may deadlock.
        new_findings: Lint findings that there were not before.
        gone_findings: Lint findings that are gone.
        raised_findings: Lint findings that there were before, and that are worse now.
        unplanned: Workloads that something is done to, and that were not planned, or not to the end.
        incomplete: Whether a file of PATH cannot be read, or something was skipped that --fail-on-skipped
            does not allow, so that workloads may be missing.
        failed: Whether pods stay pending, evicted ones among them, a rollout may not complete, Kubernetes
            refuses a workload, one that changed was not planned, or a new finding is an error.
    """

    remove: Count
    replace: Count
    change: Count
    add: Count
    unchanged: Count
    pending: Count
    evicted: Count
    evicted_pending: Count
    new_nodes: Count
    deadlocks: Count
    new_findings: Count
    gone_findings: Count
    raised_findings: Count
    unplanned: Count
    incomplete: bool
    failed: bool

    @classmethod
    def of(cls, run: PlanRun) -> PlanSummary:
        """Return the numbers of a plan."""
        plan = run.plan
        return cls(
            **{str(action): plan.count(action) for action in PlanAction},
            unchanged=plan.unchanged,
            pending=plan.pending,
            evicted=len(plan.evicted),
            evicted_pending=plan.evicted_pending,
            new_nodes=plan.new_nodes,
            deadlocks=plan.deadlocks,
            new_findings=len(run.new),
            gone_findings=len(run.gone),
            raised_findings=len(run.raised),
            unplanned=run.unplanned,
            incomplete=run.incomplete,
            failed=run.failed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRollout:
    """A rollout or a scale.

    Attributes:
        kind: Which of the two it is.
        strategy: How pods are replaced; empty for a scale.
        likely: How it ends with the first node and pod by name wherever some are equal.
        worst: How it ends where it ends worst.
        assumptions: What was assumed, a sentence each.
        steps: How many steps lead to the worst end.
        trace: The first of these steps.
    """

    kind: Literal["rollout", "scale"]
    strategy: str
    likely: Outcome
    worst: Outcome
    assumptions: Sequence[str]
    steps: Count
    trace: Sequence[RolloutStep]

    @classmethod
    def of(cls, rollout: Rollout) -> PlannedRollout:
        """Return a rollout with its words."""
        worst = rollout.courses.worst
        return cls(
            kind="scale" if rollout.scaled else "rollout",
            strategy=strategy(rollout),
            likely=rollout.courses.likely.outcome,
            worst=worst.outcome,
            assumptions=list(assumptions(rollout)),
            steps=len(worst.steps),
            trace=worst.steps[:MAX_TRACED],
        )


class StuckPod(NamedTuple):
    """A pod that stays pending.

    Attributes:
        name: Its name.
        message: The scheduler's message.
    """

    name: str
    message: str


class PlanEntry(NamedTuple):
    """A workload that something is done to.

    Attributes:
        workload: The workload.
        rollout: How its controller replaces or deletes pods; null where it does neither, or that is not
            simulated.
        pending: The pods that stay pending.
        new_nodes: Which nodes come for its pods, and why no node comes for others, a sentence each.
    """

    workload: Annotated[PlannedWorkload, INLINE]
    rollout: PlannedRollout | None
    pending: Sequence[StuckPod]
    new_nodes: Sequence[str]


class PlanFinding(FindingFields, TypedDict):
    """A lint finding.

    Attributes:
        object: Kind and name of the object; empty if there is none.
    """

    object: str


class RaisedPlanFinding(PlanFinding, TypedDict):
    """A lint finding that is worse now.

    Attributes:
        severityBefore: How bad it was before.
    """

    severityBefore: Severity


class PlanSkipped(NamedTuple):
    """Something that was not read.

    Attributes:
        kind: What it is.
        file: The file.
        line: The line; null for the whole file.
        object: Kind and name of the object; empty if the whole file is meant.
        reason: Why, for programs.
        message: Why.
        needs: What would have to be downloaded.
    """

    kind: SourceKind
    file: str
    line: Line
    object: str
    reason: SkipReason
    message: str
    needs: Sequence[str]


class UnplannedWorkload(NamedTuple):
    """A workload that could not be planned.

    Attributes:
        workload: Its kind, namespace and name.
        reason: Why: placeholders are not filled in, or the work was ended; several manifests that describe it
            are no longer a reason.
        changed: Whether something is done to it.
    """

    workload: str
    reason: Literal["placeholders", "repeated", "stopped"]
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """The effect of a change of manifests on where pods go.

    Later releases may add fields; within v1 none is renamed or goes away.

    Attributes:
        schema: The form's name and version.
        tool: What wrote the report.
        kubernetes_version: The release of Kubernetes that pods were scheduled as.
        compared_with: What the manifests were compared with: a Git revision, a file or folder, or the
            workloads of the cluster.
        summary: The plan in numbers.
        workloads: The workloads that something is done to, in the order in which it is done: all share the
            room of the cluster, but for those that are alternative.
        new_findings: Lint findings that there were not before, by file and line.
        gone_findings: Lint findings that are gone.
        raised_findings: Lint findings that there were before, and that are worse now.
        skipped_sources: Files, charts and other sources of either set that were not read.
        not_planned: Workloads that could not be planned, those that changed first.
        placed_first: Whether the cluster has no pods, so that those of the manifests that are compared with
            were placed first and count as now.
        not_looked_at: What may change the course of things and is not part of a plan.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA
    tool: ToolVersion
    kubernetes_version: Annotated[KubernetesVersion, Keywords(pattern=r"^\d+\.\d+$(?!\n)")]
    compared_with: str
    summary: PlanSummary
    workloads: Sequence[PlanEntry]
    new_findings: Sequence[PlanFinding]
    gone_findings: Sequence[PlanFinding]
    raised_findings: Sequence[RaisedPlanFinding]
    skipped_sources: Sequence[PlanSkipped]
    not_planned: Sequence[UnplannedWorkload]
    placed_first: bool
    not_looked_at: Sequence[str]


def render(run: PlanRun) -> str:
    """Return the plan as indented JSON."""
    plan = run.plan
    report = PlanReport(
        tool=ToolVersion(version=run.tool_version),
        kubernetes_version=run.kubernetes_version,
        compared_with=run.compared_with,
        summary=PlanSummary.of(run),
        workloads=list(map(_entry, plan.workloads)),
        new_findings=list(map(_finding, run.new_findings)),
        gone_findings=list(map(_finding, run.gone_findings)),
        raised_findings=[
            {**_finding(raised.finding), "severityBefore": raised.was} for raised in run.raised_findings
        ],
        skipped_sources=list(map(_skipped, in_order(run.skipped))),
        not_planned=[
            *(UnplannedWorkload(_title(each.key), "placeholders", each.changed) for each in run.unfinished),
            *(UnplannedWorkload(_title(key), "stopped", changed=True) for key in plan.stopped),
        ],
        placed_first=plan.assumed,
        not_looked_at=not_looked_at(plan),
    )
    return dumps(report, indent=True).decode()


def _entry(workload: PlannedWorkload) -> PlanEntry:
    rollout = workload.pods.rollout
    return PlanEntry(
        workload,
        None if rollout is None else PlannedRollout.of(rollout),
        [StuckPod(step.name, step.message) for step in workload.pending],
        list(new_node_lines(workload.pods.autoscaled)),
    )


def _skipped(entry: Skipped) -> PlanSkipped:
    file, line = entry.location.file, entry.location.line or None
    return PlanSkipped(entry.kind, file, line, entry.title, entry.reason, entry.message, entry.needs)


def _finding(finding: Finding) -> PlanFinding:
    return {**finding_fields(finding), "object": finding.title}


def _title(key: WorkloadRef) -> str:
    return f"{key.kind} {key.namespace}/{key.name}"

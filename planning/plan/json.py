"""A plan as one JSON object for programs, of the form ``plan.schema.json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, NamedTuple, TypedDict

from planning.plan.placement_plan import PlannedWorkload
from planning.plan.plan_differences import PlanAction
from planning.plan.run import PlanRun
from planning.plan.words import not_looked_at
from planning.simulation.rollout.courses import RolloutEnd, RolloutStep
from planning.simulation.rollout.rollout import Rollout
from planning.text.autoscale_text import new_node_lines
from planning.text.rollout_words import assumptions, strategy
from policies.lint.reports.json import FindingFields, Line, ToolVersion, finding_fields
from policies.manifests.findings import Finding, Severity
from policies.manifests.skipped import Skipped, SkipReason, SourceKind, in_order
from policies.manifests.wire import INLINE, Count, Keywords, dumps
from policies.model.version import KubernetesVersion
from policies.model.workload_ref import WorkloadRef

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/plan/v1"
#: Steps of the worst course that are listed.
MAX_TRACED: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSummary:
    """The plan in numbers."""

    remove: Count  #: Workloads that are removed.
    replace: Count  #: Workloads that must be deleted and created again.
    change: Count  #: Workloads that are changed.
    add: Count  #: Workloads that are added.
    unchanged: Count  #: Workloads that stay as they are; they are not listed.
    pending: Count  #: Pods that stay pending.
    evicted: Count  #: Pods of other workloads that are evicted for pods of the workloads.
    evicted_pending: Count  #: How many of those stay pending.
    new_nodes: Count  #: Nodes that an autoscaler adds; 0 without one.
    deadlocks: Count  #: Rollouts that may deadlock.
    new_findings: Count  #: Lint findings that there were not before.
    gone_findings: Count  #: Lint findings that are gone.
    raised_findings: Count  #: Lint findings that there were before, and that are worse now.
    unplanned: Count  #: Workloads that something is done to, and that were not planned, or not to the end.
    #: Whether a file of PATH cannot be read, or something was skipped that --fail-on-skipped does not allow,
    #: so that workloads may be missing.
    incomplete: bool
    #: Whether pods stay pending, evicted ones among them, a rollout may not complete, Kubernetes refuses a
    #: workload, one that changed was not planned, or a new finding is an error.
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
    """A rollout or a scale."""

    kind: Literal["rollout", "scale"]  #: Which of the two it is.
    strategy: str  #: How pods are replaced; empty for a scale.
    likely: RolloutEnd  #: How it ends with the first node and pod by name wherever some are equal.
    worst: RolloutEnd  #: How it ends where it ends worst.
    assumptions: Sequence[str]  #: What was assumed, a sentence each.
    steps: Count  #: How many steps lead to the worst end.
    trace: Sequence[RolloutStep]  #: The first of these steps.

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
    """A pod that stays pending."""

    name: str  #: Its name.
    message: str  #: The scheduler's message.


class PlanEntry(NamedTuple):
    """A workload that something is done to."""

    workload: Annotated[PlannedWorkload, INLINE]  #: The workload.
    #: How its controller replaces or deletes pods; null where it does neither, or that is not simulated.
    rollout: PlannedRollout | None
    pending: Sequence[StuckPod]  #: The pods that stay pending.
    #: Which nodes come for its pods, and why no node comes for others, a sentence each.
    new_nodes: Sequence[str]


class PlanFinding(FindingFields, TypedDict):
    """A lint finding."""

    object: str  #: Kind and name of the object; empty if there is none.


class RaisedPlanFinding(PlanFinding, TypedDict):
    """A lint finding that is worse now."""

    severityBefore: Severity  #: How bad it was before.


class PlanSkipped(NamedTuple):
    """Something that was not read."""

    kind: SourceKind  #: What it is.
    file: str  #: The file.
    line: Line  #: The line; null for the whole file.
    object: str  #: Kind and name of the object; empty if the whole file is meant.
    reason: SkipReason  #: Why, for programs.
    message: str  #: Why.
    needs: Sequence[str]  #: What would have to be downloaded.


class UnplannedWorkload(NamedTuple):
    """A workload that could not be planned."""

    workload: str  #: Its kind, namespace and name.
    #: Why: placeholders are not filled in, or the work was ended; several manifests that describe it are no
    #: longer a reason.
    reason: Literal["placeholders", "repeated", "stopped"]
    changed: bool  #: Whether something is done to it.


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """The effect of a change of manifests on where pods go.

    Later releases may add fields; within v1 none is renamed or goes away.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA  #: The form's name and version.
    tool: ToolVersion  #: What wrote the report.
    #: The release of Kubernetes that pods were scheduled as.
    kubernetes_version: Annotated[KubernetesVersion, Keywords(pattern=r"^\d+\.\d+$(?!\n)")]
    #: What the manifests were compared with: a Git revision, a file or folder, or the workloads of the
    #: cluster.
    compared_with: str
    summary: PlanSummary  #: The plan in numbers.
    #: The workloads that something is done to, in the order in which it is done: all share the room of the
    #: cluster, but for those that are alternative.
    workloads: Sequence[PlanEntry]
    new_findings: Sequence[PlanFinding]  #: Lint findings that there were not before, by file and line.
    gone_findings: Sequence[PlanFinding]  #: Lint findings that are gone.
    #: Lint findings that there were before, and that are worse now.
    raised_findings: Sequence[RaisedPlanFinding]
    #: Files, charts and other sources of either set that were not read.
    skipped_sources: Sequence[PlanSkipped]
    #: Workloads that could not be planned, those that changed first.
    not_planned: Sequence[UnplannedWorkload]
    #: Whether the cluster has no pods, so that those of the manifests that are compared with were placed
    #: first and count as now.
    placed_first: bool
    not_looked_at: Sequence[str]  #: What may change the course of things and is not part of a plan.


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

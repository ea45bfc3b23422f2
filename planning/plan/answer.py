"""A plan as reports are given it, and as one JSON object for programs, of the form ``plan.schema.json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, NamedTuple, TypedDict

from planning.plan.plan import ManifestPlan, PlannedChange, UnfinishedWorkload
from planning.plan.plan_differences import PlanAction
from planning.simulation.outcome import Outcome
from policies.lint.baseline import RaisedFinding
from policies.lint.reports.json import FindingFields, Line, ToolVersion, finding_fields
from policies.lint.reports.run import in_order
from policies.manifests.findings import Finding, Severity
from policies.manifests.skipped import FailOnSkipped, Skipped, SkipReason, SourceKind
from policies.manifests.skipped import in_order as skipped_in_order
from policies.manifests.wire import Count, Keywords, dumps
from policies.model.workload_ref import WorkloadRef

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/plan/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRun:
    """A plan, and the settings of reports."""

    plan: ManifestPlan  #: The plan.
    compared_with: str  #: What the manifests were compared with, as the user named it.
    new: Sequence[Finding] = ()  #: Findings of lint that there were not before.
    gone: Sequence[Finding] = ()  #: Findings that there are no more.
    raised: Sequence[RaisedFinding] = ()  #: Findings that there were before, and that are worse now.
    skipped: Sequence[Skipped] = ()  #: What was not read.
    #: Whether files that cannot be read are among it, which the options do not ignore. Those of the manifests
    #: that are compared with do not count: a change may repair them.
    unreadable: bool = False
    #: Workloads that cannot be placed before another tool has filled in placeholders.
    unfinished: Sequence[UnfinishedWorkload] = ()
    fail_on_skipped: FailOnSkipped = FailOnSkipped.NAMED  #: What of it makes the plan incomplete.
    keeps_others: bool = False  #: Whether workloads that are in no manifest are left alone.
    tool_version: str = ""  #: Evenkeel's own version.

    @property
    def new_findings(self) -> list[Finding]:
        """The new findings in the order in which every report lists them."""
        return in_order(self.new)

    @property
    def gone_findings(self) -> list[Finding]:
        """The findings that are gone, in the same order."""
        return in_order(self.gone)

    @property
    def raised_findings(self) -> list[RaisedFinding]:
        """The findings that are worse now, in the same order."""
        was = {id(raised.finding): raised for raised in self.raised}
        return [was[id(finding)] for finding in in_order([raised.finding for raised in self.raised])]

    @property
    def incomplete(self) -> bool:
        """Whether something was not read without which the plan says too little."""
        return self.unreadable or any(entry.fails(self.fail_on_skipped) for entry in self.skipped)

    @property
    def unplanned(self) -> int:
        """How many workloads something is done to of which the plan does not say what."""
        return len(self.plan.unplanned) + sum(entry.changed for entry in self.unfinished)

    @property
    def failed(self) -> bool:
        """Whether the plan should not be applied as it is, as the exit code shows."""
        errors = (*self.new, *(raised.finding for raised in self.raised))
        is_worse = any(finding.severity is Severity.ERROR for finding in errors)
        return self.plan.verdict.value is not True or bool(self.unplanned) or is_worse

    @property
    def verdict(self) -> bool | None:
        """Whether all workloads were read and planned, and nothing of it is bad; None if not all were."""
        if self.failed or self.incomplete:
            return False
        return None if self.skipped or self.is_empty else True

    @property
    def is_empty(self) -> bool:
        """Whether there is no workload to plan, neither now nor before."""
        return not (self.plan.changes or self.plan.unchanged or self.unfinished)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSummary:
    """The plan in numbers."""

    remove: Count  #: Workloads that are removed.
    replace: Count  #: Workloads that must be deleted and created again.
    change: Count  #: Workloads that are changed.
    add: Count  #: Workloads that are added.
    unchanged: Count  #: Workloads that stay as they are; they are not listed.
    new_findings: Count  #: Lint findings that there were not before.
    gone_findings: Count  #: Lint findings that are gone.
    raised_findings: Count  #: Lint findings that there were before, and that are worse now.
    unplanned: Count  #: Workloads that something is done to, and that were not planned, or not to the end.
    #: Whether a file of PATH cannot be read, or something was skipped that --fail-on-skipped does not allow,
    #: so that workloads may be missing.
    incomplete: bool
    #: Whether a verdict of the outcome, or of the way that ends worst, is not true, a workload that changed
    #: was not planned, or a new finding is an error.
    failed: bool

    @classmethod
    def of(cls, run: PlanRun) -> PlanSummary:
        """Return the numbers of a plan."""
        return cls(
            **{str(action): run.plan.count(action) for action in PlanAction},
            unchanged=run.plan.unchanged,
            new_findings=len(run.new),
            gone_findings=len(run.gone),
            raised_findings=len(run.raised),
            unplanned=run.unplanned,
            incomplete=run.incomplete,
            failed=run.failed,
        )


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
    #: Why: placeholders are not filled in, or the work was ended.
    reason: Literal["placeholders", "stopped"]
    changed: bool  #: Whether something is done to it.


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAnswer:
    """What comes of a change of manifests.

    Later releases may add fields; within v1 none is renamed or goes away.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA  #: The form's name and version.
    tool: ToolVersion  #: What wrote the report.
    #: What the manifests were compared with: a Git revision, a file or folder, or the workloads of the
    #: cluster.
    compared_with: str
    summary: PlanSummary  #: The plan in numbers.
    #: The workloads that something is done to, in the order in which it is done: all share the room of the
    #: cluster, but for those that are alternative.
    changes: tuple[PlannedChange, ...]
    #: What comes of it: of all changes that are done together, as if they were asked of what-if, and of each
    #: build of an object that a cluster has one of.
    outcome: Outcome
    new_findings: Sequence[PlanFinding]  #: Lint findings that there were not before, by file and line.
    gone_findings: Sequence[PlanFinding]  #: Lint findings that are gone.
    #: Lint findings that there were before, and that are worse now.
    raised_findings: Sequence[RaisedPlanFinding]
    #: Files, charts and other sources of either set that were not read.
    skipped_sources: Sequence[PlanSkipped]
    #: Workloads that could not be planned, those that changed first.
    not_planned: Sequence[UnplannedWorkload]
    #: Whether the cluster has no pods, so that those of the manifests that are compared with were placed
    #: first and count as before.
    placed_first: bool

    @classmethod
    def of(cls, run: PlanRun) -> PlanAnswer:
        """Return the answer of a plan."""
        plan = run.plan
        return cls(
            tool=ToolVersion(version=run.tool_version),
            compared_with=run.compared_with,
            summary=PlanSummary.of(run),
            changes=plan.changes,
            outcome=plan.outcome,
            new_findings=list(map(_finding, run.new_findings)),
            gone_findings=list(map(_finding, run.gone_findings)),
            raised_findings=[
                {**_finding(raised.finding), "severityBefore": raised.was} for raised in run.raised_findings
            ],
            skipped_sources=list(map(_skipped, skipped_in_order(run.skipped))),
            not_planned=[
                *(
                    UnplannedWorkload(_title(each.key), "placeholders", each.changed)
                    for each in run.unfinished
                ),
                *(UnplannedWorkload(_title(key), "stopped", changed=True) for key in plan.stopped),
            ],
            placed_first=plan.assumed,
        )


def render(run: PlanRun) -> str:
    """Return the plan as indented JSON."""
    return dumps(PlanAnswer.of(run), indent=True).decode()


def _skipped(entry: Skipped) -> PlanSkipped:
    file, line = entry.location.file, entry.location.line or None
    return PlanSkipped(entry.kind, file, line, entry.title, entry.reason, entry.message, entry.needs)


def _finding(finding: Finding) -> PlanFinding:
    return {**finding_fields(finding), "object": finding.title}


def _title(key: WorkloadRef) -> str:
    return f"{key.kind} {key.namespace}/{key.name}"

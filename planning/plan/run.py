"""A plan as every report is given it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planning.plan.placement_plan import PlacementPlan
from planning.plan.plan import UnfinishedWorkload
from policies.lint.baseline import RaisedFinding
from policies.lint.reports.run import in_order
from policies.manifests.findings import Finding, Severity
from policies.manifests.skipped import FailOnSkipped, Skipped
from policies.model.version import KubernetesVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRun:
    """A plan, and the settings of reports."""

    plan: PlacementPlan  #: The plan.
    compared_with: str  #: What the manifests were compared with, as the user named it.
    kubernetes_version: KubernetesVersion  #: The release.
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
        return self.plan.fails or bool(self.unplanned) or is_worse

    @property
    def verdict(self) -> bool | None:
        """Whether all workloads were read and planned, and nothing of it is bad; None if not all were."""
        if self.failed or self.incomplete:
            return False
        return None if self.skipped or self.is_empty else True

    @property
    def is_empty(self) -> bool:
        """Whether there is no workload to plan, neither now nor before."""
        return not (self.plan.workloads or self.plan.unchanged or self.unfinished)

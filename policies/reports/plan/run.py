"""A plan as every report is given it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policies.lint.baseline import RaisedFinding
from policies.manifests.findings import Finding, Severity
from policies.manifests.skipped import FailOnSkipped, Skipped
from policies.model.version import KubernetesVersion
from policies.placement.plan.placement_plan import PlacementPlan
from policies.placement.plan.plan import UnfinishedWorkload
from policies.reports.lint.run import in_order


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRun:
    """A plan, and the settings of reports.

    Attributes:
        plan: The plan.
        compared_with: What the manifests were compared with, as the user named it.
        kubernetes_version: The release.
        new: Findings of lint that there were not before.
        gone: Findings that there are no more.
        raised: Findings that there were before, and that are worse now.
        skipped: What was not read.
        unreadable: Whether files that cannot be read are among it, which the options do not ignore. Those of
            the manifests that are compared with do not count: a change may repair them.
        unfinished: Workloads that cannot be placed before another tool has filled in placeholders.
        fail_on_skipped: What of it makes the plan incomplete.
        keeps_others: Whether workloads that are in no manifest are left alone.
        tool_version: Evenkeel's own version.
    """

    plan: PlacementPlan
    compared_with: str
    kubernetes_version: KubernetesVersion
    new: Sequence[Finding] = ()
    gone: Sequence[Finding] = ()
    raised: Sequence[RaisedFinding] = ()
    skipped: Sequence[Skipped] = ()
    unreadable: bool = False
    unfinished: Sequence[UnfinishedWorkload] = ()
    fail_on_skipped: FailOnSkipped = FailOnSkipped.NAMED
    keeps_others: bool = False
    tool_version: str = ""

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

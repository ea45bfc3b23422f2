"""An audit as text for a person in a terminal: each workload with its problems, the riskiest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from policies.manifests.findings import Severity
from policies.manifests.sanitize import one_line
from policies.placement.audit import Risk, WorkloadAudit
from policies.reports.audit_run import AuditRun
from policies.reports.audit_wording import room, why
from policies.reports.wording import print_all
from policies.scheduler.request import ConstraintOrigin

_COLORS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_ORIGINS: Final = {
    ConstraintOrigin.POD: "their own",
    ConstraintOrigin.POLICY: "a SpreadPolicy's",
    ConstraintOrigin.SCHEDULER_LIST: "the scheduler's defaultConstraints",
    ConstraintOrigin.SCHEDULER_SYSTEM: "kube-scheduler's built-in defaults",
    None: "none",
}


def render(run: AuditRun, *, width: int, color: bool) -> str:
    """Return what a person reads, no line longer than the width of the terminal."""
    return print_all(_parts(run), width=width, color=color)


def summary(run: AuditRun) -> Iterator[str]:
    """Yield what all workloads come down to, a line each."""
    looked = f"{run.total:,} workloads, {run.nodes:,} nodes, {run.pods:,} pods (Kubernetes {run.version})"
    counts = ", ".join(f"{run.problems[risk]:,} {risk}" for risk in Risk if run.problems[risk])
    yield f"{looked}: {counts or 'nothing to report'}"
    origins = (f"{name} {run.origins[origin]:,}" for origin, name in _ORIGINS.items() if run.origins[origin])
    yield f"Constraints in force: {', '.join(origins) or 'none'}"
    if len(run.workloads) < run.total:
        yield f"{run.total - len(run.workloads):,} more workloads are not shown (--top)"
    if run.left:
        yield f"Ended early; objects that were not looked at: {run.left:,}"
    if any(found.unmodeled for found in run.workloads):
        yield "Some pods ask for what is not modeled, such as volumes: room is an upper bound for them"


def _parts(run: AuditRun) -> Iterator[RenderableType]:
    for found in run.workloads:
        if found.problems:
            yield _title(found)
            for problem in found.problems:
                risk = Text(problem.risk, _COLORS[problem.severity])
                yield Padding(Text.assemble(risk, ": ", why(problem, found)), (0, 0, 0, 2))
            yield ""
    for line in summary(run):
        yield Text(line)


def _title(found: WorkloadAudit) -> Text:
    running = "?" if found.running is None else f"{found.running:,}"
    pods = running if found.wanted is None else f"{running} of {found.wanted:,}"
    parts = [f"{pods} pods", room(found)]
    name = one_line(f"{found.kind} {found.namespace}/{found.name}")
    return Text.assemble((name, "bold"), f": {', '.join(filter(None, parts))}")

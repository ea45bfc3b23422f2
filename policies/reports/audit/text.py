"""An audit as text for a person in a terminal: each workload with its problems, the riskiest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from policies.manifests.findings import Severity
from policies.placement.audit.audit import WorkloadAudit
from policies.reports.audit.run import AuditRun
from policies.reports.audit.words import notes, pods, room, summary, title, why, worst_loss
from policies.reports.words import print_all

_COLORS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def render(run: AuditRun, *, width: int, color: bool) -> str:
    """Return the report as text, no line longer than the width of the terminal."""
    return print_all(_parts(run), width=width, color=color)


def _parts(run: AuditRun) -> Iterator[RenderableType]:
    for found in run.workloads:
        if found.problems:
            yield _title(found)
            for problem in found.problems:
                risk = Text(problem.risk, _COLORS[problem.severity])
                yield Padding(Text.assemble(risk, ": ", why(problem, found)), (0, 0, 0, 2))
            yield ""
    for line in (*summary(run), *notes(run)):
        yield Text(line)


def _title(found: WorkloadAudit) -> Text:
    lost = worst_loss(found)
    parts = [f"{pods(found)} pods", lost and f"lost with the worst zone: {lost}", room(found)]
    return Text.assemble((title(found), "bold"), f": {', '.join(filter(None, parts))}")

"""An audit for people: as text each workload with its problems, as Markdown a row for each problem.

The riskiest come first. Markdown is for the summary of a CI job, a comment or a wiki.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from planning.audit.run import AuditRun
from planning.audit.words import notes, places, pods, room, summary, title, why
from planning.audit.workload_audit import WorkloadAudit
from planning.simulation.survival import Survival
from planning.text.outcome import WARNING, domains_with_pods, key_name
from planning.text.words import domain_name
from policies.manifests.findings import Severity
from policies.manifests.words import listed, more, plural
from policies.reports.markdown import code, text, within
from policies.reports.terminal import indented, plain_table, print_all

_COLORS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_HEADER = "| severity | workload | pods | if it goes | risk | what |\n|---|---|---|---|---|---|\n"


def render(run: AuditRun, *, width: int, color: bool, wide: bool = False) -> str:
    """Return the report as text, as ``print_all`` does; ``wide`` lists workloads without a problem, too."""
    return print_all(_parts(run, wide=wide), width=width, color=color)


def _parts(run: AuditRun, *, wide: bool) -> Iterator[RenderableType]:
    for found in run.workloads:
        if found.problems:
            yield _title(found)
            if losses := _losses(found):
                yield indented(Text(f"if it goes: {losses}"), 2)
            for problem in found.problems:
                risk = Text(problem.risk, _COLORS[problem.severity])
                yield indented(Text.assemble(risk, ": ", why(problem, found)), 2)
            yield ""
    if wide and run.workloads:
        yield _every(run)
        yield ""
    for line in (*summary(run), *notes(run)):
        yield Text(line)


def _every(run: AuditRun) -> Table:
    """Return a line for each workload."""
    table = plain_table("WORKLOAD", "PODS", "IF IT GOES", "SKEW (MAX)", "ROOM", "RISKS")
    for found in run.workloads:
        skews = (f"{each.skew:,} ({each.applied.constraint.max_skew:,})" for each in found.constraints)
        risks = listed(dict.fromkeys(str(problem.risk) for problem in found.problems))
        table.add_row(title(found), pods(found), _losses(found), ", ".join(skews), places(found), risks)
    return table


def _title(found: WorkloadAudit) -> Text:
    parts = filter(None, (f"{pods(found)} pods", room(found)))
    return Text.assemble((title(found), "bold"), f": {', '.join(parts)}")


def _losses(found: WorkloadAudit) -> str:
    """Return what is left of a workload without the fullest domain of each key; empty if not known."""
    return "; ".join(_loss(each, found.wanted) for each in found.survival if each.fullest is not None)


def _loss(each: Survival, wanted: int | None) -> str:
    warning = f" {WARNING}" if each.stops else ""
    left = f"{each.left:,} of {each.running if wanted is None else wanted:,} left{warning}"
    place = f"{key_name(each.topology_key)} {domain_name(each.fullest or '')}"
    return f"{place}, {left} (pods in {domains_with_pods(each)})"


def render_markdown(run: AuditRun) -> str:
    """Return a heading, the rows of the riskiest workloads as far as a comment holds them, and the rest."""
    bad = [found for found in run.workloads if found.problems]
    blocks = ["".join(_rows(found)) for found in bad]
    shown = list(within(blocks))
    parts = [f"### evenkeel audit: {_heading(run)}\n"]
    if shown:
        parts.append(f"{_HEADER}{''.join(shown)}")
    if len(shown) < len(blocks):
        parts.append(f"{more(len(blocks) - len(shown), 'workload')} with problems\n")
    parts += (f"{text(line)}\n" for line in summary(run))
    if lines := [f"- {text(line)}\n" for line in notes(run)]:
        parts.append("".join(lines))
    parts.append(
        f"{text(f'evenkeel {run.cluster.tool_version}')}, {code(run.cluster.time_text)}{_scope(run)}\n"
    )
    return "\n".join(parts)


def _heading(run: AuditRun) -> str:
    workloads = plural(run.total, "workload")
    return (
        f"problems in {run.with_problems:,} of {workloads}"
        if run.with_problems
        else f"{workloads}, no problems"
    )


def _scope(run: AuditRun) -> str:
    cluster = run.cluster
    namespace = f", namespace {code(cluster.namespace)}" if cluster.namespace else ""
    return f"{namespace}, selector {code(cluster.selector)}" if cluster.selector else namespace


def _rows(found: WorkloadAudit) -> Iterator[str]:
    """Yield a row for each problem of a workload."""
    space = ", ".join(filter(None, (pods(found), room(found))))
    for problem in found.problems:
        cells = (
            str(problem.severity),
            code(title(found)),
            text(space),
            text(_losses(found)),
            code(problem.risk),
            text(why(problem, found)),
        )
        yield f"| {' | '.join(cells)} |\n"

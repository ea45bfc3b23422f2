"""A plan for people: as text a block for each workload that something is done to, as Markdown a line each.

Markdown is for a comment on a pull request, with the numbers folded away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from planning.plan.placement_plan import PlannedWorkload
from planning.plan.plan_differences import PlanAction
from planning.plan.run import PlanRun
from planning.plan.words import (
    SIGNS,
    asides,
    builds_text,
    domains_text,
    evicted_lines,
    force_text,
    lost_volume_lines,
    pending_messages,
    pods_text,
    rollout_text,
    severity_text,
    summary,
    title,
    told_domains,
    trace,
    what_differs,
)
from planning.text.autoscale_text import new_node_lines
from planning.text.words import constraint_title
from policies.lint.reports.summary import message
from policies.manifests.findings import Finding, Severity
from policies.manifests.sanitize import one_line
from policies.manifests.words import ON_SCREEN, more, plural
from policies.reports import markdown
from policies.reports.markdown import code, within
from policies.reports.markdown import text as escaped
from policies.reports.terminal import VERDICT_STYLES, indented, print_all, sentence

_STYLES: Final = {
    PlanAction.REMOVE: "red",
    PlanAction.REPLACE: "yellow",
    PlanAction.CHANGE: "yellow",
    PlanAction.ADD: "green",
}


def render(run: PlanRun, *, width: int, color: bool) -> str:
    """Return the plan as lines of a width, with the colors of a terminal or without."""
    return print_all(_parts(run), width=width, color=color)


def _parts(run: PlanRun) -> Iterator[RenderableType]:
    for workload in run.plan.workloads:
        yield from _workload(workload)
        yield ""
    findings = [("+", "red", run.new_findings), ("-", "green", run.gone_findings)]
    if run.new or run.gone or run.raised:
        yield Text("Lint findings", "bold")
        for raised in run.raised_findings:
            yield _finding("!", "red", raised.finding, was=raised.was)
        for sign, style, listed in findings:
            yield from (_finding(sign, style, finding) for finding in listed)
        yield ""
    told = list(asides(run))
    yield from (Text(line, "dim") for line in told)
    if told:
        yield ""
    yield Text(f"Compared with {one_line(run.compared_with)} (Kubernetes {run.kubernetes_version})", "dim")
    yield Text(summary(run), VERDICT_STYLES[run.verdict], no_wrap=True)


def _workload(workload: PlannedWorkload) -> Iterator[RenderableType]:
    head = Text(f"{SIGNS[workload.action]} {title(workload.key)}", f"bold {_STYLES[workload.action]}")
    if builds := builds_text(workload):
        head.append(f" ({builds})", "not bold")
    differs = what_differs(workload)
    yield head.append(f": {differs}", "not bold") if differs else head
    yield indented(Text(pods_text(workload)), 2)
    if rollout := rollout_text(workload):
        yield indented(Text(rollout), 2)
    for step in trace(workload):
        yield indented(Text(step, "red"), 4)
    for line in evicted_lines(workload):
        yield indented(Text(line, "yellow"), 2)
    for error in workload.errors:
        yield indented(Text(one_line(str(error)), "red"), 2)
    for domains in told_domains(workload):
        text = constraint_title(domains.applied, workload.policy)
        if force := force_text(domains):
            text.append(f" ({force})")
        yield indented(text, 2)
        yield indented(Text(domains_text(domains)), 4)
    for count, why in pending_messages(workload):
        yield sentence(f"  {plural(count, 'pod')} pending: {why}")
    for line in chain(new_node_lines(workload.pods.autoscaled), lost_volume_lines(workload)):
        yield indented(Text(line), 2)


def _finding(sign: str, style: str, finding: Finding, *, was: Severity | None = None) -> Text:
    text = Text(f"{sign} {one_line(str(finding.location))}: ", style, no_wrap=True)
    field = f"{one_line(str(finding.path))}: " if finding.path.segments else ""
    text.append(f"{severity_text(finding, was)}: ", "not bold")
    return text.append(f"{field}{one_line(message(finding))} [{one_line(finding.rule)}]", "default")


#: How a comment begins, by which a later one is put in its place.
MARK: Final = "<!-- evenkeel plan -->"


def render_markdown(run: PlanRun) -> str:
    """Return the plan as far as a comment holds it."""
    parts = [f"{MARK}\n### {markdown.SIGNS[run.verdict]} {escaped(summary(run))}\n"]
    parts.append(f"Compared with {code(run.compared_with)}, Kubernetes {run.kubernetes_version}.\n")
    shown = list(within(map(_block, run.plan.workloads)))
    parts += shown
    if len(shown) < len(run.plan.workloads):
        parts.append(f"{more(len(run.plan.workloads) - len(shown), 'workload')}\n")
    parts += _section("New lint findings", [(finding, None) for finding in run.new_findings])
    parts += _section("Lint findings that are worse than before", run.raised_findings)
    parts += _section("Gone lint findings", [(finding, None) for finding in run.gone_findings])
    told = [f"- {escaped(line)}\n" for line in asides(run)]
    if told:
        parts.append(_first(told))
    return "\n".join(parts)


def _block(workload: PlannedWorkload) -> str:
    bad = " ❌" if workload.fails else ""
    differs = what_differs(workload)
    builds = f" ({escaped(builds)})" if (builds := builds_text(workload)) else ""
    head = f"{code(SIGNS[workload.action])} **{escaped(title(workload.key))}**{builds}{bad}"
    lines = [f"{head}: {escaped('; '.join(filter(None, (differs, pods_text(workload)))))}\n"]
    lines += (f"- {escaped(str(error))}\n" for error in workload.errors)
    lines += (
        f"- {plural(count, 'pod')} pending: {escaped(why)}\n" for count, why in pending_messages(workload)
    )
    lines += (f"- {escaped(line)}\n" for line in new_node_lines(workload.pods.autoscaled))
    lines += (f"- {escaped(line)}\n" for line in lost_volume_lines(workload))
    lines += (f"- {escaped(line)}\n" for line in evicted_lines(workload))
    if rollout := rollout_text(workload):
        lines.append(f"- {escaped(rollout)}\n")
    if steps := "".join(f"- {escaped(step)}\n" for step in trace(workload)):
        lines.append(_folded("Trace", steps))
    told = told_domains(workload)
    if not told:
        return "".join(lines)
    rows = []
    for domains in told:
        force = force_text(domains)
        what = constraint_title(domains.applied, workload.policy).plain + (f" ({force})" if force else "")
        rows.append(f"- {escaped(what)}: {escaped(domains_text(domains))}\n")
    return "".join((*lines, _folded("Domains", "".join(rows))))


def _folded(heading: str, rows: str) -> str:
    # Markdown within HTML begins after an empty line.
    return f"\n<details><summary>{heading}</summary>\n\n{rows}\n</details>\n"


def _section(heading: str, findings: Sequence[tuple[Finding, Severity | None]]) -> Iterator[str]:
    if findings:
        rows = [
            f"- {severity_text(finding, was)}: {code(str(finding.location))} {code(finding.rule)}"
            f" {escaped(': '.join(filter(None, (finding.title, str(finding.path), message(finding)))))}\n"
            for finding, was in findings
        ]
        yield f"**{heading}** ({len(findings):,})\n\n{_first(rows)}"


def _first(rows: Sequence[str]) -> str:
    rest = len(rows) - ON_SCREEN
    return "".join(rows[:ON_SCREEN]) + (f"- {more(rest)}\n" if rest > 0 else "")

"""A plan for people: a block for each workload that something is done to, and the plan in one line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from policies.manifests.findings import Finding, Severity
from policies.manifests.sanitize import one_line
from policies.manifests.words import plural
from policies.placement.plan.plan import PlannedWorkload
from policies.placement.plan.plan_differences import PlanAction
from policies.reports.lint.summary import message
from policies.reports.plan.run import PlanRun
from policies.reports.plan.words import (
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
from policies.reports.simulate.autoscale_text import new_node_lines
from policies.reports.words import constraint_title, indented, print_all, sentence

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
    yield Text(summary(run), f"bold {_style(run)}", no_wrap=True)


def _style(run: PlanRun) -> str:
    if run.failed or run.incomplete:
        return "red"
    return "green" if run.is_clean else "yellow"


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

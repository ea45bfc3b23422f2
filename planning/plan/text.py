"""A plan for people: a block for each workload that something is done to, as text and as Markdown.

Markdown is for a comment on a pull request, with the numbers folded away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from planning.plan.answer import PlanRun
from planning.plan.plan import ManifestPlan, PlannedChange
from planning.plan.plan_differences import PlanAction
from planning.simulation.object_differences import Difference
from planning.simulation.outcome import Verdict, WorkloadOutcome
from planning.simulation.rollout.rollout import Rollout
from planning.simulation.rollout.stateful_set_controller import StatefulUpdate
from planning.text.outcome import (
    as_sentence,
    basis_line,
    further_verdicts,
    key_name,
    left_out_line,
    nodes_lines,
    verdict_line,
    ways_of,
    why_lines,
    workload_tables,
)
from planning.text.words import NO_NAME
from policies.lint.reports.summary import message, skipped_groups
from policies.manifests.findings import Finding, Severity
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_SENTENCE, ON_SCREEN, listed, more, plural
from policies.model.workload_ref import WorkloadRef
from policies.reports import markdown
from policies.reports.markdown import block, code, within
from policies.reports.markdown import text as escaped
from policies.reports.terminal import VERDICT_STYLES, indented, print_all, sentence

#: The sign before a workload, as in a diff.
SIGNS: Final = {
    PlanAction.REMOVE: "-",
    PlanAction.REPLACE: "-/+",
    PlanAction.CHANGE: "~",
    PlanAction.ADD: "+",
}
_STYLES: Final = {
    PlanAction.REMOVE: "red",
    PlanAction.REPLACE: "yellow",
    PlanAction.CHANGE: "yellow",
    PlanAction.ADD: "green",
}
#: The words for numbers of workloads in the summary.
_COUNTED: Final = (PlanAction.ADD, PlanAction.CHANGE, PlanAction.REPLACE, PlanAction.REMOVE)
#: How a comment begins, by which a later one is put in its place.
MARK: Final = "<!-- evenkeel plan -->"


def render(run: PlanRun, *, width: int, color: bool) -> str:
    """Return the plan as lines of a width, with the colors of a terminal or without."""
    return print_all(_parts(run), width=width, color=color)


def _parts(run: PlanRun) -> Iterator[RenderableType]:
    plan = run.plan
    if plan.changes:
        yield verdict_line(plan.outcome.verdict)
        yield ""
    for change in plan.changes:
        head = Text(f"{SIGNS[change.action]} {_title(change.ref)}", f"bold {_STYLES[change.action]}")
        head.append(f"{_builds(change)}{_differs(change)}", "not bold")
        yield head
        yield from map(_further_in, (*_said(change, plan.outcome.verdict), *_numbers(change)))
        yield ""
    if besides := list(_besides(plan)):
        yield from besides
        yield ""
    findings = [("+", "red", run.new_findings), ("-", "green", run.gone_findings)]
    if run.new or run.gone or run.raised:
        yield Text("Lint findings", "bold")
        for raised in run.raised_findings:
            yield _finding("!", "red", raised.finding, was=raised.was)
        for sign, style, found in findings:
            yield from (_finding(sign, style, finding) for finding in found)
        yield ""
    if told := list(asides(run)):
        yield from (Text(line, "dim") for line in told)
        yield ""
    yield Text(
        f"Compared with {one_line(run.compared_with)}. {basis_line(plan.outcome, '')}".removesuffix("."),
        "dim",
    )
    yield Text(summary(run), VERDICT_STYLES[run.verdict], no_wrap=True)


def _further_in(part: RenderableType) -> RenderableType:
    # A message of the scheduler's is one line, however long.
    if isinstance(part, Text) and part.no_wrap:
        return Text(f"  {part.plain}", no_wrap=True)
    return indented(part, 2)


def summary(run: PlanRun) -> str:
    """Return the plan in one line."""
    plan = run.plan
    counts = [
        f"{plan.count(action):,} to {action}"
        for action in _COUNTED
        if action is not PlanAction.REPLACE or plan.count(action)
    ]
    parts = [", ".join((*counts, f"{plan.unchanged:,} unchanged"))]
    workloads = _workloads(plan)
    pending = sum(found.pending for found in workloads)
    parts.append(f"{plural(pending, 'pod')} pending")
    wrong = Counter(found.verdict.cause for found in workloads if found.verdict.value is not True)
    if wrong:
        causes = ", ".join(f"{count:,} {cause}" for cause, count in wrong.items())
        parts.append(f"{plural(wrong.total(), 'workload')} not well ({causes})")
    elif plan.verdict.value is not True:
        parts.append("not well with other choices among equal pods and nodes")
    if plan.outcome.nodes.added:
        parts.append(f"{plural(len(plan.outcome.nodes.added), 'node')} added")
    if run.unplanned:
        parts.append(f"{plural(run.unplanned, 'changed workload')} not planned")
    if run.is_empty:
        parts.append("no workload was read, so nothing was planned")
    if run.incomplete:
        parts.append("incomplete, because something was not read")
    if run.new or run.gone:
        parts.append(f"{len(run.new):,} new and {len(run.gone):,} gone lint findings")
    if run.raised:
        parts.append(f"{plural(len(run.raised), 'finding')} worse than before")
    return f"Plan: {'; '.join(parts)}"


def _workloads(plan: ManifestPlan) -> list[WorkloadOutcome]:
    """Return what becomes of every workload, of one with several builds more than once."""
    parts = (plan.outcome, *plan.outcome.outcomes)
    return list(chain.from_iterable(part.workloads for part in parts))


def _title(key: WorkloadRef) -> str:
    return f"{one_line(key.kind)} {one_line(key.namespace)}/{one_line(key.name) or NO_NAME}"


def _builds(change: PlannedChange) -> str:
    """Return which builds are meant of an object that there are several of; empty for one of its own."""
    builds = [one_line(build) for build in change.builds]
    if len(builds) < 2 and change.alternative is None:
        return ""
    if not builds:
        return " (of the cluster)"
    return f" ({listed(builds, 1)} that are identical)" if len(builds) > 1 else f" ({builds[0]})"


def _differs(change: PlannedChange) -> str:
    """Return the differences in a workload and how its pods are replaced; empty without either."""
    words = [
        "constraints of policies or the scheduler"
        if found is Difference.CONSTRAINTS and Difference.TEMPLATE not in change.differences
        else str(found)
        for found in change.differences
    ]
    parts = [", ".join(words)] if words else []
    if change.action is PlanAction.REPLACE:
        parts.append("must be deleted and created again")
    parts += _constraints(change)
    rollout = None if change.found is None else change.found.rollout
    if rollout is not None and (how := _strategy(rollout)):
        parts.append(f"rollout ({how})")
    if change.policy is not None:
        parts.append(f"SpreadPolicy {one_line(change.policy)}")
    return f": {'; '.join(parts)}" if parts else ""


def _constraints(change: PlannedChange) -> Iterator[str]:
    """Yield which constraints are new, changed or gone."""
    for each in change.constraints:
        fields = ", ".join(one_line(f"{field} {was} → {becomes}") for field, was, becomes in each.fields)
        yield f"{key_name(each.topology_key)} {'no longer in force' if each.gone else fields or 'new'}"


def _said(change: PlannedChange, said: Verdict) -> Iterator[RenderableType]:
    """Yield what is said of a workload, without what is said of the whole."""
    for error in change.errors:
        yield Text(one_line(str(error)), "red")
    found = change.found
    if found is None:
        return
    if found.verdict.sentence != said.sentence:
        yield verdict_line(found.verdict)
    yield from further_verdicts(found, said=found.verdict)
    if ways := ways_of(found.branches, [found]):
        yield Text(ways)
    if not any(found.verdict.why in each.sentence for each in found.verdicts):
        yield from why_lines([found])
    if found.verdict.message and not change.errors:
        yield sentence(found.verdict.message)


def _numbers(change: PlannedChange) -> Iterator[RenderableType]:
    # Of what is refused or gone there is nothing to count.
    if change.found is not None and not change.errors and change.action is not PlanAction.REMOVE:
        yield from workload_tables([change.found])


def _besides(plan: ManifestPlan) -> Iterator[RenderableType]:
    """Yield what becomes of workloads that are hit by the changes, and of nodes."""
    changed = {change.ref for change in plan.changes}
    others = [found for found in _workloads(plan) if found.ref not in changed]
    if others:
        yield Text("Other workloads", "bold")
        yield from (verdict_line(found.verdict) for found in others[:IN_SENTENCE])
        yield from workload_tables(others)
    for part in (plan.outcome, *plan.outcome.outcomes):
        yield from nodes_lines(part.nodes)


def _finding(sign: str, style: str, finding: Finding, *, was: Severity | None = None) -> Text:
    text = Text(f"{sign} {one_line(str(finding.location))}: ", style, no_wrap=True)
    field = f"{one_line(str(finding.path))}: " if finding.path.segments else ""
    text.append(f"{_severity(finding, was)}: ", "not bold")
    return text.append(f"{field}{one_line(message(finding))} [{one_line(finding.rule)}]", "default")


def _severity(finding: Finding, was: Severity | None = None) -> str:
    """Return how bad a finding is, and how bad it was if that is less."""
    return str(finding.severity) if was is None else f"{finding.severity} (was {was})"


def asides(run: PlanRun) -> Iterator[str]:
    """Yield the limits of the plan: sources not read, workloads not planned, parts not modeled."""
    plan = run.plan
    if plan.assumed:
        yield (
            "The cluster has no pods: those of the manifests that are compared with were placed first"
            " and count as before."
        )
    if run.keeps_others:
        yield "Workloads of the cluster that no manifest has are left alone."
    for group in skipped_groups(run.skipped):
        yield f"Not read: {group.places}: {one_line(group.message)}"
    if run.skipped:
        yield "Workloads of what was not read may be missing, or seem added or removed."
    if plan.outcome.outcomes:
        yield (
            "Builds of one object that differ, such as overlays for several environments, are planned one by"
            " one, each without the others."
        )
    for changed, what in ((True, "Changed, but not planned"), (False, "Not planned, and not changed")):
        names = [_title(entry.key) for entry in run.unfinished if entry.changed is changed]
        yield from _listed(f"{what}, because placeholders are not filled in", names)
    yield from _listed(
        "Changed, but not planned, because the work was ended", [_title(key) for key in plan.stopped]
    )
    yield from dict.fromkeys(
        filter(None, (left_out_line(part) for part in (plan.outcome, *plan.outcome.outcomes)))
    )
    if plan.verdict.value is not True:
        yield "Every step of a change, and what would help: evenkeel what-if -f FILE -o wide"


def _listed(why: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{why}: {listed(names, IN_SENTENCE)}"


def render_markdown(run: PlanRun) -> str:
    """Return the plan as far as a comment holds it."""
    plan = run.plan
    parts = [f"{MARK}\n### {markdown.SIGNS[run.verdict]} {escaped(summary(run))}\n"]
    if plan.changes:
        parts.append(f"**{escaped(as_sentence(plan.outcome.verdict.sentence))}**\n")
    release = plan.outcome.kubernetes_version
    parts.append(f"Compared with {code(run.compared_with)}, Kubernetes {release}.\n")
    shown = list(within(_block(change, plan.outcome.verdict) for change in plan.changes))
    parts += shown
    if len(shown) < len(plan.changes):
        parts.append(f"{more(len(plan.changes) - len(shown), 'workload')}\n")
    if besides := "".join(map(block, _besides(plan))):
        parts.append(_folded("Besides", besides))
    parts += _section("New lint findings", [(finding, None) for finding in run.new_findings])
    parts += _section(
        "Lint findings that are worse than before",
        [(raised.finding, raised.was) for raised in run.raised_findings],
    )
    parts += _section("Gone lint findings", [(finding, None) for finding in run.gone_findings])
    told = [f"- {escaped(line)}\n" for line in asides(run)]
    if told:
        parts.append(_first(told))
    return "\n".join(parts)


def _block(change: PlannedChange, said: Verdict) -> str:
    """Return a workload as a line, with what is said of it below and its numbers folded in."""
    found = change.found
    value = None if found is None else found.verdict.value
    bad = "" if value else f" {markdown.SIGNS[value]}"
    head = f"{code(SIGNS[change.action])} **{escaped(_title(change.ref))}**{escaped(_builds(change))}{bad}"
    lines = [f"{head}{escaped(_differs(change))}\n\n"]
    lines += (f"- {block(part).strip()}\n" for part in _said(change, said))
    if numbers := "".join(map(block, _numbers(change))):
        lines.append(_folded("Numbers", numbers))
    return "".join(lines)


def _folded(heading: str, rows: str) -> str:
    # Markdown within HTML begins after an empty line.
    return f"\n<details><summary>{heading}</summary>\n{rows}\n</details>\n"


def _section(heading: str, findings: Sequence[tuple[Finding, Severity | None]]) -> Iterator[str]:
    if findings:
        rows = [
            f"- {_severity(finding, was)}: {code(str(finding.location))} {code(finding.rule)}"
            f" {escaped(': '.join(filter(None, (finding.title, str(finding.path), message(finding)))))}\n"
            for finding, was in findings
        ]
        yield f"**{heading}** ({len(findings):,})\n\n{_first(rows)}"


def _first(rows: Sequence[str]) -> str:
    rest = len(rows) - ON_SCREEN
    return "".join(rows[:ON_SCREEN]) + (f"- {more(rest)}\n" if rest > 0 else "")


def _strategy(rollout: Rollout) -> str:
    """Return how the controller replaces pods; empty for a scale."""
    if rollout.scaled:
        return ""
    if rollout.stateful is not None:
        return _stateful(rollout.stateful)
    if rollout.update is None:
        return "Recreate"
    return f"RollingUpdate, maxUnavailable {rollout.update.unavailable}, maxSurge {rollout.update.surge}"


def _stateful(update: StatefulUpdate) -> str:
    if update.on_delete:
        return "OnDelete: only pods that someone deletes are replaced"
    parts = [f"RollingUpdate, {'Parallel' if update.parallel else 'OrderedReady'}"]
    if update.partition:
        parts.append(f"partition {update.partition}")
    if update.unavailable is not None:
        parts.append(f"maxUnavailable {update.unavailable}")
    return ", ".join(parts)

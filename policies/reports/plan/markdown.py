"""A plan as Markdown for a comment on a pull request: a line for each workload, the numbers folded away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from policies.manifests.findings import Finding, Severity
from policies.manifests.words import ON_SCREEN, more, plural
from policies.placement.plan.plan import PlannedWorkload
from policies.reports.lint.markdown import code, text, within
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
from policies.reports.words import constraint_title

#: How a comment begins, by which a later one is put in its place.
MARK: Final = "<!-- evenkeel plan -->"


def render(run: PlanRun) -> str:
    """Return the plan as far as a comment holds it."""
    sign = "❌" if run.failed or run.incomplete else "✅" if run.is_clean else "⚠️"
    parts = [f"{MARK}\n### {sign} {text(summary(run))}\n"]
    parts.append(f"Compared with {code(run.compared_with)}, Kubernetes {run.kubernetes_version}.\n")
    shown = list(within(map(_workload, run.plan.workloads)))
    parts += shown
    if len(shown) < len(run.plan.workloads):
        parts.append(f"{more(len(run.plan.workloads) - len(shown), 'workload')}\n")
    parts += _findings("New lint findings", [(finding, None) for finding in run.new_findings])
    parts += _findings("Lint findings that are worse than before", run.raised_findings)
    parts += _findings("Gone lint findings", [(finding, None) for finding in run.gone_findings])
    told = [f"- {text(line)}\n" for line in asides(run)]
    if told:
        parts.append(_first(told))
    return "\n".join(parts)


def _workload(workload: PlannedWorkload) -> str:
    bad = " ❌" if workload.fails else ""
    differs = what_differs(workload)
    builds = f" ({text(builds)})" if (builds := builds_text(workload)) else ""
    head = f"{code(SIGNS[workload.action])} **{text(title(workload.key))}**{builds}{bad}"
    lines = [f"{head}: {text('; '.join(filter(None, (differs, pods_text(workload)))))}\n"]
    lines += (f"- {text(str(error))}\n" for error in workload.errors)
    lines += (f"- {plural(count, 'pod')} pending: {text(why)}\n" for count, why in pending_messages(workload))
    lines += (f"- {text(line)}\n" for line in new_node_lines(workload.pods.autoscaled))
    lines += (f"- {text(line)}\n" for line in lost_volume_lines(workload))
    lines += (f"- {text(line)}\n" for line in evicted_lines(workload))
    if rollout := rollout_text(workload):
        lines.append(f"- {text(rollout)}\n")
    if steps := "".join(f"- {text(step)}\n" for step in trace(workload)):
        lines.append(_folded("Trace", steps))
    told = told_domains(workload)
    if not told:
        return "".join(lines)
    rows = []
    for domains in told:
        force = force_text(domains)
        what = constraint_title(domains.applied, workload.policy).plain + (f" ({force})" if force else "")
        rows.append(f"- {text(what)}: {text(domains_text(domains))}\n")
    return "".join((*lines, _folded("Domains", "".join(rows))))


def _folded(heading: str, rows: str) -> str:
    # Markdown within HTML begins after an empty line.
    return f"\n<details><summary>{heading}</summary>\n\n{rows}\n</details>\n"


def _findings(heading: str, findings: Sequence[tuple[Finding, Severity | None]]) -> Iterator[str]:
    if findings:
        rows = [
            f"- {severity_text(finding, was)}: {code(str(finding.location))} {code(finding.rule)}"
            f" {text(': '.join(filter(None, (finding.title, str(finding.path), message(finding)))))}\n"
            for finding, was in findings
        ]
        yield f"**{heading}** ({len(findings):,})\n\n{_first(rows)}"


def _first(rows: Sequence[str]) -> str:
    rest = len(rows) - ON_SCREEN
    return "".join(rows[:ON_SCREEN]) + (f"- {more(rest)}\n" if rest > 0 else "")

"""A preview of policies for people: the workloads under each change, the gravest change first."""

from __future__ import annotations

from collections.abc import Iterator

from policies.admission.policy_preview import EffectChange, PreviewedWorkload
from policies.manifests.sanitize import one_line
from policies.manifests.words import more, plural
from policies.reports.policy.preview_run import HEADLINES, PreviewRun


def render(run: PreviewRun) -> str:
    """Return the report."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: PreviewRun) -> Iterator[str]:
    preview = run.preview
    yield f"{_policies(run.policies)} over {plural(preview.total, 'workload')} (Kubernetes {run.version})"
    yield f"In force now: {_names(run.in_force)}"
    for change, headline in HEADLINES.items():
        if preview.counts[change]:
            yield ""
            yield f"{plural(preview.counts[change], 'workload')} {headline}"
            yield from _listed(change, run)
    yield ""
    same = preview.looked_at - len(preview.workloads)
    looked_at = f"looked at {preview.looked_at} of {plural(preview.total, 'workload')}"
    yield f"Nothing changes for {plural(same, 'workload')} ({looked_at})."
    if preview.workloads:
        yield "What runs is not stopped: this happens when a workload or its pods are created again."
    for text in run.unread:
        yield f"Not looked at: {one_line(text)}"


def _listed(change: EffectChange, run: PreviewRun) -> Iterator[str]:
    found = [
        (workload, entry.details)
        for workload in run.preview.workloads
        for entry in workload.changes
        if entry.change is change
    ]
    for workload, details in found[: run.top]:
        yield f"  {title(workload)}: {one_line(', '.join(details))}"
    if len(found) > run.top:
        yield f"  {more(len(found) - run.top)} (--top shows more)"


def title(workload: PreviewedWorkload) -> str:
    """Return which workload is meant."""
    return one_line(f"{workload.kind} {workload.namespace}/{workload.name}")


def _policies(names: tuple[str, ...]) -> str:
    return f"SpreadPolicy {names[0]}" if len(names) == 1 else f"SpreadPolicies {_names(names)}"


def _names(names: tuple[str, ...]) -> str:
    return one_line(", ".join(names)) if names else "none"

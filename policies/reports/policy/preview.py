"""A preview of policies: JSON of the form ``policy_preview.schema.json``, or text, the worst change first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from policies.admission.effect_change import EffectChange
from policies.admission.policy_preview import PolicyPreview, PreviewedWorkload
from policies.manifests.sanitize import one_line
from policies.manifests.wire import Count, Keywords, dumps
from policies.manifests.words import more, object_title, plural
from policies.model.version import KubernetesVersion

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/policy-preview/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPreviewReport:
    """The result of ``evenkeel policy preview``.

    Attributes:
        schema: The form's name; its number changes when a field is renamed, goes away or means something
            else.
        policies: The policies that are previewed.
        in_force: Those in force now.
        kubernetes_version: The release of the cluster.
        total: How many workloads there are.
        looked_at: How many were looked at.
        counts: For how many workloads there is a change, by the change.
        workloads: Every workload for which something changes.
        not_looked_at: What was not looked at, and why.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA
    policies: Sequence[str]
    in_force: Sequence[str]
    kubernetes_version: KubernetesVersion
    total: Count
    looked_at: Count
    counts: Mapping[str, Count]
    workloads: Sequence[PreviewedWorkload]
    not_looked_at: Sequence[str]


def render_json(run: PreviewRun) -> str:
    """Return the preview as indented JSON."""
    preview = run.preview
    report = PolicyPreviewReport(
        policies=run.policies,
        in_force=run.in_force,
        kubernetes_version=run.version,
        total=preview.total,
        looked_at=preview.looked_at,
        counts={change.value: preview.counts[change] for change in EffectChange},
        workloads=preview.workloads,
        not_looked_at=run.unread,
    )
    return dumps(report, indent=True).decode()


#: What people read of each change.
HEADLINES: Final[Mapping[EffectChange, str]] = {
    EffectChange.DENIED: "would be denied",
    EffectChange.WARNED: "would be warned about",
    EffectChange.INJECTED: "would get default constraints",
    EffectChange.INJECTED_DIFFERENTLY: "would get other default constraints",
    EffectChange.NO_LONGER_INJECTED: "would get no default constraints any more",
    EffectChange.NO_LONGER_DENIED: "would no longer be denied",
    EffectChange.NO_LONGER_WARNED: "would no longer be warned about",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewRun:
    """A preview.

    Attributes:
        preview: What it found.
        policies: The names of the policies that are previewed.
        in_force: The names of those in force now.
        version: The release of the cluster.
        unread: What was not looked at, and why.
        top: How many workloads a text lists under each change.
    """

    preview: PolicyPreview
    policies: tuple[str, ...]
    in_force: tuple[str, ...]
    version: KubernetesVersion
    unread: tuple[str, ...]
    top: int


def render_text(run: PreviewRun) -> str:
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
    return object_title(workload.kind, workload.namespace, workload.name)


def _policies(names: tuple[str, ...]) -> str:
    return f"SpreadPolicy {names[0]}" if len(names) == 1 else f"SpreadPolicies {_names(names)}"


def _names(names: tuple[str, ...]) -> str:
    return one_line(", ".join(names)) if names else "none"

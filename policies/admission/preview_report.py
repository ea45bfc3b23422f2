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
    """The result of ``evenkeel policy preview``."""

    #: The form's name; its number changes when a field is renamed, goes away or means something else.
    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA
    policies: Sequence[str]  #: The policies that are previewed.
    in_force: Sequence[str]  #: Those in force now.
    kubernetes_version: KubernetesVersion  #: The release of the cluster.
    total: Count  #: How many workloads there are.
    looked_at: Count  #: How many were looked at.
    counts: Mapping[str, Count]  #: For how many workloads there is a change, by the change.
    workloads: Sequence[PreviewedWorkload]  #: Every workload for which something changes.
    not_looked_at: Sequence[str]  #: What was not looked at, and why.

    @classmethod
    def of(
        cls,
        preview: PolicyPreview,
        version: KubernetesVersion,
        *,
        policies: Sequence[str],
        in_force: Sequence[str],
        not_looked_at: Sequence[str],
    ) -> PolicyPreviewReport:
        """Return the report on a preview, for a release of Kubernetes."""
        return cls(
            policies=policies,
            in_force=in_force,
            kubernetes_version=version,
            total=preview.total,
            looked_at=preview.looked_at,
            counts={change.value: preview.counts[change] for change in EffectChange},
            workloads=preview.workloads,
            not_looked_at=not_looked_at,
        )


#: What people read of each change.
HEADLINES: Final[Mapping[EffectChange, str]] = {
    EffectChange.DENIED: "would be denied",
    EffectChange.WARNED: "would be warned about",
    EffectChange.INJECTED: "would get default constraints",
    EffectChange.INJECTED_DIFFERENTLY: "would get other default constraints",
    EffectChange.NO_LONGER_INJECTED: "would get no default constraints any more",
    EffectChange.NO_LONGER_DENIED: "would no longer be denied",
    EffectChange.NO_LONGER_WARNED: "would no longer be warned about",
    EffectChange.NOT_INJECTED: "without the default constraints that a policy in force gives to new ones",
}


def render_json(report: PolicyPreviewReport) -> str:
    """Return the preview as indented JSON."""
    return dumps(report, indent=True).decode()


def render_text(report: PolicyPreviewReport, *, top: int) -> str:
    """Return the report with the first ``top`` workloads under each change."""
    return "\n".join(_lines(report, top)) + "\n"


def _lines(report: PolicyPreviewReport, top: int) -> Iterator[str]:
    of_workloads = f"{plural(report.total, 'workload')} (Kubernetes {report.kubernetes_version})"
    yield f"{_policies(report.policies)} over {of_workloads}"
    yield f"In force now: {_names(report.in_force)}"
    for change, headline in HEADLINES.items():
        if count := report.counts[change.value]:
            yield ""
            yield f"{plural(count, 'workload')} {headline}"
            yield from _listed(change, report, top)
    yield ""
    same = report.looked_at - sum(
        any(entry.change is not EffectChange.NOT_INJECTED for entry in workload.changes)
        for workload in report.workloads
    )
    looked_at = f"looked at {report.looked_at} of {plural(report.total, 'workload')}"
    yield f"Nothing changes for {plural(same, 'workload')} ({looked_at})."
    if report.workloads:
        yield "What runs is not stopped: this happens when a workload or its pods are created again."
    for text in report.not_looked_at:
        yield f"Not looked at: {one_line(text)}"


def _listed(change: EffectChange, report: PolicyPreviewReport, top: int) -> Iterator[str]:
    found = [
        (workload, entry.details)
        for workload in report.workloads
        for entry in workload.changes
        if entry.change is change
    ]
    for workload, details in found[:top]:
        yield f"  {title(workload)}: {one_line(', '.join(details))}"
    if len(found) > top:
        yield f"  {more(len(found) - top)} (--top shows more)"


def title(workload: PreviewedWorkload) -> str:
    """Return which workload is meant."""
    return object_title(workload.kind, workload.namespace, workload.name)


def _policies(names: Sequence[str]) -> str:
    return f"SpreadPolicy {names[0]}" if len(names) == 1 else f"SpreadPolicies {_names(names)}"


def _names(names: Sequence[str]) -> str:
    return one_line(", ".join(names)) if names else "none"

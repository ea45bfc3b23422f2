"""A preview of policies as one JSON object, whose form ``policy_preview.schema.json`` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from policies.admission.policy_preview import EffectChange, PreviewedWorkload
from policies.manifests.wire import Count, Keywords, dumps
from policies.model.version import KubernetesVersion
from policies.reports.policy.preview_run import PreviewRun

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


def render(run: PreviewRun) -> str:
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

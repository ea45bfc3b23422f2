"""A preview of policies as one JSON object, whose form ``policy_preview.schema.json`` says."""

from __future__ import annotations

from typing import Annotated, Final, TypedDict

import orjson

from policies.admission.policy_preview import EffectChange, PreviewedWorkload
from policies.config.type_schema import Count, Keywords
from policies.reports.preview_run import PreviewRun

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/policy-preview/v1"


class PreviewChange(TypedDict):
    """One thing that changes for a workload.

    Attributes:
        change: What.
        details: The rules that it breaks, or the policy that gives default constraints.
    """

    change: EffectChange
    details: list[str]


class ChangedWorkload(TypedDict):
    """A workload for which something changes.

    Attributes:
        kind: Its kind.
        namespace: Its namespace.
        name: Its name.
        changes: What changes, the gravest first.
    """

    kind: str
    namespace: str
    name: str
    changes: list[PreviewChange]


class PolicyPreviewReport(TypedDict):
    """What ``evenkeel policy preview`` found.

    Attributes:
        schema: The form's name; its number changes when a field is renamed, goes away or means something
            else.
        policies: The policies that are previewed.
        inForce: Those in force now.
        kubernetesVersion: The release of the cluster.
        total: How many workloads there are.
        lookedAt: How many were looked at.
        counts: For how many workloads there is a change, by the change.
        workloads: Every workload for which something changes.
        notLookedAt: What was not looked at, and why.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)]
    policies: list[str]
    inForce: list[str]
    kubernetesVersion: str
    total: Count
    lookedAt: Count
    counts: dict[str, Count]
    workloads: list[ChangedWorkload]
    notLookedAt: list[str]


def render(run: PreviewRun) -> str:
    """Return the preview as indented JSON."""
    preview = run.preview
    report: PolicyPreviewReport = {
        "schema": SCHEMA,
        "policies": list(run.policies),
        "inForce": list(run.in_force),
        "kubernetesVersion": str(run.version),
        "total": preview.total,
        "lookedAt": preview.looked_at,
        "counts": {change.value: preview.counts[change] for change in EffectChange},
        "workloads": [_workload(workload) for workload in preview.workloads],
        "notLookedAt": list(run.unread),
    }
    return orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _workload(workload: PreviewedWorkload) -> ChangedWorkload:
    changes: list[PreviewChange] = [
        {"change": entry.change, "details": list(entry.details)} for entry in workload.changes
    ]
    return {
        "kind": workload.kind,
        "namespace": workload.namespace,
        "name": workload.name,
        "changes": changes,
    }

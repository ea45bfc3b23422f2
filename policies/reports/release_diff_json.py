"""What an upgrade of Kubernetes changes, as one JSON object, whose form ``diff.schema.json`` says."""

from __future__ import annotations

import orjson

from policies.model.version import KubernetesVersion
from policies.placement.release_diff import ReleaseOutcome, WorkloadDiff
from policies.reports import release_diff_answer
from policies.reports.release_diff_text import ReleaseDiff, what


def render(diff: ReleaseDiff) -> bytes:
    """Return a comparison as one line of JSON, without its end."""
    answer: release_diff_answer.DiffAnswer = {
        "schema": release_diff_answer.SCHEMA,
        "from": diff.before.exact,
        "to": diff.after.exact,
        "total": diff.total,
        "left": diff.left,
        "breaks": diff.breaks,
        "notes": list(diff.notes),
        "workloads": [_workload(found, diff.before) for found in diff.workloads],
    }
    return orjson.dumps(answer)


def _workload(found: WorkloadDiff, before: KubernetesVersion) -> release_diff_answer.DifferingWorkload:
    return {
        "namespace": found.namespace,
        "kind": found.kind,
        "name": found.name,
        "difference": found.difference,
        "breaks": found.breaks,
        "message": what(found),
        "before": _outcome(found.before),
        "after": _outcome(found.after),
        "responsible": [
            {"since": change.after(before).exact, "what": change.what, "source": change.source}
            for change in found.responsible
        ],
    }


def _outcome(outcome: ReleaseOutcome) -> release_diff_answer.ReleaseOutcomeFields:
    return {
        "errors": list(outcome.errors),
        "feasibleNodes": len(outcome.feasible),
        "best": list(outcome.best),
        "condition": outcome.message,
    }

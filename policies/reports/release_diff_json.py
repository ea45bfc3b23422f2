"""What an upgrade of Kubernetes changes, as one JSON object."""

from __future__ import annotations

from typing import Any

import orjson

from policies.placement.release_diff import ReleaseOutcome, WorkloadDiff
from policies.reports.release_diff_text import ReleaseDiff, what


def render(diff: ReleaseDiff) -> bytes:
    """Return a comparison as one line of JSON, without its end.

    ``{"from", "to", "total", "left", "breaks", "notes", "workloads"}``; a workload has the gravest
    difference, what each release makes of it, and the changes that are responsible.
    """
    return orjson.dumps(
        {
            "from": str(diff.before),
            "to": str(diff.after),
            "total": diff.total,
            "left": diff.left,
            "breaks": diff.breaks,
            "notes": list(diff.limits),
            "workloads": [_workload(found) for found in diff.workloads],
        }
    )


def _workload(found: WorkloadDiff) -> dict[str, Any]:
    return {
        "namespace": found.namespace,
        "kind": found.kind,
        "name": found.name,
        "difference": str(found.difference),
        "breaks": found.breaks,
        "message": what(found),
        "before": _outcome(found.before),
        "after": _outcome(found.after),
        "responsible": [
            {"since": str(change.since), "what": change.what, "source": change.source}
            for change in found.responsible
        ],
    }


def _outcome(outcome: ReleaseOutcome) -> dict[str, Any]:
    return {
        "errors": list(outcome.errors),
        "feasibleNodes": len(outcome.feasible),
        "best": list(outcome.best),
        "condition": outcome.message,
    }

"""How a manifest is edited for a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.manifests.edits import Edit
from policies.manifests.fields import ErrorList, FieldPath, descend
from policies.model.labels import LabelSelector
from policies.model.node_affinity import REQUIRED
from policies.model.taints import Taint
from policies.model.workload import Workload
from policies.placement.core.request_reductions import reduce_requests
from policies.scheduler.changes import Change, ChangeKind


def edits_of(change: Change, workload: Workload) -> tuple[Edit, ...] | None:
    """Return the edits for a change; None where there are none.

    Args:
        change: The change; if it is one of a constraint, that is in the manifest.
        workload: The pod or workload, valid.
    """
    path, spec = workload.pod_path.child("spec"), workload.template.spec
    if change.constraint is not None:
        return _constraint_edits(change, change.constraint, spec, path, workload.selector)
    match change.what:
        case ChangeKind.REQUESTS:
            return reduce_requests(spec, path, change.requests)
        case ChangeKind.TOLERATIONS:
            return _toleration_edits(change.taints, spec, path)
        case ChangeKind.NODE_AFFINITY:
            old = descend(spec, REQUIRED, ErrorList())
            return (Edit(path.child(*REQUIRED), old, None),)
    return (Edit(path.child(change.what), spec.get(change.what), None),)


def _constraint_edits(
    change: Change, position: int, spec: Mapping[str, Any], path: FieldPath, own: LabelSelector | None
) -> tuple[Edit, ...]:
    new: Any
    entries, where = spec["topologySpreadConstraints"], path.child("topologySpreadConstraints")
    if change.what is ChangeKind.CONSTRAINT and len(entries) == 1:
        # An empty list is not the same as none: it opts out of injected defaults.
        return (Edit(where, entries, None),)
    where, entry = where.index(position), entries[position]
    if change.what is ChangeKind.CONSTRAINT:
        return (Edit(where, entry, None),)
    old, new = entry.get(change.what), change.value
    if change.what is ChangeKind.LABEL_SELECTOR and own is not None:
        new = own.to_dict()
    elif change.what is ChangeKind.MATCH_LABEL_KEYS:
        new = [*(old or ()), new]
    field = Edit(where.child(change.what), old, new)
    if change.what is ChangeKind.WHEN_UNSATISFIABLE and entry.get("minDomains") is not None:
        # The API server wants minDomains with DoNotSchedule only.
        return field, Edit(where.child("minDomains"), entry["minDomains"], None)
    return (field,)


def _toleration_edits(
    taints: tuple[Taint, ...], spec: Mapping[str, Any], path: FieldPath
) -> tuple[Edit, ...]:
    first = len(spec.get("tolerations") or ())
    where = path.child("tolerations")
    return tuple(
        Edit(where.index(number), None, _toleration(taint))
        for number, taint in enumerate(taints, start=first)
    )


def _toleration(taint: Taint) -> dict[str, str]:
    compared = {"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"}
    return {"key": taint.key, **compared, "effect": taint.effect}

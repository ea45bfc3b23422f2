"""Changes of constraints that the manifest suggests: to count the workload's own pods, of one revision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from policies.model.controller_labels import TOGETHER
from policies.model.labels import LabelSelector, Operator, Requirement
from policies.placement.core.placement import Placement
from policies.scheduler.changes import Change, ChangeKind
from policies.scheduler.result import FilterResult


def constraint_candidates(placement: Placement) -> Iterator[Change]:
    """Yield the changes that keep pods of others, or of earlier revisions, out of counts that reject nodes.

    Left alone are constraints that no manifest has, and those that spread applications together.
    """
    workload = placement.workload
    own = workload.selector
    if own is None or not own.matches(workload.template.labels) or not workload.template.constraints:
        return
    label = workload.kind.revision_label if _earlier_revisions(placement, own) else None
    for position, result in enumerate(placement.result.results):
        constraint = result.applied.constraint
        selector, keys = constraint.selector, constraint.match_label_keys
        if not isinstance(result, FilterResult) or result.satisfied.all() or selector is None:
            continue
        if TOGETHER in selector.keys - own.keys:
            continue
        if own != selector and own.keys.isdisjoint(keys):
            yield Change(what=ChangeKind.LABEL_SELECTOR, constraint=position)
        if label is not None and label not in selector.keys.union(keys):
            yield Change(what=ChangeKind.MATCH_LABEL_KEYS, constraint=position, value=label)


def _earlier_revisions(placement: Placement, own: LabelSelector) -> bool:
    """Return whether pods of other revisions run, and the release can tell them apart."""
    label = placement.workload.kind.revision_label
    if label is None or not placement.result.request.behavior.match_label_keys:
        return False
    current = placement.pod.template.labels.get(label, "")
    others = (Requirement(label, Operator.EXISTS), Requirement(label, Operator.NOT_IN, (current,)))
    selector = replace(own, match_expressions=(*own.match_expressions, *others))
    return placement.cluster.count_pods(placement.workload.namespace, selector) > 0

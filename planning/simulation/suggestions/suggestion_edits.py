"""The search for changes of a manifest that explanations, rollouts, losses and advice share, and its edits.

Each proposes its own changes, those that give up least first. Here a change is made in the manifest and
evaluated, and the number of evaluations is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.fields import ErrorList, FieldPath, descend
from policies.model.controller_labels import TOGETHER
from policies.model.held_amounts import pod_requests
from policies.model.labels import LabelSelector, Operator, Requirement
from policies.model.node_affinity import REQUIRED
from policies.model.quantity import amount
from policies.model.resources import HUGE_PAGES, PLAIN_RESOURCES, Requests
from policies.model.taints import Taint
from policies.model.workload import Workload
from policies.pods.placement import Placement, PlacementError, read_workload
from policies.scheduler.changes import Change, ChangeKind
from policies.scheduler.result import FilterResult

#: What lowered bytes are rounded down to, so that they can be read: mebibytes, or kibibytes.
_UNITS: Final = (("Mi", 2**20), ("Ki", 2**10))
#: What is found out of an edited manifest.
_Outcome = TypeVar("_Outcome")


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
            old = descend(spec, REQUIRED)
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


class _Share(NamedTuple):
    """One container's requests and limits of a resource."""

    path: FieldPath  #: Where its resources are.
    requests: Mapping[str, Any]  #: Its requests, as they are written.
    limits: Mapping[str, Any]  #: Its limits.
    amount: int  #: Thousandths of cpu, units of anything else.


def reduce_requests(spec: Mapping[str, Any], path: FieldPath, allowed: Requests) -> tuple[Edit, ...] | None:
    """Return the edits after which a pod requests no more than it may; None where none of these do.

    One container gives everything if one can, else each gives in proportion. What the pod requests as a whole
    stays, and must cover its containers.

    Args:
        spec: The pod's spec, valid.
        path: Where it is.
        allowed: The most that the pod may request, for the resources of which it requests more.
    """
    edits: list[Edit] = []
    for name, most in allowed:
        attempts = _attempts(spec, name, most)
        fitting = next((attempt for attempt in attempts if _request(spec, attempt, name) <= most), None)
        if fitting is None:
            return None
        edits += (Edit(path + edit.path, edit.old, edit.new) for edit in fitting)
    return tuple(edits)


def _request(spec: Mapping[str, Any], edits: list[Edit], name: str) -> int:
    return dict(pod_requests(apply_edits(spec, edits), FieldPath(), ErrorList())).get(name, 0)


def _attempts(spec: Mapping[str, Any], name: str, most: int) -> Iterator[list[Edit]]:
    shares = sorted(_shares(spec, name), key=lambda share: -share.amount)
    asked = _request(spec, [], name)
    for share in shares:
        if text := _quantity(name, share.amount - (asked - most)):
            yield list(_edits(share, name, text))
    texts = [_quantity(name, share.amount * most // asked) for share in shares]
    if all(texts):
        yield [edit for share, text in zip(shares, texts, strict=True) for edit in _edits(share, name, text)]


def _shares(spec: Mapping[str, Any], name: str) -> Iterator[_Share]:
    for member in ("containers", "initContainers"):
        for path, container in ErrorList().objects(spec.get(member), FieldPath((member,))):
            resources = container.get("resources") or {}
            requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
            # Absent requests default to limits.
            if size := amount(name, requests.get(name, limits.get(name))):
                yield _Share(path.child("resources"), requests, limits, size)


def _edits(share: _Share, name: str, text: str) -> Iterator[Edit]:
    yield Edit(share.path.child("requests").key(name), share.requests.get(name), text)
    # Of these a container gets exactly its limit, so the API server wants both to be equal.
    if name not in PLAIN_RESOURCES and name in share.limits:
        yield Edit(share.path.child("limits").key(name), share.limits[name], text)


def _quantity(name: str, size: int) -> str:
    """Return an amount as people write it, rounded down; empty if nothing is left.

    >>> _quantity("cpu", 1500), _quantity("cpu", 2000), _quantity("memory", 2**30 + 5), _quantity("pods", 0)
    ('1500m', '2', '1024Mi', '')
    """
    if size <= 0:
        return ""
    if name == "cpu":
        return f"{size}m" if size % 1000 else str(size // 1000)
    if name.startswith(HUGE_PAGES):
        page = amount(name, name.removeprefix(HUGE_PAGES)) or 1
        size -= size % page
    if name in PLAIN_RESOURCES or name.startswith(HUGE_PAGES):
        for suffix, unit in _UNITS:
            if size >= unit:
                return f"{size // unit}{suffix}"
    return str(size) if size else ""


def constraint_candidates(placement: Placement) -> Iterator[Change]:
    """Yield the changes that keep pods of others, or of earlier revisions, out of counts that reject nodes.

    Left alone are constraints that no manifest has, and those that spread applications together.
    """
    workload = placement.workload
    own = workload.selector
    if own is None or not own.matches(workload.template.labels) or not workload.template.constraints:
        return
    label = workload.kind.revision_label if _earlier_revisions(placement) else None
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


def _earlier_revisions(placement: Placement) -> bool:
    """Return whether pods of other revisions run, and the release can tell them apart."""
    own, label = placement.workload.own_pods, placement.workload.kind.revision_label
    if own is None or label is None or not placement.result.request.behavior.match_label_keys:
        return False
    current = placement.pod.template.labels.get(label, "")
    others = (Requirement(label, Operator.EXISTS), Requirement(label, Operator.NOT_IN, (current,)))
    selector = own.narrowed(*others)
    return placement.cluster.count_pods(placement.workload.namespace, selector) > 0


class EditSearch(Generic[_Outcome]):
    """Evaluates edits of one manifest, no more than so many.

    Attributes:
        tried: How many were evaluated.
        complete: Whether none was left out because there had been so many.
    """

    def __init__(
        self,
        workload: Workload,
        context: AdmissionContext,
        evaluate: Callable[[Workload], _Outcome],
        *,
        most: int,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """Prepare a search.

        Args:
            workload: The manifest before any edit.
            context: What edited manifests are read by.
            evaluate: Evaluates an edited manifest; raises PlacementError if Kubernetes would refuse it.
            most: How many are evaluated at most.
            may_go_on: Whether another may be evaluated; called before each.
        """
        self._workload = workload
        self._context = context
        self._evaluate = evaluate
        self._most = most
        self._may_go_on = may_go_on
        self.tried = 0
        self.complete = True

    def attempt(self, edits: Iterable[Edit]) -> _Outcome | None:
        """Return the outcome of edits; None if Kubernetes refuses the manifest, or no more may be tried."""
        if self.tried >= self._most or not self._may_go_on():
            self.complete = False
            return None
        self.tried += 1
        try:
            edited = apply_edits(self._workload.obj, edits)
            return self._evaluate(read_workload(edited, self._context, namespace=self._workload.namespace))
        except PlacementError:
            return None

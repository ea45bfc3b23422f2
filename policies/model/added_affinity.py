"""The node affinity that a profile of kube-scheduler adds to that of every pod.

Unlike in a pod, a term that the scheduler cannot make sense of is an error: it does not start.

Source: ``ValidateNodeAffinityArgs``, ``pkg/scheduler/apis/config/validation``, ``NewNodeSelector`` and
``NewPreferredSchedulingTerms``, ``component-helpers/scheduling/corev1/nodeaffinity``, and ``NewRequirement``,
``apimachinery/pkg/labels``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policies.manifests.fields import (
    ErrorList,
    FieldPath,
    field_names,
    invalid_value,
    object_items,
    unsupported_value,
)
from policies.model.labels import REQUIREMENT_FIELDS, label_key_errors, label_value_errors
from policies.model.node_affinity import (
    EQUALITY,
    PREFERRED,
    REQUIRED,
    NodeAffinity,
    NodeOperator,
    NodeSelectorTerm,
    parse_int64,
    read_term,
)

#: The rule that an added term breaks that the scheduler cannot make sense of.
ADDED_AFFINITY_INVALID: Final = "scheduler-added-affinity-invalid"

_AFFINITY: Final = field_names(REQUIRED[-1], PREFERRED)
_SELECTOR: Final = field_names("nodeSelectorTerms")
_PREFERENCE: Final = field_names("weight", "preference")
_TERM: Final = field_names("matchExpressions", "matchFields")


def read_added_affinity(raw: object, path: FieldPath, found: ErrorList) -> NodeAffinity:
    """Read ``addedAffinity``; what kube-scheduler would refuse is recorded."""
    added = found.mapping(raw, path)
    found.unknown(added, path, known=_AFFINITY)
    required, where, terms = added.get(REQUIRED[-1]), path.child(REQUIRED[-1]), None
    if required is not None:
        selector = found.mapping(required, where)
        found.unknown(selector, where, known=_SELECTOR)
        listed = found.objects(selector.get("nodeSelectorTerms"), where.child("nodeSelectorTerms"))
        terms = tuple(_read_term(entry, at, found) for at, entry in listed)
    preferred = []
    for at, entry in found.objects(added.get(PREFERRED), path.child(PREFERRED)):
        found.unknown(entry, at, known=_PREFERENCE)
        weight = found.integer(entry.get("weight"), at.child("weight")) or 0
        where = at.child("preference")
        preference = found.mapping(entry.get("preference"), where)
        # A term without weight is not looked into.
        term = _read_term(preference, where, found if weight else ErrorList())
        preferred.append((weight, term))
    return NodeAffinity(terms=terms, preferred=tuple(preferred))


def _read_term(entry: dict[str, Any], path: FieldPath, found: ErrorList) -> NodeSelectorTerm:
    found.unknown(entry, path, known=_TERM)
    # What is of the wrong type is recorded by the reader of terms, and operators that are unknown.
    for name, check in (("matchExpressions", _check_expression), ("matchFields", _check_field)):
        for position, requirement in enumerate(object_items(entry.get(name))):
            where = path.child(name).index(position)
            found.unknown(requirement, where, known=REQUIREMENT_FIELDS)
            values = requirement.get("values") or []
            if isinstance(values, list) and all(isinstance(value, str) for value in values):
                check(requirement, values, where, found)
    return read_term(entry, path, found)


def _check_expression(
    requirement: Mapping[str, Any], values: list[str], path: FieldPath, found: ErrorList
) -> None:
    if not isinstance(requirement.get("key"), str | None):
        return
    found.extend(label_key_errors(requirement.get("key") or "", path.child("key"), ADDED_AFFINITY_INVALID))
    where, text = path.child("values"), ""
    match requirement.get("operator"):
        case NodeOperator.IN | NodeOperator.NOT_IN:
            text = "" if values else "for 'in', 'notin' operators, values set can't be empty"
        case NodeOperator.EXISTS | NodeOperator.DOES_NOT_EXIST:
            text = "values set must be empty for exists and does not exist" if values else ""
        case NodeOperator.GREATER_THAN | NodeOperator.LESS_THAN:
            text = "" if len(values) == 1 else "for 'Gt', 'Lt' operators, exactly one value is required"
            for position, value in enumerate(values):
                if parse_int64(value) is None:
                    detail = "for 'Gt', 'Lt' operators, the value must be an integer"
                    found.add(invalid_value(where.index(position), value, detail, ADDED_AFFINITY_INVALID))
    if text:
        found.add(invalid_value(where, values, text, ADDED_AFFINITY_INVALID))
    for position, value in enumerate(values):
        found.extend(label_value_errors(value, where.index(position), ADDED_AFFINITY_INVALID))


def _check_field(
    requirement: Mapping[str, Any], values: list[str], path: FieldPath, found: ErrorList
) -> None:
    operator = requirement.get("operator")
    if operator in EQUALITY:
        if len(values) != 1:
            where = path.child("values")
            found.add(invalid_value(where, values, "must have one element", ADDED_AFFINITY_INVALID))
    elif operator in list(NodeOperator):
        where = path.child("operator")
        found.add(unsupported_value(where, operator, EQUALITY, ADDED_AFFINITY_INVALID))

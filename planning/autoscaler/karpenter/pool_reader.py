"""A NodePool as a document has it: all that is wrong with it at once, every field that Karpenter knows.

Source: ``pkg/apis/v1/nodepool.go`` and ``nodeclaim.go``, and the CustomResourceDefinition, Karpenter 1.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from planning.autoscaler.karpenter.node_pool import (
    WHEN_EMPTY,
    WHEN_UNDERUTILIZED,
    PoolBudget,
    PoolDisruption,
)
from planning.autoscaler.karpenter.requirements import LabelRequirement, required
from planning.autoscaler.node_group import read_template_taints
from policies.config.node_groups import label_errors
from policies.manifests.fields import (
    METADATA,
    SPEC,
    VALUE_INVALID,
    ErrorList,
    FieldPath,
    field_names,
    invalid_value,
    required_value,
    unsupported_value,
    wrong_type,
)
from policies.model.labels import label_key_errors, label_value_errors
from policies.model.node_affinity import parse_int64
from policies.model.quantity import read_amounts
from policies.model.taints import Taint

_TEMPLATE: Final = SPEC.child("template")
_OF_NODES: Final = _TEMPLATE.child("spec")
_DISRUPTION: Final = SPEC.child("disruption")
#: The fields of each object of a NodePool.
_POOL_FIELDS: Final = field_names("apiVersion", "kind", "metadata", "spec", "status")
_SPEC_FIELDS: Final = field_names("template", "disruption", "limits", "weight", "replicas")
_TEMPLATE_FIELDS: Final = field_names("metadata", "spec")
_METADATA_FIELDS: Final = field_names("labels", "annotations")
_NODE_FIELDS: Final = field_names(
    "taints", "startupTaints", "requirements", "nodeClassRef", "terminationGracePeriod", "expireAfter"
)
_CLASS_FIELDS: Final = field_names("group", "kind", "name")
_REQUIREMENT_FIELDS: Final = field_names("key", "operator", "values", "minValues")
_DISRUPTION_FIELDS: Final = field_names("consolidationPolicy", "consolidateAfter", "budgets")
_BUDGET_FIELDS: Final = field_names("nodes", "reasons", "schedule", "duration")
#: The values of some of them.
_NODES_OF_BUDGET: Final = re.compile(r"[0-9]{1,9}|(100|[0-9]{1,2})%")
_NEVER: Final = "Never"
_TIME: Final = re.compile(r"([0-9]{1,9}(s|m|h))+")
#: The last is not modeled.
_POLICIES: Final = (WHEN_EMPTY, WHEN_UNDERUTILIZED, "Balanced")
_REASONS: Final = ("Underutilized", "Empty", "Drifted")
_EQUALITY: Final = ("In", "NotIn")
_EXISTENCE: Final = ("Exists", "DoesNotExist")
_COMPARISON: Final = ("Gt", "Lt", "Gte", "Lte")
_OPERATORS: Final = (*_EQUALITY, *_EXISTENCE, *_COMPARISON)
#: The most that ``minValues``, the weight and the number of nodes may be.
_MOST_MIN_VALUES: Final = 50
_MOST_WEIGHT: Final = 100
_MOST_NODES: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PoolDocument:
    """A NodePool as it was read, before its instance types are known."""

    name: str  #: Its name.
    stated: tuple[tuple[str, LabelRequirement], ...]  #: What its requirements say of labels.
    labels: dict[str, str]  #: The labels of its template, and that of its NodeClass.
    taints: tuple[Taint, ...]  #: The taints of its nodes.
    limits: dict[str, int]  #: The most that its nodes may have.
    weight: int  #: Its weight.
    disruption: PoolDisruption  #: Which of its nodes are removed.
    is_static: bool  #: Whether it has a fixed number of nodes.


def read_pool(value: Mapping[str, Any], found: ErrorList) -> PoolDocument:
    """Read a NodePool, and record all that the API server or Karpenter refuses in it."""
    found.unknown(value, FieldPath(), known=_POOL_FIELDS)
    metadata = found.mapping(value.get("metadata"), METADATA)
    for field in ("labels", "annotations"):
        found.labels(metadata.get(field), METADATA.child(field))
    name = _needed(metadata, "name", METADATA, found)
    spec = _object(value, SPEC, found, _SPEC_FIELDS)
    template = _object(spec, _TEMPLATE, found, _TEMPLATE_FIELDS)
    own = _object(template, _OF_NODES, found, _NODE_FIELDS)
    for field in ("expireAfter", "terminationGracePeriod"):
        _time(own, field, _OF_NODES, found, never=field == "expireAfter")
    read_template_taints(own.get("startupTaints"), _OF_NODES.child("startupTaints"), found)
    weight = _number(spec, "weight", SPEC, found, least=1, most=_MOST_WEIGHT)
    replicas = _number(spec, "replicas", SPEC, found, least=0, most=_MOST_NODES)
    return PoolDocument(
        name=name,
        stated=tuple(_requirements(own.get("requirements"), _OF_NODES.child("requirements"), found)),
        labels=_labels(template, found) | _class_label(own, found),
        taints=read_template_taints(own.get("taints"), _OF_NODES.child("taints"), found),
        limits=read_amounts(spec.get("limits"), SPEC.child("limits"), found),
        weight=weight or 0,
        disruption=_disruption(spec, found),
        is_static=replicas is not None,
    )


def _object(
    parent: Mapping[str, Any], path: FieldPath, found: ErrorList, known: Iterable[str]
) -> dict[str, Any]:
    """Return an object of an object, named by the end of its path, with no fields but those that it has."""
    read = found.mapping(parent.get(str(path.segments[-1])), path)
    found.unknown(read, path, known=field_names(*known))
    return read


def _needed(parent: Mapping[str, Any], field: str, path: FieldPath, found: ErrorList) -> str:
    """Return a text that must be there."""
    if parent.get(field) in (None, ""):
        found.add(required_value(path.child(field), "", VALUE_INVALID))
    return found.text(parent.get(field), path.child(field))


def _number(
    parent: Mapping[str, Any], field: str, path: FieldPath, found: ErrorList, *, least: int, most: int
) -> int | None:
    """Return an integer within bounds; None where there is none."""
    raw = parent.get(field)
    if raw is None or (type(raw) is int and least <= raw <= most):
        return raw
    text = f"must be an integer from {least} to {most:,}"
    found.add(invalid_value(path.child(field), raw, text, VALUE_INVALID))
    return None


def _time(
    parent: Mapping[str, Any], field: str, path: FieldPath, found: ErrorList, *, never: bool = False
) -> str:
    """Return how long something lasts, as it is written."""
    text = found.text(parent.get(field), path.child(field))
    given = parent.get(field) == text
    if given and not (_TIME.fullmatch(text) or (never and text == _NEVER)):
        form = "must be a time such as 30s, 10m or 1h30m" + (f", or {_NEVER}" if never else "")
        found.add(invalid_value(path.child(field), text, form, VALUE_INVALID))
    return text


def _labels(template: Mapping[str, Any], found: ErrorList) -> dict[str, str]:
    path = _TEMPLATE.child("metadata")
    metadata = _object(template, path, found, _METADATA_FIELDS)
    found.labels(metadata.get("annotations"), path.child("annotations"))
    where = path.child("labels")
    labels = found.labels(metadata.get("labels"), where)
    found.extend(label_errors(labels, where))
    return dict(labels)


def _class_label(own: Mapping[str, Any], found: ErrorList) -> dict[str, str]:
    """Return the label that a node has of its NodeClass."""
    path = _OF_NODES.child("nodeClassRef")
    reference = _object(own, path, found, _CLASS_FIELDS)
    group, kind, name = (found.text(reference.get(field), path.child(field)) for field in _CLASS_FIELDS)
    return {f"{group}/{kind.lower()}": name} if group and kind and name else {}


def _disruption(spec: Mapping[str, Any], found: ErrorList) -> PoolDisruption:
    """Return ``spec.disruption``, with the defaults of the API server."""
    usual, given = PoolDisruption(), _object(spec, _DISRUPTION, found, _DISRUPTION_FIELDS)
    policy = _one_of(given, "consolidationPolicy", _DISRUPTION, found, _POLICIES)
    after = _time(given, "consolidateAfter", _DISRUPTION, found, never=True)
    budgets = (
        tuple(
            _budget(entry, where, found)
            for where, entry in found.objects(given["budgets"], _DISRUPTION.child("budgets"))
        )
        if given.get("budgets") is not None
        else usual.budgets
    )
    return PoolDisruption(policy or usual.policy, after == _NEVER, budgets)


def _budget(entry: Mapping[str, Any], where: FieldPath, found: ErrorList) -> PoolBudget:
    (usual,) = PoolDisruption().budgets
    found.unknown(entry, where, known=_BUDGET_FIELDS)
    raw = entry.get("nodes")
    nodes = usual.nodes if raw is None else found.text(raw, where.child("nodes"))
    if raw is not None and not _NODES_OF_BUDGET.fullmatch(nodes):
        text = "must be a number of nodes, or a percentage, as a string"
        found.add(invalid_value(where.child("nodes"), raw, text, VALUE_INVALID))
    reasons = where.child("reasons")
    named = found.items(entry.get("reasons"), reasons)
    for position, reason in enumerate(named):
        if reason not in _REASONS:
            found.add(unsupported_value(reasons.index(position), reason, _REASONS, VALUE_INVALID))
    found.text(entry.get("schedule"), where.child("schedule"))
    _time(entry, "duration", where, found)
    for field, other in (("schedule", "duration"), ("duration", "schedule")):
        if entry.get(field) is None and entry.get(other) is not None:
            found.add(required_value(where.child(field), f"goes with {other}", VALUE_INVALID))
    of_reasons = None if entry.get("reasons") is None else tuple(map(str, named))
    return PoolBudget(nodes, of_reasons, at_times=entry.get("schedule") is not None)


def _one_of(
    parent: Mapping[str, Any], field: str, path: FieldPath, found: ErrorList, supported: Iterable[str]
) -> str:
    text = found.text(parent.get(field), path.child(field))
    if parent.get(field) == text and text not in (every := tuple(supported)):
        found.add(unsupported_value(path.child(field), text, every, VALUE_INVALID))
    return text


def _requirements(raw: object, path: FieldPath, found: ErrorList) -> Iterator[tuple[str, LabelRequirement]]:
    for where, entry in found.objects(raw, path):
        before = found.count
        found.unknown(entry, where, known=_REQUIREMENT_FIELDS)
        if key := _needed(entry, "key", where, found):
            found.extend(label_key_errors(key, where.child("key"), VALUE_INVALID))
        if entry.get("operator") is None:
            found.add(required_value(where.child("operator"), "", VALUE_INVALID))
        operator = _one_of(entry, "operator", where, found, _OPERATORS)
        values = _values(entry, operator, where.child("values"), found)
        least = _number(entry, "minValues", where, found, least=1, most=_MOST_MIN_VALUES)
        if found.count == before:
            yield required(key, operator, values, least)


def _values(entry: Mapping[str, Any], operator: str, path: FieldPath, found: ErrorList) -> list[str]:
    raw = entry.get("values")
    if not isinstance(raw, list | None) or not all(isinstance(value, str) for value in raw or ()):
        found.add(wrong_type(path, "a list of strings", raw))
        return []
    values = raw or []
    if error := _values_error(operator, values):
        found.add(invalid_value(path, ", ".join(values), error, VALUE_INVALID))
    if operator not in _COMPARISON:
        for position, value in enumerate(values):
            found.extend(label_value_errors(value, path.index(position), VALUE_INVALID))
    return values


def _values_error(operator: str, values: list[str]) -> str:
    if operator in _EXISTENCE:
        return f"must be empty with {operator}" if values else ""
    if operator in _EQUALITY:
        return "" if values else f"must not be empty with {operator}"
    if operator not in _COMPARISON:
        return ""  # What the operator is to be is not known.
    if len(values) != 1 or (parse_int64(values[0]) or 0) < 0 or parse_int64(values[0]) is None:
        return f"must be one whole number with {operator}"
    return ""

"""The arguments of kube-scheduler's plugins: read with their defaults, and validated as kube-scheduler does.

In node affinity that a profile adds to that of every pod, unlike in a pod, a term that the scheduler cannot
make sense of is an error: it does not start.

Source: ``pkg/scheduler/apis/config/v1/defaults.go``,
``pkg/scheduler/apis/config/validation/validation_pluginargs.go``, and for the added affinity
``ValidateNodeAffinityArgs``, ``NewNodeSelector`` and ``NewPreferredSchedulingTerms``,
``component-helpers/scheduling/corev1/nodeaffinity``, and ``NewRequirement``, ``apimachinery/pkg/labels``,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from policies.manifests.fields import (
    ErrorList,
    FieldPath,
    duplicate_value,
    field_names,
    forbidden,
    invalid_value,
    objects_at,
    required_value,
    shown_name,
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
from policies.scheduler.profile import DEFAULT_FIT, DEFAULT_RESOURCES, FitArgs, Plugin, StrategyType, Weighted

#: The rule that an added term breaks that the scheduler cannot make sense of.
ADDED_AFFINITY_INVALID: Final = "scheduler-added-affinity-invalid"

_AFFINITY: Final = field_names(REQUIRED[-1], PREFERRED)
_SELECTOR: Final = field_names("nodeSelectorTerms")
_PREFERENCE: Final = field_names("weight", "preference")
_TERM: Final = field_names("matchExpressions", "matchFields")
#: The rule that an argument with a value breaks that kube-scheduler refuses.
ARGUMENT_INVALID: Final = "scheduler-plugin-argument-invalid"

_TYPE_META: Final = ("apiVersion", "kind")
_FIT: Final = field_names(*_TYPE_META, "ignoredResources", "ignoredResourceGroups", "scoringStrategy")
_STRATEGY: Final = field_names("type", "resources", "requestedToCapacityRatio")
_RESOURCE: Final = field_names("name", "weight")
_RATIO: Final = field_names("shape")
_POINT: Final = field_names("utilization", "score")
_BALANCED: Final = field_names(*_TYPE_META, "resources")
_NODE_AFFINITY: Final = field_names(*_TYPE_META, "addedAffinity")
_POD_AFFINITY: Final = field_names(*_TYPE_META, "hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods")
#: The most that a resource may weigh, that a node can be used in percent, and that a point can score.
MOST_WEIGHT: Final = 100
MOST_UTILIZATION: Final = 100
MOST_SCORE: Final = 10
#: The bits of a resource's weight; other numbers have 32.
_WEIGHT_BITS: Final = 64


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
        for where, requirement in objects_at(entry.get(name), path.child(name)):
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


def read_fit(args: Mapping[str, Any], path: FieldPath, found: ErrorList) -> dict[str, Any]:
    """Read NodeResourcesFitArgs."""
    found.unknown(args, path, known=_FIT)
    ignored = _names(args, "ignoredResources", path, found)
    groups = _names(args, "ignoredResourceGroups", path, found)
    raw, where = args.get("scoringStrategy"), path.child("scoringStrategy")
    strategy = found.mapping(raw, where)
    found.unknown(strategy, where, known=_STRATEGY)
    kind = found.text(strategy.get("type"), where.child("type")) if raw is not None else DEFAULT_FIT.strategy
    if kind not in list(StrategyType):
        if isinstance(strategy.get("type"), str | None):
            found.add(unsupported_value(where.child("type"), kind, StrategyType, ARGUMENT_INVALID))
        kind = DEFAULT_FIT.strategy
    resources = _resources(strategy.get("resources"), where.child("resources"), found)
    for position, resource in enumerate(resources):
        if not 0 < resource.weight <= MOST_WEIGHT:
            text = f"resource weight of {shown_name(resource.name)} not in valid range (0, {MOST_WEIGHT}]"
            at = where.child("resources").index(position).child("weight")
            found.add(invalid_value(at, resource.weight, text, ARGUMENT_INVALID))
    fit = FitArgs(
        strategy=StrategyType(kind),
        resources=resources,
        shape=_ratio(strategy, kind, where.child("requestedToCapacityRatio"), found),
        ignored=frozenset(ignored),
        ignored_groups=frozenset(groups),
    )
    return {"fit": fit}


def read_balanced(args: Mapping[str, Any], path: FieldPath, found: ErrorList) -> dict[str, Any]:
    """Read NodeResourcesBalancedAllocationArgs."""
    found.unknown(args, path, known=_BALANCED)
    where = path.child("resources")
    resources = _resources(args.get("resources"), where, found)
    seen: set[str] = set()
    for position, resource in enumerate(resources):
        at = where.index(position)
        if resource.name in seen:
            found.add(duplicate_value(at.child("name"), resource.name, ARGUMENT_INVALID))
        seen.add(resource.name)
        if resource.weight != 1:
            found.add(invalid_value(at.child("weight"), resource.weight, "must be 1", ARGUMENT_INVALID))
    return {"balanced_resources": tuple(resource.name for resource in resources)}


def read_node_affinity_args(args: Mapping[str, Any], path: FieldPath, found: ErrorList) -> dict[str, Any]:
    """Read NodeAffinityArgs."""
    found.unknown(args, path, known=_NODE_AFFINITY)
    where = path.child("addedAffinity")
    return {"added_affinity": read_added_affinity(args.get("addedAffinity"), where, found)}


def read_pod_affinity(args: Mapping[str, Any], path: FieldPath, found: ErrorList) -> dict[str, Any]:
    """Read InterPodAffinityArgs."""
    found.unknown(args, path, known=_POD_AFFINITY)
    raw, where = args.get("hardPodAffinityWeight"), path.child("hardPodAffinityWeight")
    weight = 1 if raw is None else found.integer(raw, where)
    _check_range(weight, MOST_WEIGHT, where, found)
    name = "ignorePreferredTermsOfExistingPods"
    return {
        "hard_pod_affinity_weight": weight or 0,
        "ignores_preferred_terms": found.flag(args.get(name), path.child(name)),
    }


#: What reads a plugin's arguments and returns the attributes of a ``Profile`` that they set; what
#: kube-scheduler would refuse is recorded.
READERS: Final[Mapping[str, Callable[[Mapping[str, Any], FieldPath, ErrorList], dict[str, Any]]]] = (
    MappingProxyType(
        {
            Plugin.NODE_RESOURCES_FIT: read_fit,
            Plugin.NODE_RESOURCES_BALANCED_ALLOCATION: read_balanced,
            Plugin.NODE_AFFINITY: read_node_affinity_args,
            Plugin.INTER_POD_AFFINITY: read_pod_affinity,
        }
    )
)


def _names(args: Mapping[str, Any], name: str, path: FieldPath, found: ErrorList) -> list[str]:
    """Read a list of names of resources, or of the domains of some."""
    where, names = path.child(name), []
    for position, raw in enumerate(found.items(args.get(name), path.child(name))):
        at = where.index(position)
        text = found.text(raw, at)
        if name == "ignoredResourceGroups" and "/" in text:
            text_of = "resource group name can't contain '/'"
            found.add(invalid_value(at, text, text_of, ARGUMENT_INVALID))
        if isinstance(raw, str | None):
            found.extend(label_key_errors(text, at, ARGUMENT_INVALID))
        names.append(text)
    return names


def _resources(raw: object, path: FieldPath, found: ErrorList) -> tuple[Weighted, ...]:
    """Read resources with their weights: by default CPU and memory, and each of weight 1."""
    resources = []
    for where, entry in found.objects(raw, path):
        found.unknown(entry, where, known=_RESOURCE)
        name = found.text(entry.get("name"), where.child("name"))
        weight = found.integer(entry.get("weight"), where.child("weight"), bits=_WEIGHT_BITS)
        resources.append(Weighted(name, weight or 1))
    return tuple(resources) or DEFAULT_RESOURCES


def _ratio(
    strategy: Mapping[str, Any], kind: str, path: FieldPath, found: ErrorList
) -> tuple[tuple[int, int], ...]:
    """Read the shape of RequestedToCapacityRatio, which that strategy alone has."""
    raw = strategy.get("requestedToCapacityRatio")
    if kind != StrategyType.REQUESTED_TO_CAPACITY_RATIO:
        if raw is not None:
            text = f"must be nil when type is not {StrategyType.REQUESTED_TO_CAPACITY_RATIO}"
            found.add(forbidden(path, text, ARGUMENT_INVALID))
        return ()
    if raw is None:
        text = f"must be specified when type is {StrategyType.REQUESTED_TO_CAPACITY_RATIO}"
        found.add(required_value(path, text, ARGUMENT_INVALID))
        return ()
    ratio = found.mapping(raw, path)
    found.unknown(ratio, path, known=_RATIO)
    return _shape(ratio.get("shape"), path.child("shape"), found)


def _shape(raw: object, path: FieldPath, found: ErrorList) -> tuple[tuple[int, int], ...]:
    points = []
    for where, entry in found.objects(raw, path):
        found.unknown(entry, where, known=_POINT)
        utilization, score = (found.integer(entry.get(name), where.child(name)) for name in _POINT)
        points.append((utilization or 0, score or 0))
    if not points:
        found.add(required_value(path, "at least one point must be specified", ARGUMENT_INVALID))
    for position in range(1, len(points)):
        if points[position - 1][0] >= points[position][0]:
            at, text = path.index(position).child("utilization"), "values must be sorted in increasing order"
            found.add(invalid_value(at, points[position][0], text, ARGUMENT_INVALID))
            break
    for position, (utilization, score) in enumerate(points):
        _check_range(utilization, MOST_UTILIZATION, path.index(position).child("utilization"), found)
        _check_range(score, MOST_SCORE, path.index(position).child("score"), found)
    return tuple(points)


def _check_range(value: int | None, most: int, path: FieldPath, found: ErrorList) -> None:
    if value is not None and not 0 <= value <= most:
        found.add(invalid_value(path, value, f"not in valid range [0, {most}]", ARGUMENT_INVALID))

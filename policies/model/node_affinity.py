"""Which nodes a pod requires: ``nodeSelector`` and the required node affinity.

A term that the scheduler cannot make sense of (a bad label key, Gt without an integer) is no error: it
matches no node, as it does there.

Source: ``component-helpers/scheduling/corev1/nodeaffinity``, ``apimachinery/pkg/labels`` and
``PreFilter`` of ``pkg/scheduler/framework/plugins/nodeaffinity``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from policies.manifests.fields import (
    WRONG_TYPE,
    ErrorList,
    FieldPath,
    invalid_value,
    unsupported_value,
    wrong_type,
)
from policies.model import interpod_terms
from policies.model.labels import VALUES_A_COMPARISON, label_key_problems, label_value_problems
from policies.model.quantity import INT64_MAX

#: The only field of a node that ``matchFields`` can look at.
NAME_FIELD = "metadata.name"
#: The rule that a requirement with an operator breaks which Kubernetes does not have.
NODE_OPERATOR_UNKNOWN = "node-operator-unknown"
#: The rule that a requirement on another field than the name breaks.
NODE_FIELD_UNKNOWN = "node-field-unknown"
#: Digits of the largest int64.
INT64_DIGITS = 19
#: The way from a pod's spec to its required node affinity.
REQUIRED = ("affinity", "nodeAffinity", interpod_terms.REQUIRED)
#: Where the node affinity keeps the terms that a pod prefers.
PREFERRED = interpod_terms.PREFERRED


class NodeOperator(StrEnum):
    """The operators of a node selector requirement."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GREATER_THAN = "Gt"
    LESS_THAN = "Lt"


_OPERATORS: frozenset[str] = frozenset(NodeOperator)
#: The operators that compare with values, and those that compare with one number.
EQUALITY = (NodeOperator.IN, NodeOperator.NOT_IN)
COMPARISON = (NodeOperator.GREATER_THAN, NodeOperator.LESS_THAN)
#: What a requirement costs, in others, that compares numbers.
NUMBER_COMPARISONS = 16


class NodeRequirement(NamedTuple):
    """One condition on one label or field of a node."""

    key: str
    operator: NodeOperator
    values: tuple[str, ...] = ()

    def accepts(self, value: str | None) -> bool:
        """Return whether a label's value satisfies the condition; None means that the label is absent.

        >>> NodeRequirement("gen", NodeOperator.GREATER_THAN, ("5",)).accepts("10")
        True
        """
        match self.operator:
            case NodeOperator.IN:
                return value in self.values
            case NodeOperator.NOT_IN:
                return value not in self.values
            case NodeOperator.EXISTS:
                return value is not None
            case NodeOperator.DOES_NOT_EXIST:
                return value is None
            case NodeOperator.GREATER_THAN | NodeOperator.LESS_THAN:
                number, limit = parse_int64(value or ""), parse_int64(self.values[0])
                if number is None or limit is None:
                    return False
                return number > limit if self.operator is NodeOperator.GREATER_THAN else number < limit


#: What no node satisfies; stands for the expressions of a term that the scheduler cannot make sense of.
NEVER = NodeRequirement("", NodeOperator.IN)


class NodeSelectorTerm(NamedTuple):
    """Requirements that must all hold: ``expressions`` of labels, ``fields`` of the node's name."""

    expressions: tuple[NodeRequirement, ...] = ()
    fields: tuple[NodeRequirement, ...] = ()

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether a node satisfies every requirement; a term without any matches no node."""
        if not self.expressions and not self.fields:
            return False
        return all(entry.accepts(labels.get(entry.key)) for entry in self.expressions) and all(
            entry.accepts(name) for entry in self.fields
        )

    def values_of(self, key: str) -> frozenset[str] | None:
        """Return the values of a label that its In expressions allow; None if none is about that label."""
        listed = [
            frozenset(entry.values)
            for entry in self.expressions
            if entry.key == key and entry.operator is NodeOperator.IN
        ]
        return frozenset.intersection(*listed) if listed else None


class NodeAffinity(NamedTuple):
    """The nodes that a pod requires."""

    node_selector: tuple[tuple[str, str], ...] = ()  #: Labels that a node must have.
    #: The required node affinity, of which one term must match. None if there is none; without any term it
    #: matches no node.
    terms: tuple[NodeSelectorTerm, ...] | None = None
    preferred: tuple[tuple[int, NodeSelectorTerm], ...] = ()  #: The weight of each term that it prefers.

    @property
    def constrains(self) -> bool:
        """Whether the pod requires anything at all."""
        return bool(self.node_selector) or self.terms is not None

    @property
    def keys(self) -> frozenset[str]:
        """The labels of nodes that the pod requires something of."""
        required = {entry.key for term in self.terms or () for entry in term.expressions}
        return frozenset(required.union(key for key, _ in self.node_selector))

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether a node is among those that the pod requires."""
        if not all(labels.get(key) == value for key, value in self.node_selector):
            return False
        return self.terms is None or any(term.matches(name, labels) for term in self.terms)

    def values_of(self, key: str) -> frozenset[str] | None:
        """Return the values of a label to which the pod is held; None if it may have any other value too.

        >>> NodeAffinity((("zone", "a"),)).values_of("zone")
        frozenset({'a'})
        """
        if not self.constrains:
            return None
        selected = frozenset(value for name, value in self.node_selector if name == key)
        required = [term.values_of(key) for term in self.terms or ()]
        if not required or None in required:
            return selected or None
        values = frozenset[str]().union(*(found for found in required if found is not None))
        return values & selected if selected else values

    def pinned_to(self, name: str) -> NodeAffinity:
        """Return the affinity that the controller of a DaemonSet gives the pod that it makes for a node.

        Source: ``ReplaceDaemonSetPodNodeNameNodeAffinity``, ``pkg/controller/daemon/util/daemonset_util.go``,
        Kubernetes 1.36.

        >>> NodeAffinity().pinned_to("n1").node_names()
        frozenset({'n1'})
        """
        pin = NodeRequirement(NAME_FIELD, NodeOperator.IN, (name,))
        return self._replace(terms=(NodeSelectorTerm(fields=(pin,)),))

    def node_names(self, *, one_conflict_is_enough: bool = False) -> frozenset[str] | None:
        """Return the names to which the scheduler narrows its search beforehand; None for all nodes.

        An empty set means that every term contradicts itself, or one of them where that is enough: the
        scheduler then looks at no node.
        """
        if not self.terms:
            return None
        names: frozenset[str] = frozenset()
        for term in self.terms:
            asked = [
                frozenset(entry.values)
                for entry in term.fields
                if entry.key == NAME_FIELD and entry.operator is NodeOperator.IN
            ]
            if not asked:
                return None
            named = frozenset.intersection(*asked)
            if not named and one_conflict_is_enough:
                return named
            names |= named
        return names


def parse_int64(text: str) -> int | None:
    """Return a decimal integer as Go's ``strconv.ParseInt`` reads it; None for what is none, or too large.

    >>> parse_int64("+007"), parse_int64(" 7"), parse_int64("9223372036854775808")
    (7, None, None)
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > INT64_DIGITS:
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if -INT64_MAX - 1 <= number <= INT64_MAX else None


def read_node_affinity(spec: Mapping[str, Any], path: FieldPath, found: ErrorList) -> NodeAffinity:
    """Read which nodes a pod's spec requires; ``path`` is that of the spec."""
    selector: dict[str, str] = {}
    if spec.get("nodeSelector") is not None:
        selector = found.labels(spec["nodeSelector"], path.child("nodeSelector"))
    preferred = _read_preferred(spec, path, found) if spec.get("affinity") is not None else ()
    required: Any = spec
    for depth, name in enumerate(REQUIRED):
        required = required.get(name)
        if required is None:
            return NodeAffinity(tuple(selector.items()), preferred=preferred)
        required = found.mapping(required, path.child(*REQUIRED[: depth + 1]))
    where = path.child(*REQUIRED, "nodeSelectorTerms")
    terms = tuple(
        read_term(entry, at, found) for at, entry in found.objects(required.get("nodeSelectorTerms"), where)
    )
    return NodeAffinity(tuple(selector.items()), terms, preferred)


def _read_preferred(
    spec: Mapping[str, Any], path: FieldPath, found: ErrorList
) -> tuple[tuple[int, NodeSelectorTerm], ...]:
    where = path.child("affinity", "nodeAffinity")
    # What is no object on the way there is recorded by the reader of the required terms.
    affinity = spec["affinity"].get("nodeAffinity") if isinstance(spec["affinity"], dict) else None
    node_affinity = affinity if isinstance(affinity, dict) else {}
    preferred = []
    for at, entry in found.objects(node_affinity.get(PREFERRED), where.child(PREFERRED)):
        weight = entry.get("weight")
        if type(weight) is not int:
            found.add(wrong_type(at.child("weight"), "an integer", weight))
            continue
        preference = found.mapping(entry.get("preference"), at.child("preference"))
        preferred.append((weight, read_term(preference, at.child("preference"), found)))
    return tuple(preferred)


def read_term(entry: dict[str, Any], path: FieldPath, found: ErrorList) -> NodeSelectorTerm:
    """Read a term; one that the scheduler cannot make sense of matches no node."""
    before = found.count
    expressions = _read_requirements(entry, "matchExpressions", path, found)
    fields = _read_requirements(entry, "matchFields", path, found)
    for position, requirement in enumerate(fields):
        if requirement.key != NAME_FIELD and not found.has_enough(NODE_FIELD_UNKNOWN):
            where = path.child("matchFields").index(position).child("key")
            text = f"not a valid field selector key, must be {NAME_FIELD}"
            found.add(invalid_value(where, requirement.key, text, NODE_FIELD_UNKNOWN))
    usable = all(map(_is_usable_expression, expressions)) and all(map(_is_usable_field, fields))
    return NodeSelectorTerm(expressions if usable and found.count == before else (NEVER,), fields)


def _read_requirements(
    term: Mapping[str, Any], name: str, path: FieldPath, found: ErrorList
) -> tuple[NodeRequirement, ...]:
    raw = term.get(name)
    if raw is None:
        return ()
    requirements = []
    for where, entry in found.objects(raw, path.child(name)):
        key, operator = found.text_of(entry, "key", where), found.text_of(entry, "operator", where)
        values = _read_values(entry.get("values"), where, found)
        if operator in _OPERATORS:
            requirements.append(NodeRequirement(key, NodeOperator(operator), values))
        elif isinstance(entry.get("operator"), str | None):
            path = where.child("operator")
            found.add(unsupported_value(path, operator, NodeOperator, NODE_OPERATOR_UNKNOWN))
    return tuple(requirements)


def _read_values(raw: object, where: FieldPath, found: ErrorList) -> tuple[str, ...]:
    if raw is None:
        return ()
    if isinstance(raw, list) and set(map(type, raw)) <= {str}:
        return tuple(raw)
    path = where.child("values")
    values = found.items(raw, path)
    if not all(isinstance(value, str) for value in values):
        for position, value in enumerate(values):
            if not isinstance(value, str) and not found.has_enough(WRONG_TYPE):
                found.text(value, path.index(position))
    return tuple(value or "" for value in values if isinstance(value, str | None))


def _is_usable_expression(requirement: NodeRequirement) -> bool:
    """Return whether the scheduler can match labels with it: ``labels.NewRequirement``."""
    values = requirement.values
    if label_key_problems(requirement.key) or any(map(label_value_problems, values)):
        return False
    if requirement.operator in COMPARISON:
        return len(values) == 1 and parse_int64(values[0]) is not None
    return bool(values) is (requirement.operator in EQUALITY)


def _is_usable_field(requirement: NodeRequirement) -> bool:
    """Return whether the scheduler can match fields with it: one value, to be equal to or not."""
    return requirement.operator in EQUALITY and len(requirement.values) == 1


def comparisons(terms: Collection[NodeSelectorTerm]) -> int:
    """Return how many times nodes are compared with terms, each in the time of one requirement."""
    if not terms:
        return 0
    requirements = [(*term.expressions, *term.fields) for term in terms]
    values = sum(len(entry.values) // VALUES_A_COMPARISON for term in requirements for entry in term)
    # Of each value of a label it is found out which number it is.
    numbers = sum(entry.operator in COMPARISON for term in requirements for entry in term)
    return sum(1 + len(term) for term in requirements) + values + NUMBER_COMPARISONS * numbers

"""Spread constraints that a document of another policy engine injects, as far as they are written literally.

Patches of any engine (RFC 6902 operations) are read here. What a template or an expression makes stays
unknown, and is never evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from policies.manifests.fields import FieldPath
from policies.model.api_rules import ApiRule
from policies.model.labels import LabelSelector, label_selector_errors
from policies.model.validation import constraint_errors

#: The field that is injected.
CONSTRAINTS = "topologySpreadConstraints"
#: Rules of two fields together, of which one may be there already where constraints are merged.
_OF_A_WHOLE = frozenset([ApiRule.MATCH_LABEL_KEYS_WITHOUT_SELECTOR, ApiRule.MIN_DOMAINS_WITH_SCHEDULE_ANYWAY])
_TEMPLATE = r"/(?:spec/template/|spec/jobTemplate/spec/template/)?"
_ADDED = re.compile(rf"{_TEMPLATE}spec/{CONSTRAINTS}(/-|/\d+)?")
_LABELS = re.compile(rf"{_TEMPLATE}metadata/labels(?:/([^/]+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignInjection:
    """Constraints that a document injects."""

    path: FieldPath  #: Where they are in the document: the list, or the text that holds it.
    constraints: tuple[Any, ...]  #: The constraints as written; parts that are not literal hold ``{{``.
    readable: bool = True  #: Whether each of them has a path of its own below ``path``: not so within a text.
    single: bool = False  #: Whether ``path`` is that of the one constraint and not of a list.
    whole: bool = True  #: Whether they are added as they are, and not merged into what is there.
    kinds: frozenset[str] = frozenset()  #: The kinds of object that get them; empty where that is not known.
    #: The labels that these objects must have; None for any, or where that is not known.
    selector: LabelSelector | None = None
    #: Whether only objects that opt in may get them, by a label, a name or a namespace; so too where that is
    #: not known.
    narrowed: bool = True
    #: The labels that the same mutation puts on the pods; None where it puts some that are unknown.
    labels: Mapping[str, str] | None = field(default_factory=dict)

    def place(self, inner: FieldPath) -> tuple[FieldPath, str]:
        """Return where a field of the constraints is, and a name for it where that is within a text.

        Args:
            inner: The path from the list of constraints on.
        """
        if not self.readable:
            return self.path, f"{FieldPath((CONSTRAINTS,)) + inner}: "
        rest = inner.segments[1:] if self.single else inner.segments
        return FieldPath(self.path.segments + rest), ""

    def literal(self) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
        """Yield the constraints with their inner paths, without those that are no objects."""
        for position, entry in enumerate(self.constraints):
            if isinstance(entry, dict) and not any(is_unknown(name) for name in entry):
                yield FieldPath((position,)), entry

    def valid(self) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
        """Yield the constraints that are literal throughout and without errors."""
        for inner, entry in self.literal():
            if not _holds_unknown(entry) and not constraint_errors([entry], FieldPath(), labels={}):
                yield inner, entry


def is_unknown(value: object) -> bool:
    """Return whether a value is made at run time: a template (``{{ … }}``) or an expression."""
    return isinstance(value, str) and "{{" in value


def _holds_unknown(value: object) -> bool:
    if isinstance(value, dict):
        return any(is_unknown(name) or _holds_unknown(item) for name, item in value.items())
    if isinstance(value, list):
        return any(map(_holds_unknown, value))
    return is_unknown(value)


def injected_errors(injection: ForeignInjection) -> Iterator[tuple[FieldPath, str]]:
    """Yield the errors that the API server would report for the literal parts, each with its inner path."""
    entries = list(injection.constraints)
    for error in constraint_errors(entries, FieldPath(), labels={}, of_template=True):
        way = error.path.segments
        # What is merged into a constraint that is there need not be complete.
        if not injection.whole and (error.rule in _OF_A_WHOLE or not _is_set(entries, way)):
            continue
        if not _passes_unknown(entries, way):
            yield error.path, error.problem


def _is_set(entry: object, way: tuple[str | int, ...]) -> bool:
    return not any(node is None for node in _passed(entry, way))


def _passes_unknown(entry: object, way: tuple[str | int, ...]) -> bool:
    """Return whether an error may come from a part that is made at run time, on the way to it or below."""
    last = entry
    for node in _passed(entry, way):
        if isinstance(last, dict) and any(map(is_unknown, last)):
            return True
        if node is None:
            # A field that is missing, or two together ("{topologyKey, whenUnsatisfiable}").
            return any("{" in str(segment) for segment in way) and _holds_unknown(last)
        last = node
    return _holds_unknown(last)


def _passed(entry: Any, way: tuple[str | int, ...]) -> Iterator[Any]:
    """Yield every value on a way; None once, at its end, where there is none or null."""
    for segment in way:
        found = None
        if isinstance(entry, dict):
            found = entry.get(segment)
        elif isinstance(entry, list) and isinstance(segment, int) and segment < len(entry):
            found = entry[segment]
        yield found
        if found is None:
            return
        entry = found


def read_selector(raw: object) -> LabelSelector | None:
    """Return a selector that is literal and valid; None for any other."""
    if not isinstance(raw, dict) or _holds_unknown(raw) or label_selector_errors(raw, FieldPath()):
        return None
    selector = LabelSelector.parse(raw)
    values = [value for _, value in selector.match_labels]
    values += [value for entry in selector.match_expressions for value in entry.values]
    # Kyverno takes wildcards.
    return None if selector.empty or any("*" in value or "?" in value for value in values) else selector


def of_operations(operations: Iterable[object], around: ForeignInjection) -> list[ForeignInjection]:
    """Return the constraints that operations inject.

    Args:
        operations: The operations, in their order; what is none is left out.
        around: Everything but the constraints and the labels.
    """
    added = [
        entry for entry in operations if isinstance(entry, dict) and entry.get("op") in ("add", "replace")
    ]
    labels = _labels(added)
    return [
        replace(around, constraints=tuple(constraints), labels=labels, whole=True)
        for constraints in map(_constraints, added)
        if constraints
    ]


def _constraints(operation: Mapping[str, Any]) -> list[Any]:
    path, value = operation.get("path"), operation.get("value")
    match = _ADDED.fullmatch(path) if isinstance(path, str) else None
    if match is None:
        return []
    if match[1] is not None:
        return [value] if isinstance(value, dict) else []
    return value if isinstance(value, list) else []


def _labels(operations: Iterable[Mapping[str, Any]]) -> dict[str, str] | None:
    """Return the labels that operations put on the pods; None if some are unknown."""
    labels: dict[str, str] = {}
    for operation in operations:
        path, value = operation.get("path"), operation.get("value")
        match = _LABELS.fullmatch(path) if isinstance(path, str) else None
        if match is None:
            continue
        given = {match[1].replace("~1", "/").replace("~0", "~"): value} if match[1] else value
        if not isinstance(given, dict):
            return None
        labels |= {str(key): str(item) for key, item in given.items()}
    return labels

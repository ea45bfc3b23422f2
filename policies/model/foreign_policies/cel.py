"""Mutating policies in CEL that inject spread constraints: Kubernetes' own, and Kyverno's superset."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from policies.manifests.fields import ErrorList, FieldPath, descend
from policies.model.foreign_policies.cel_literals import Tokens, read_literal
from policies.model.foreign_policies.constraints import CONSTRAINTS, ForeignInjection, read_selector
from policies.model.foreign_policies.patches import of_operations
from policies.model.workload_kinds import KNOWN_KINDS

#: The kinds by the name of their resource.
_KINDS = {f"{kind.kind.lower()}s": kind.kind for kind in KNOWN_KINDS}
#: Fields of a condition that select certain objects; too many rather than too few.
_ASKING = re.compile("label|annotation|name", re.IGNORECASE)
#: Literals that are read of one expression, each from its place to its end. A policy has a few,
#: and a hostile text of a million costs no more.
_MAX_LITERALS = 20


def injections(obj: Mapping[str, Any], *, has_binding: bool) -> Iterator[ForeignInjection]:
    """Yield the constraints that the mutations of a policy inject.

    Args:
        obj: The policy.
        has_binding: Whether another document says which objects it is for.
    """
    found = ErrorList()
    spec = descend(obj, ("spec",), found)
    for path, mutation in found.objects(spec.get("mutations"), FieldPath(("spec", "mutations"))):
        for name, read in (("applyConfiguration", _applied), ("jsonPatch", _patched)):
            expression = descend(mutation, (name,), found).get("expression")
            if isinstance(expression, str) and CONSTRAINTS in expression:
                around = _matched(spec, path.child(name, "expression"), has_binding=has_binding)
                yield from read(expression, around)


def _matched(spec: Mapping[str, Any], path: FieldPath, *, has_binding: bool) -> ForeignInjection:
    """Return an injection of nothing into what a policy matches."""
    found = ErrorList()
    match = descend(spec, ("matchConstraints",), found)
    listed = [
        str(name)
        for _, rule in found.objects(match.get("resourceRules"), FieldPath())
        for name in found.items(rule.get("resources"), FieldPath())
    ]
    conditions = [
        entry.get("expression") for _, entry in found.objects(spec.get("matchConditions"), FieldPath())
    ]
    return ForeignInjection(
        path=path,
        constraints=(),
        readable=False,
        kinds=frozenset(_KINDS[name] for name in listed) if _KINDS.keys() >= set(listed) else frozenset(),
        selector=read_selector(match.get("objectSelector")),
        narrowed=has_binding
        or bool(match.get("objectSelector") or match.get("namespaceSelector"))
        or any(_ASKING.search(str(condition)) for condition in conditions),
    )


def _applied(expression: str, around: ForeignInjection) -> Iterator[ForeignInjection]:
    """Yield the lists of an apply configuration, which the API server merges into those of the object."""
    labels = _labels(expression)
    for value in _values(expression, CONSTRAINTS):
        if isinstance(value, list) and value:
            yield replace(around, constraints=tuple(value), whole=False, labels=labels)


def _patched(expression: str, around: ForeignInjection) -> Iterator[ForeignInjection]:
    tokens = Tokens(expression)
    operations = []
    patches = (at for at, token in enumerate(tokens.found) if token == ("name", "JSONPatch"))
    for position in islice(patches, _MAX_LITERALS):
        tokens.at = position
        operations.append(read_literal(tokens))
    yield from of_operations(operations, around)


def _labels(expression: str) -> dict[str, str] | None:
    labels: dict[str, str] = {}
    for value in _values(expression, "labels"):
        if not isinstance(value, dict):
            return None
        labels |= {str(key): str(item) for key, item in value.items()}
    return labels


def _values(expression: str, name: str) -> Iterator[Any]:
    """Yield the values that are given to fields of a name."""
    tokens = Tokens(expression)
    spellings = (name, f'"{name}"', f"'{name}'")
    fields = (
        at
        for at, (_, text) in enumerate(tokens.found)
        if text in spellings and tokens.found[at + 1 : at + 2] == [("mark", ":")]
    )
    for position in islice(fields, _MAX_LITERALS):
        tokens.at = position + 2
        yield read_literal(tokens)

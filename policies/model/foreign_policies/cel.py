"""Mutating policies in CEL that inject spread constraints: Kubernetes' own, and Kyverno's superset.

Evaluates no expression, but reads the literals in it. Anything that is no literal (a variable, a call, an
operator) is ``UNKNOWN``. ``dyn(…)`` is taken for what it wraps, and a message (``Object.spec{replicas: 3}``)
for an object of its fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from policies.manifests.fields import ErrorList, FieldPath, descend
from policies.model.foreign_policies.constraints import (
    CONSTRAINTS,
    ForeignInjection,
    of_operations,
    read_selector,
)
from policies.model.workload_kinds import KNOWN_KINDS

#: The kinds by the name of their resource.
_KINDS = {f"{kind.kind.lower()}s": kind.kind for kind in KNOWN_KINDS}
#: Fields of a condition that select certain objects; too many rather than too few.
_ASKING = re.compile("label|annotation|name", re.IGNORECASE)
#: Literals that are read of one expression, each from its place to its end. A policy has a few,
#: and a hostile text of a million costs no more.
_MAX_LITERALS = 20

#: What stands for a part that is not written literally. It looks like a template, so that what reads
#: templated documents need not tell the two apart.
UNKNOWN: Final = "{{ … }}"

_TOKEN = re.compile(
    r"""(?P<space>\s++)
      | (?P<comment>//[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)
      | (?P<number>-?\d++(?![\w.]))
      | (?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
      | (?P<mark>&&|\|\||[=!<>]=|-?\d[\w.]*+|\S)
    """,
    re.VERBOSE,
)
_PAIRS = {"[": "]", "{": "}", "(": ")"}
_WORDS = {"true": True, "false": False, "null": None}
#: Levels of nesting that are read. A constraint has four.
_MAX_DEPTH = 32


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


class Tokens:
    """The tokens of an expression, with a place to read on from."""

    def __init__(self, text: str) -> None:
        self.found = [
            (match.lastgroup or "", match[match.lastgroup or 0])
            for match in _TOKEN.finditer(text)
            if match.lastgroup not in {"space", "comment"}
        ]
        self.at = 0

    def peek(self) -> tuple[str, str]:
        """Return the kind and the text of the next token; both empty at the end."""
        return self.found[self.at] if self.at < len(self.found) else ("", "")

    def take(self, text: str) -> bool:
        """Go past the next token if it is this one, and return whether it was."""
        if self.peek()[1] != text or self.peek()[0] == "string":
            return False
        self.at += 1
        return True


def read_literal(tokens: Tokens, depth: int = 0) -> Any:
    """Read one operand of a list, an object or a call, up to the mark that ends it.

    >>> read_literal(Tokens('[{"maxSkew": dyn(1), "topologyKey": variables.key}]'))
    [{'maxSkew': 1, 'topologyKey': '{{ … }}'}]
    >>> read_literal(Tokens('Object.spec{replicas: 3 + 1}'))
    {'replicas': '{{ … }}'}
    """
    value = _operand(tokens, depth)
    if tokens.peek()[1] in ("", ",", "]", "}", ")"):
        return value
    _skip(tokens)
    return UNKNOWN


def _operand(tokens: Tokens, depth: int) -> Any:
    kind, text = tokens.peek()
    if depth > _MAX_DEPTH:
        return UNKNOWN
    tokens.at += 1
    match kind:
        case "string":
            return _unquoted(text)
        case "number":
            return int(text) if len(text) < 20 else UNKNOWN
        case "name" if text in _WORDS:
            return _WORDS[text]
        case "name" if text == "dyn" and tokens.take("("):
            value = read_literal(tokens, depth + 1)
            return value if tokens.take(")") else UNKNOWN
        case "name" if text.partition(".")[0] in ("Object", "JSONPatch") and tokens.take("{"):
            return _members(tokens, depth)
        case "mark" if text == "[":
            return _items(tokens, depth)
        case "mark" if text == "{":
            return _members(tokens, depth)
    tokens.at -= 1
    _skip(tokens)
    return UNKNOWN


def _items(tokens: Tokens, depth: int) -> Any:
    items = []
    while not tokens.take("]"):
        if not tokens.peek()[0]:
            return UNKNOWN
        items.append(read_literal(tokens, depth + 1))
        if not tokens.take(",") and tokens.peek()[1] != "]":
            return UNKNOWN
    return items


def _members(tokens: Tokens, depth: int) -> Any:
    members = {}
    while not tokens.take("}"):
        kind, text = tokens.peek()
        tokens.at += 1
        if kind not in ("name", "string") or not tokens.take(":"):
            return UNKNOWN
        members[_unquoted(text) if kind == "string" else text] = read_literal(tokens, depth + 1)
        if not tokens.take(",") and tokens.peek()[1] != "}":
            return UNKNOWN
    return members


def _unquoted(text: str) -> str:
    is_closed = len(text) > 1 and text[-1] == text[0]
    return text[1:-1] if is_closed and "\\" not in text else UNKNOWN


def _skip(tokens: Tokens) -> None:
    """Go to the mark that ends the operand, past whatever is in brackets."""
    closing: list[str] = []
    while tokens.peek()[0]:
        kind, text = tokens.peek()
        if not closing and kind == "mark" and text in (",", "]", "}", ")"):
            return
        if kind == "mark" and text in _PAIRS:
            closing.append(_PAIRS[text])
        elif kind == "mark" and closing and text == closing[-1]:
            closing.pop()
        tokens.at += 1

"""Literals in a CEL expression: values written out in it. Evaluates nothing.

Anything that is no literal (a variable, a call, an operator) is ``UNKNOWN``. ``dyn(…)`` is taken for what it
wraps, and a message (``Object.spec{replicas: 3}``) for an object of its fields.
"""

from __future__ import annotations

import re
from typing import Any, Final

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

"""The value of a scalar in a manifest: as kubectl reads an unquoted one, and where a template leaves it open.

kubectl turns YAML into JSON with sigs.k8s.io/yaml, which resolves scalars as go-yaml v2 does: YAML 1.1
words (``yes``, ``on``, ``y``), octal ``017`` and ``0o17``, no base 60, timestamps left as text. Python's
own YAML resolver differs in each of these, so the rules are written out here.

Source: ``goyaml.v2/resolve.go`` and ``yaml.go`` of kubernetes-sigs/yaml.
"""

from __future__ import annotations

import base64
import math
import re
from typing import Any, TypeAlias

#: A value of JSON that holds no others.
Scalar: TypeAlias = str | int | float | bool | None

#: First characters of numbers. Any other unquoted scalar is a string, unless it is one of ``_WORDS``.
_NUMBER_FIRST = frozenset("+-0123456789.")

#: The words that are no strings (go-yaml v2's table).
_WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}

#: How placeholders start that another tool fills in: Helm, Jinja, Flux, envsubst, Kustomize's vars, ERB.
#: No label, topology key or word of the API can contain any of them.
_PLACEHOLDER_START = re.compile(r"\{\{|\{%|\$\{|\$\(|<%")
#: What encloses a text that a person or ``sed`` fills in: ``<REPLICAS>``, ``@NAME@``.
_ENCLOSING = {"<": ">", "@": "@"}

_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_OCTAL = re.compile(r"[-+]?0[0-7]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")

#: Characters of the longest 64-bit integer: sign, "0b" and 64 digits.
_INTEGER_LENGTH = 67
#: The integers that Go keeps exact; it reads others as floats.
_INT64_MIN, _UINT64_MAX = -(2**63), 2**64 - 1
#: From here Go writes a float with an exponent, which is then no integer for Kubernetes (encoding/json).
_EXPONENT_FROM = 1e21

_TAG_PREFIX = "tag:yaml.org,2002:"


def resolved(text: str, tag: str | None, *, plain: bool) -> Scalar:
    """Return the value of a scalar, by its tag if it has one.

    Raises:
        ValueError: JSON has no such value; the message is the rest of a sentence.
    """
    if tag is not None:
        return tagged(tag, text)
    return unquoted(text) if plain else text


def unquoted(text: str) -> Scalar:
    """Return the value of an unquoted scalar.

    Raises:
        ValueError: A number that JSON cannot hold; the message is the rest of a sentence.

    >>> [unquoted(text) for text in ("web", "on", "017", "0o17", "1_000", "1.0", "08", "12:30:45", "~")]
    ['web', True, 15, 15, 1000, 1, 8, '12:30:45', None]
    >>> unquoted("2001-12-14")
    '2001-12-14'
    """
    if text in _WORDS:
        word = _WORDS[text]
        return as_number(word) if isinstance(word, float) else word
    if text[0] not in _NUMBER_FIRST:
        return text
    plain = text if text[0] == "." else text.replace("_", "")
    if len(plain) <= _INTEGER_LENGTH and _INTEGER.fullmatch(plain):
        whole = int(plain, 8) if _OCTAL.fullmatch(plain) else int(plain, 0)
        return whole if _INT64_MIN <= whole <= _UINT64_MAX else as_number(float(whole))
    if not _FLOAT.fullmatch(plain):
        return text
    number = float(plain)
    # Go reads no number that is too large for one: it stays text.
    return as_number(number) if math.isfinite(number) else text


def as_number(value: float) -> int | float:
    """Return a number as it is in JSON: without a fraction it is an integer.

    >>> as_number(1.0), as_number(1.5), as_number(1e30)
    (1, 1.5, 1e+30)
    """
    if not math.isfinite(value):
        raise ValueError("infinite, too large or no number: Kubernetes objects have no such value")
    return int(value) if value.is_integer() and abs(value) < _EXPONENT_FROM else value


def tagged(tag: str, text: str) -> Scalar:
    """Return the value of a scalar with an explicit tag; tags that kubectl does not know make strings.

    Raises:
        ValueError: The text does not fit the tag, or JSON has no such value.

    >>> tagged("tag:yaml.org,2002:str", "1"), tagged("!Ref", "1"), tagged("tag:yaml.org,2002:float", "1")
    ('1', '1', 1)
    """
    name = tag.removeprefix(_TAG_PREFIX)
    if name == "binary":
        return _decoded(text)
    if name not in _TYPES:
        return text
    value = unquoted(text)
    if not isinstance(value, _TYPES[name]) or (name != "bool" and isinstance(value, bool)):
        raise ValueError(f"!!{name} on a value that is none")
    return value


def _decoded(text: str) -> str:
    try:
        found = base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True)
    except ValueError as error:
        raise ValueError("!!binary on a value that is not base64") from error
    return found.decode(errors="replace")


#: What the text of a scalar with the tag must resolve to.
_TYPES: dict[str, type | tuple[type, ...]] = {
    "bool": bool,
    "int": int,
    "float": (int, float),
    "null": type(None),
}


def as_key(value: Scalar) -> str:
    """Return a scalar as the key of a JSON object, as kubectl spells it.

    Raises:
        ValueError: null, which has no spelling.

    >>> as_key(8080), as_key(True), as_key(1.5)
    ('8080', 'true', '1.5')
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case None:
            raise ValueError("a key is empty or null: keys are strings")
    return str(value)


def has_placeholder(value: Any) -> bool:
    """Return whether a value contains a text that another tool fills in before the manifest is applied.

    What such a text will be is not known, so it is neither right nor wrong.

    >>> has_placeholder({"labelSelector": {"matchLabels": {"app": "${APP}"}}}), has_placeholder("web")
    (True, False)
    >>> has_placeholder("<REPLICAS>"), has_placeholder("a@b")
    (True, False)
    """
    if isinstance(value, str):
        return _PLACEHOLDER_START.search(value) is not None or _is_enclosed(value)
    if isinstance(value, dict):
        return any(has_placeholder(key) or has_placeholder(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(has_placeholder, value))


def is_bare_placeholder(value: Any) -> bool:
    """Return whether YAML made a mapping of a text that a program fills in, as of ``name: {name}``.

    >>> is_bare_placeholder({"name": None}), is_bare_placeholder({"app": "web"})
    (True, False)
    """
    return isinstance(value, dict) and len(value) == 1 and None in value.values()


def _is_enclosed(text: str) -> bool:
    return len(text) > 2 and _ENCLOSING.get(text[0]) == text[-1]

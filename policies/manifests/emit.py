"""Write values as the text around them is written: YAML blocks, YAML in brackets, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from policies.manifests import scalars

#: Text that no YAML reader takes for anything but text, in blocks and in brackets.
_PLAIN = re.compile(r"[A-Za-z0-9_./](?:[A-Za-z0-9_./:@+-]*[A-Za-z0-9_./@+-])?")
_STR_TAG = "tag:yaml.org,2002:str"
_resolver: Any = yaml.resolver.Resolver()


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """How far a document moves its blocks to the right, in columns."""

    step: int = 2  #: A mapping below its key.
    list_offset: int = 2  #: The dashes of a list below its key; often 0.
    dash_width: int = 2  #: An item below its dash.


@dataclass(frozen=True, slots=True)
class JsonLayout:
    """How JSON is written."""

    #: What each level adds at the start of a line; None for everything on one line.
    indent: str | None = None
    colon: str = ": "  #: What is between key and value.
    comma: str = ", "  #: What is between two entries on one line.


def scalar_text(value: Any, style: str = "") -> str:
    """Return a scalar, or an empty list or mapping, as YAML.

    Args:
        value: The value.
        style: The quote to write a text in; empty for none where none is needed.

    >>> [scalar_text(value) for value in ("web", "on", "12:30", "a: b", 3, None, {})]
    ['web', '"on"', '"12:30"', '"a: b"', '3', 'null', '{}']
    >>> scalar_text("web", "'")
    "'web'"
    """
    if not isinstance(value, str):
        return json.dumps(value)
    text = str(value)
    if style == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return text if style != '"' and _is_plain(text) else json.dumps(text, ensure_ascii=False)


def block_lines(value: Any, layout: BlockLayout) -> list[str]:
    """Return a value as the lines of a YAML block, which start in column 0.

    >>> block_lines([{"a": {"b": 1}, "c": [2]}], BlockLayout(list_offset=0))
    ['- a:', '    b: 1', '  c:', '  - 2']
    """
    if isinstance(value, Mapping) and value:
        return [line for key, inner in value.items() for line in entry_lines(key, inner, layout)]
    if isinstance(value, list | tuple) and value:
        return [line for item in value for line in item_lines(item, layout)]
    return [scalar_text(value)]


def entry_lines(key: str, value: Any, layout: BlockLayout) -> list[str]:
    """Return a key and its value as lines."""
    name = scalar_text(key)
    if not isinstance(value, Mapping | list | tuple) or not value:
        return [f"{name}: {scalar_text(value)}"]
    offset = layout.step if isinstance(value, Mapping) else layout.list_offset
    return [f"{name}:", *(" " * offset + line for line in block_lines(value, layout))]


def item_lines(value: Any, layout: BlockLayout) -> list[str]:
    """Return an item of a list as lines, with its dash."""
    first, *rest = block_lines(value, layout)
    return ["-".ljust(layout.dash_width) + first, *(" " * layout.dash_width + line for line in rest)]


def flow_text(value: Any) -> str:
    """Return a value as YAML in brackets.

    >>> flow_text({"matchLabels": {"app": "web"}, "keys": ["y"]})
    '{matchLabels: {app: web}, keys: ["y"]}'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(flow_entry(key, inner) for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow_text, value)) + "]"
    return scalar_text(value)


def flow_entry(key: str, value: Any) -> str:
    """Return a key and its value as YAML in brackets has them."""
    return f"{scalar_text(key)}: {flow_text(value)}"


def json_text(value: Any, layout: JsonLayout, *, prefix: str = "") -> str:
    """Return a value as JSON; ``prefix`` is how its line begins."""
    if layout.indent is None or not value:
        return json.dumps(value, ensure_ascii=False, separators=(layout.comma, layout.colon))
    separators = (",", layout.colon)
    text = json.dumps(value, ensure_ascii=False, indent=layout.indent, separators=separators)
    return text.replace("\n", "\n" + prefix)


def _is_plain(text: str) -> bool:
    try:
        if not _PLAIN.fullmatch(text) or scalars.unquoted(text) is not text:
            return False
    except ValueError:
        return False  # A number that JSON cannot hold, as the label value 1E400 would be without quotes.
    return bool(_resolver.resolve(yaml.ScalarNode, text, (True, False)) == _STR_TAG)

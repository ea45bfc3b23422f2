"""The events of a YAML text as libyaml gives them, and for what kubectl's parser takes besides.

libyaml refuses a plain text in brackets that has a colon right before a bracket or comma, as IPv6 prefixes
have (``[001:db8::]``); go-yaml, which was made from it, reads on. Where libyaml stops so, the text is read
again with a stand-in of the same length for such colons: every line and column stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import yaml

#: What libyaml says of such a colon.
_REFUSED = "found unexpected ':'"
#: Colons before what ends a plain text in brackets.
_COLONS = re.compile(r"(?<!:):+(?=[][{},])")
#: An alias or an anchor that ends where a colon stands, as in ``{*key:[1]}``: then the colon is no text.
_NAME = re.compile(r"(?:^|[\s,\[{])[*&][0-9A-Za-z_-]*\Z")
#: Characters before a colon in which the start of such a name is looked for. Arbitrary; bounds the cost.
_NAME_LENGTH = 80
#: What no plain text ends with: then the colon parts a key from its value.
_NO_TEXT = frozenset(" \t\r\n\"'[]{},")
#: Characters for private use: one that the text does not have is the stand-in.
_PRIVATE_USE = range(0xE000, 0xF900)


def events(text: str) -> Iterator[Any]:
    """Yield the events of a stream.

    Raises:
        YAMLError: It is no YAML.
    """
    # The fallback is PyYAML without libyaml.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    given = 0
    try:
        next_event = loader(text).get_event
        while (event := next_event()) is not None:
            given += 1
            yield event
    except yaml.scanner.ScannerError as error:
        stand_in = next((chr(code) for code in _PRIVATE_USE if chr(code) not in text), "")
        if error.problem != _REFUSED or not stand_in:
            raise
        again = loader(_COLONS.sub(lambda found: _text_of(found, stand_in), text)).get_event
    else:
        return
    for event in islice(iter(again, None), given, None):
        if type(event) is yaml.ScalarEvent:
            event.value = event.value.replace(stand_in, ":")
        yield event


def _text_of(found: re.Match[str], stand_in: str) -> str:
    """Return the stand-ins for colons that are text wherever they stand, other colons as they are."""
    text, start = found.string, found.start()
    before = text[start - 1 : start]
    if not before or before in _NO_TEXT or _NAME.search(text[max(0, start - _NAME_LENGTH) : start]):
        return found[0]
    return stand_in * len(found[0])

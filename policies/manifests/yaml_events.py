"""The events of a YAML text as libyaml gives them, and what it finds wrong in plain words.

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

#: Levels of lists and mappings in one document; CustomResourceDefinitions reach about 40.
MAX_DEPTH = 200
TOO_DEEP = f"lists and mappings are nested more than {MAX_DEPTH} levels deep"
#: The message of releases of libyaml that count levels themselves, up to a thousand, and read ahead.
_NESTED = "exceeded maximum nesting depth"

#: libyaml's message on such a colon.
_REFUSED = "found unexpected ':'"
#: Colons before what ends a plain text in brackets.
_COLONS = re.compile(r"(?<!:):+(?=[][{},])")
#: Any text with such a colon, and few others: libyaml may refuse it.
_MAY_BE_REFUSED = re.compile(r":[][{},]")
#: An alias or an anchor that ends where a colon is, as in ``{*key:[1]}``: then the colon is no text.
_NAME = re.compile(r"(?:^|[\s,\[{])[*&][0-9A-Za-z_-]*\Z")
#: Characters before a colon in which the start of such a name is looked for; bounds the cost.
_NAME_LENGTH = 80
#: What no plain text ends with: then the colon parts a key from its value.
_NO_TEXT = frozenset(" \t\r\n\"'[]{},")
#: Characters for private use: one that the text does not have is the stand-in.
_PRIVATE_USE = range(0xE000, 0xF900)
#: The messages of libyaml, or of PyYAML without it → what each means to the author of a manifest.
_PLAIN_WORDS = {
    "mapping values are not allowed in this context": (
        'a second ":" on the line, or a wrong indentation; quote a value that contains ": "'
    ),
    "mapping values are not allowed here": (
        'a second ":" on the line, or a wrong indentation; quote a value that contains ": "'
    ),
    "could not find expected ':'": 'a line without ":" where a "key: value" belongs',
    "did not find expected key": "a key belongs here: check the indentation and the quotes before",
    "did not find expected '-' indicator": "a list item belongs here: check the indentation",
    "block sequence entries are not allowed in this context": 'a "- " where no list can start',
    "did not find expected ',' or ']'": 'a list in brackets needs "," between items and "]" at its end',
    "did not find expected ',' or '}'": 'a mapping in braces needs "," between entries and "}" at its end',
    "found unexpected end of stream": "the closing quote of this text is missing",
    "found unexpected document indicator": "the closing quote of this text is missing",
    "found undefined tag handle": "a tag with a prefix that no %TAG line explains",
    "found unexpected ':'": 'a ":" inside a text in brackets; quote the text',
    "control characters are not allowed": "a control character, which YAML does not allow",
    "did not find expected <document start>": 'a "---" or the end of the file belongs here',
}
#: What libyaml notices lines later; the place where it began is the one to fix.
_REPORTED_AT_START = frozenset(
    {
        "found unexpected end of stream",
        "found unexpected document indicator",
        "could not find expected ':'",
    }
)
_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_NOTHING_STARTS = "that cannot start any token"
_MERGE_TAG = "tag:yaml.org,2002:merge"


def events(text: str) -> Iterator[Any]:
    """Return the events of a stream.

    Raises:
        YAMLError: It is no YAML, here or where an event is read.
    """
    # The fallback is PyYAML without libyaml.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if _MAY_BE_REFUSED.search(text):
        return _with_colons(text, loader)
    return iter(loader(text).get_event, None)


def _with_colons(text: str, loader: Any) -> Iterator[Any]:
    """Yield the events of a stream that libyaml may refuse for its colons."""
    given = 0
    try:
        for event in iter(loader(text).get_event, None):
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
    """Return the stand-ins for colons that are text wherever they are, other colons as they are."""
    text, start = found.string, found.start()
    before = text[start - 1 : start]
    if not before or before in _NO_TEXT or _NAME.search(text[max(0, start - _NAME_LENGTH) : start]):
        return found[0]
    return stand_in * len(found[0])


def is_merge_key(event: Any) -> bool:
    """Return whether a scalar, where it is a key, is ``<<``, which brings the entries of other mappings."""
    return bool(event.value == "<<" and (event.implicit[0] or event.tag == _MERGE_TAG))


def sentence(error: yaml.YAMLError, text: str) -> tuple[int, str]:
    """Return the line, from 1, and a sentence that names the column."""
    if isinstance(error, yaml.reader.ReaderError):
        return _unreadable(error, text)
    problem = str(getattr(error, "problem", None) or error).splitlines()[0]
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return 1, f"is not YAML: {problem}"
    if problem == _NESTED:
        return mark.line + 1, TOO_DEEP
    if problem in _REPORTED_AT_START or mark.index >= len(text.rstrip("\r\n")):
        mark = getattr(error, "context_mark", None) or mark
    lines = _LINE_BREAK.split(text.rstrip("\r\n"))
    # libyaml counts a line behind the last one.
    number = min(mark.line, len(lines) - 1)
    plain = _plain(problem, lines[number], mark.column)
    return number + 1, f"is not YAML: column {mark.column + 1}: {plain}"


def _plain(problem: str, line: str, column: int) -> str:
    if "{{" in line:
        return "a template, by its {{ }}; render it first (helm template)"
    if problem.startswith("found character") and problem.endswith(_NOTHING_STARTS):
        found = line[column : column + 1]
        if found == "\t":
            return "a tab; YAML takes only spaces for indentation"
        return f'no value can start with "{found}"; quote it'
    return _PLAIN_WORDS.get(problem, problem)


def _unreadable(error: yaml.reader.ReaderError, text: str) -> tuple[int, str]:
    """Return the sentence for a character that YAML forbids; ``position`` counts characters or bytes."""
    found = error.character if isinstance(error.character, int) else ord(error.character)
    position = text.find(chr(found))
    line = text.count("\n", 0, position) + 1 if position >= 0 else 1
    return line, f"is not YAML: the character U+{found:04X}, which YAML does not allow"

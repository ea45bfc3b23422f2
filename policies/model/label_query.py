"""Label selectors as kubectl takes them on a command line: ``app=web,tier in (front,back),!canary``.

Source: ``Parse``, ``staging/src/k8s.io/apimachinery/pkg/labels/selector.go``, Kubernetes 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from policies.manifests.errors import UsageError
from policies.manifests.fields import shown
from policies.model.labels import (
    LabelSelector,
    Operator,
    Requirement,
    label_key_problems,
    label_value_problems,
)

_SET: Final = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL: Final = re.compile(r"([^=!\s]+)\s*(==|=|!=)\s*([^=!\s]*)")
_EXISTS: Final = re.compile(r"(!?)\s*([^=!\s()]+)")


def parse_label_query(text: str) -> LabelSelector:
    """Read a selector.

    Raises:
        UsageError: It is none.

    >>> parse_label_query("app=web, tier in (a,b), !old").matches({"app": "web", "tier": "b"})
    True
    """
    requirements = tuple(_requirement(part.strip()) for part in _parts(text))
    for requirement in requirements:
        problems = [
            *label_key_problems(requirement.key),
            *(problem for value in requirement.values for problem in label_value_problems(value)),
        ]
        if problems:
            raise UsageError(f"label selector: Invalid value: {shown(text)}: {problems[0]}")
    return LabelSelector(match_expressions=requirements)


def _parts(text: str) -> Iterator[str]:
    """Yield the parts that commas outside brackets separate."""
    start = depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            yield text[start:position]
            start = position + 1
    yield text[start:]


def _requirement(text: str) -> Requirement:
    if found := _SET.fullmatch(text):
        values = tuple(value.strip() for value in found[3].split(","))
        return Requirement(found[1], Operator.IN if found[2] == "in" else Operator.NOT_IN, values)
    if found := _EQUAL.fullmatch(text):
        return Requirement(found[1], Operator.NOT_IN if found[2] == "!=" else Operator.IN, (found[3],))
    if found := _EXISTS.fullmatch(text):
        return Requirement(found[2], Operator.DOES_NOT_EXIST if found[1] else Operator.EXISTS, ())
    raise UsageError(
        f"label selector: Invalid value: {shown(text)}: must be such as app=web or tier in (a,b)"
    )

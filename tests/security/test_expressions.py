"""No regular expression takes more than time in proportion to a text that somebody else wrote."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import certs
import planning
import policies
import webhook
from tests.security.shapes import FILLERS

#: How expressions are used that are not matched from a place on: they start anywhere in a text.
ANYWHERE = {
    "policies.manifests.documents._INNER_BOM": re.Pattern.finditer,
    "policies.model.foreign_policies.cel._TOKEN": re.Pattern.finditer,
    "policies.model.foreign_policies.cel._ASKING": re.Pattern.search,
    "policies.model.foreign_policies.detect._ASKING": re.Pattern.search,
    "policies.reports.markdown._MARKUP": re.Pattern.finditer,
    "policies.rules.selector_shared._VARIANT": re.Pattern.finditer,
    "policies.manifests.json_values._ESCAPED_SURROGATE": re.Pattern.search,
    "policies.manifests.node_builder._JSON_TOKEN": re.Pattern.finditer,
    "policies.manifests.yaml_events._COLONS": re.Pattern.finditer,
    "policies.manifests.yaml_events._MAY_BE_REFUSED": re.Pattern.search,
    "policies.manifests.yaml_events._LINE_BREAK": re.Pattern.finditer,
    "webhook.lint.field_origins._BREAK": re.Pattern.finditer,
    "webhook.requests.frame._STEERING": re.Pattern.finditer,
    "webhook.lint.charts._SOURCE": re.Pattern.finditer,
    "webhook.lint.parse._DOCUMENT_START": re.Pattern.search,
}
#: Expressions that only meet short texts, or our own.
ELSEWHERE = {
    # At most _NAME_LENGTH characters are searched.
    "policies.manifests.yaml_events._NAME",
    # Manuals of rules.
    "policies.lint.reports.rule_manual._SENTENCE",
}
#: Characters of a text, and seconds that are too few to compare.
LENGTH, SHORT_S = 8_000, 0.004
#: How much more twice the text may take: twice, and some noise; four times would be quadratic.
MOST = 3.3


def _expressions() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for package in (planning, policies, webhook, certs):
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            if "re.compile(" not in path.read_text(encoding="utf-8"):
                continue
            name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
            for variable, value in sorted(vars(import_module(name)).items()):
                if isinstance(value, re.Pattern):
                    yield f"{name}.{variable}", value


EXPRESSIONS = dict(_expressions())
#: The texts before the fillers: beginnings of what expressions search for.
BEGINNINGS = (
    "",
    "a",
    '"',
    "'",
    "{",
    "[",
    " (",
    "0",
    "a/",
    "spec.",
    "//",
    "#",
    "---",
    "bearer ",
    "\\",
    "E0000 0 0 ",
)


def _texts(length: int) -> Iterator[str]:
    fillers = (
        *FILLERS,
        "0",
        "a.",
        "a-",
        "a/",
        " (a)",
        "(a)",
        ":",
        ";",
        '\\"',
        "\\'",
        "0a",
        "1m",
        ", ",
        "\n---",
        "\t",
    )
    for beginning in BEGINNINGS:
        for filler in fillers:
            for end in ("", "\0", "!"):
                yield beginning + filler * (length // len(filler)) + end


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _use(name: str, pattern: re.Pattern[Any], text: str) -> Callable[[], object]:
    content: Any = text.encode() if isinstance(pattern.pattern, bytes) else text
    method: Any = ANYWHERE.get(name)
    if method is None:
        return lambda: (pattern.match(content), pattern.fullmatch(content))
    if method is re.Pattern.finditer:
        return lambda: sum(1 for _ in pattern.finditer(content))
    return lambda: method(pattern, content)


@pytest.mark.parametrize("name", sorted(EXPRESSIONS.keys() - ELSEWHERE))
def test_expressions_are_linear(name: str) -> None:
    """Twice as long a text takes twice as long, whatever it is made of."""
    pattern = EXPRESSIONS[name]
    for single, double in zip(_texts(LENGTH), _texts(2 * LENGTH), strict=True):
        if _seconds(_use(name, pattern, single)) < SHORT_S:
            continue
        least = min(_seconds(_use(name, pattern, single)) for _ in range(5))
        most = min(_seconds(_use(name, pattern, double)) for _ in range(5))
        assert least < SHORT_S or most < MOST * least, f"{single[:20]!r}…{single[-20:]!r}"


def test_names_of_expressions() -> None:
    """The expressions that the tables name exist."""
    assert set() == (ANYWHERE.keys() | ELSEWHERE) - EXPRESSIONS.keys()

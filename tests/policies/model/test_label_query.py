"""Label selectors as kubectl takes them."""

from __future__ import annotations

import pytest

from policies.manifests.errors import UsageError
from policies.model.label_query import parse_label_query


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("app=web", "app in (web)"),
        ("app==web", "app in (web)"),
        ("app = web , tier != db", "app in (web),tier notin (db)"),
        ("tier in (a, b),app", "app,tier in (a,b)"),
        ("example.org/tier notin (a)", "example.org/tier notin (a)"),
        ("!canary", "!canary"),
        ("empty=", "empty in ()"),
    ],
)
def test_read(text: str, expected: str) -> None:
    assert expected == str(parse_label_query(text))


@pytest.mark.parametrize(
    "text", ["", "app=web,", "=web", "a b", "app in a", "app in (a", "-a=b", "a=b/c", "a=b=c", "in (a)"]
)
def test_not_a_selector(text: str) -> None:
    with pytest.raises(UsageError, match="label selector: Invalid value"):
        parse_label_query(text)

"""Label syntax and selectors."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.fields import FieldPath
from policies.model.labels import (
    LabelSelector,
    Operator,
    Requirement,
    label_key_problems,
    label_selector_errors,
    label_value_problems,
)


@pytest.mark.parametrize(
    ("key", "problems"),
    [
        ("app", 0),
        ("example.com/rev", 0),
        ("A.b_c-9", 0),
        ("x" * 63, 0),
        (f"{'a' * 253}/x", 0),
        ("", 2),
        ("x" * 64, 1),
        ("-x", 1),
        ("a b", 1),
        ("é", 1),
        ("/x", 1),
        ("x/", 2),
        ("UPPER/x", 1),
        ("a/b/c", 1),
        (f"{'a' * 254}/x", 1),
        ("a" * 5_000_000, 1),
    ],
    ids=lambda value: value if isinstance(value, int) else repr(value[:12]),
)
def test_label_keys(key: str, problems: int) -> None:
    """A key is an optional DNS prefix and a name; Kubernetes tells each thing wrong with either."""
    assert problems == len(label_key_problems(key))


@pytest.mark.parametrize(
    ("value", "problems"),
    [("", 0), ("v1.2", 0), ("x" * 63, 0), ("x" * 64, 1), ("a b", 1), ("-", 1), ("é" * 32, 2)],
)
def test_label_values(value: str, problems: int) -> None:
    """A value is empty or a name of at most 63 bytes."""
    assert problems == len(label_value_problems(value))


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ({"key": "tier", "operator": "In", "values": ["a", "b"]}, ["a", "b"]),
        ({"key": "tier", "operator": "NotIn", "values": ["a"]}, ["b", None]),
        ({"key": "tier", "operator": "Exists"}, ["a", "b"]),
        ({"key": "tier", "operator": "DoesNotExist"}, [None]),
    ],
    ids=lambda value: value["operator"] if isinstance(value, dict) else None,
)
def test_expressions_match(expression: dict[str, Any], matching: list[str | None]) -> None:
    """NotIn and DoesNotExist hold for labels without the key, In and Exists do not."""
    selector = LabelSelector.parse({"matchExpressions": [expression]})
    found = [tier for tier in ("a", "b", None) if selector.matches({"tier": tier} if tier else {})]

    assert matching == found


def test_selectors_are_written_as_they_were_read() -> None:
    """A selector survives parsing and writing; empty members are left out."""
    raw = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}

    assert raw == LabelSelector.parse(raw).to_dict()
    assert {} == LabelSelector.parse({"matchLabels": {}, "matchExpressions": None}).to_dict()


def test_an_empty_selector_matches_everything() -> None:
    """A selector without requirements matches any labels."""
    assert LabelSelector.parse({}).empty
    assert LabelSelector.parse({}).matches({"any": "thing"})


def test_selector_errors_come_all_at_once() -> None:
    """Every mistake of a selector is told, each at its own path."""
    raw = {
        "matchLabels": {"a b": "x", "ok": "not valid!"},
        "matchExpressions": [{"key": "", "operator": "In"}, {"key": "k", "operator": "Like"}],
        "matchlabels": {},
    }
    paths = [str(error.path) for error in label_selector_errors(raw, FieldPath(("s",)))]

    assert [
        "s.matchlabels",
        "s.matchLabels",
        "s.matchLabels",
        "s.matchExpressions[0].values",
        "s.matchExpressions[0].key",
        "s.matchExpressions[0].key",
        "s.matchExpressions[1].operator",
    ] == paths


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({}, ""),
        ({"matchLabels": {"tier": "front", "app": "web"}}, "app=web,tier=front"),
        ({"matchLabels": {"app": ""}}, "app="),
        ({"matchExpressions": [{"key": "tier", "operator": "In", "values": [None, "a"]}]}, "tier in (,a)"),
        ({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]}]}, "tier in (a,b)"),
        ({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["a"]}]}, "tier in (a)"),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a"]}]}, "tier notin (a)"),
        (
            {
                "matchLabels": {"m": "1"},
                "matchExpressions": [
                    {"key": "z", "operator": "Exists"},
                    {"key": "a", "operator": "DoesNotExist"},
                    {"key": "m", "operator": "Exists"},
                ],
            },
            "!a,m=1,m,z",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_selectors_as_text(raw: dict[str, Any], expected: str) -> None:
    """A selector reads as kubectl prints it: sorted by key, values sorted, no space between them."""
    assert expected == str(LabelSelector.parse(raw))


@pytest.mark.parametrize(
    ("selector", "length", "end"),
    [
        pytest.param(
            LabelSelector(tuple((f"k{n}", "v") for n in range(9))), 300, "; and 4 more", id="9 of 9: 5 told"
        ),
        pytest.param(LabelSelector((("app", "x" * 10_000),)), 300, "no app", id="a long value"),
        pytest.param(
            LabelSelector((), (Requirement("app", Operator.IN, ("v",) * 10_000),)),
            300,
            "no app",
            id="many values",
        ),
    ],
)
def test_what_does_not_match_is_told_in_few_words(selector: LabelSelector, length: int, end: str) -> None:
    """A selector of any size is told in a few lines."""
    told = selector.mismatch({})

    assert len(told) < length
    assert told.endswith(end)

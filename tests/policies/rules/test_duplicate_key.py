"""Keys that a mapping has twice: one finding for a key, at the value that counts."""

from __future__ import annotations

import pytest

from policies.config import spread_policy
from policies.manifests.documents import load, objects
from policies.manifests.findings import Severity
from policies.rules import duplicate_key
from policies.rules.base import Context

POD = "apiVersion: v1\nkind: Pod\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("metadata: {name: a}\n", [], id="none"),
        pytest.param("a: 1\na: 2\n", ["a: the value on line 3 is ignored"], id="twice"),
        pytest.param("a: 1\na: 2\na: 3\n", ["a: the values on lines 3, 4 are ignored"], id="3 times"),
        pytest.param(
            "a: 0\n" + "a: 1\n" * 8,
            ["a: the values on lines 3, 4, 5, 6, 7 and 3 more are ignored"],
            id="9 times",
        ),
        pytest.param(
            "b: {c: 1, c: 2}\na: 1\na: 2\n",
            ["b.c: the value on line 3 is ignored", "a: the value on line 4 is ignored"],
            id="2 keys",
        ),
    ],
)
def test_findings(text: str, expected: list[str]) -> None:
    """The path and the lines of the values that are dropped."""
    ((entry,),) = (list(objects(document)) for document in load(POD + text, "f.yaml"))
    found = list(duplicate_key.check(entry, Context()))

    assert expected == [f"{problem.path}: {problem.message.partition('used, ')[2]}" for problem in found]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        pytest.param("Pod", "a: x\na: y\n", 'the value "x" is ignored', id="a scalar"),
        pytest.param("Pod", "a: x\na: y\na: z\n", 'the values "x", "y" are ignored', id="2 scalars"),
        pytest.param("Pod", "a: [x]\na: y\n", "the others are ignored", id="a list"),
        pytest.param("Pod", f"a: {'x' * 99}\na: y\n", "the others are ignored", id="a long one"),
        pytest.param("Secret", "a: x\na: y\n", "the others are ignored", id="a secret"),
    ],
)
def test_without_lines(kind: str, text: str, expected: str) -> None:
    """A rendered chart has no lines, so the values are named, but for secrets."""
    (document,) = load(f"apiVersion: v1\nkind: {kind}\n{text}", "f.yaml")
    (entry,) = objects(document.at_line(0))
    (problem,) = duplicate_key.check(entry, Context())

    assert expected == problem.message.partition("used, ")[2]


def test_policies() -> None:
    """The kind of our own policies is the one that they have."""
    assert (spread_policy.GROUP, spread_policy.KIND) == duplicate_key.SPREAD_POLICY


DIFFERENT, SAME = "{name: a, name: b}", "{name: a, name: a}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"apiVersion: v1\nkind: Pod\nmetadata: {DIFFERENT}", None, id="a pod: a warning"),
        pytest.param(f"apiVersion: v1\nkind: Pod\nmetadata: {SAME}", Severity.NOTE, id="the same: a note"),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, name: b, name: b}",
            None,
            id="two of three",
        ),
        pytest.param(
            f"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {DIFFERENT}", None, id="a budget"
        ),
        pytest.param(
            f"apiVersion: a/v1\nkind: Web\nspec: {{template: {{metadata: {DIFFERENT}}}}}",
            None,
            id="pods",
        ),
        pytest.param(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {DIFFERENT}", Severity.NOTE, id="others"),
    ],
)
def test_severities(text: str, expected: Severity | None) -> None:
    """A duplicate that drops nothing, or nothing that is evaluated, is a note."""
    ((entry,),) = (list(objects(document)) for document in load(text, "f.yaml"))
    (problem,) = duplicate_key.check(entry, Context())

    assert expected == problem.severity

"""The pieces of a rule's manual."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.lint.reports.rule_manual import EXCERPTS, explained, has_excerpts, how_to_fix, section
from policies.rules.base import all_rules
from tests.policies.lint.reports.lint_runs import a_rule


def test_section() -> None:
    """A section is the text below its heading; one that is not there is empty."""
    assert "Odd | even." == section(a_rule(), "Why it matters")
    assert "" == section(a_rule(), "Why")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Do this.", "Do this.", id="one sentence"),
        pytest.param("Do this. Or `that`.", "Do this.", id="two"),
        pytest.param("Do\nthis, e.g. with 1.5. `Or` that.", "Do this, e.g. with 1.5.", id="other dots"),
        pytest.param("Do this\n\nOr that", "Do this", id="two paragraphs"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_suggestion(text: str, expected: str) -> None:
    """A suggestion is the first sentence of how to fix."""
    assert expected == how_to_fix(replace(a_rule(), manual=f"x\n\n## How to fix\n{text}\n"))


@pytest.mark.parametrize("rule", all_rules())
def test_every_rule_has_a_suggestion(rule: str) -> None:
    """The suggestion of each rule is a sentence that a line of a report holds."""
    text = how_to_fix(all_rules()[rule])

    assert text.endswith((".", ":"))
    assert 10 < len(text) < 300


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        pytest.param("apiVersion: v1\nkind: Pod", False, id="whole"),
        pytest.param("# Kubernetes 1.24\napiVersion: v1\nkind: Pod", False, id="whole, with a comment"),
        pytest.param("spec: {replicas: 2}", True, id="excerpt"),
        pytest.param("# Nodes: a\nnodeSelector: {zone: b}", True, id="excerpt, with a comment"),
        pytest.param("apiVersion: v1\nkind: Pod\n---\nspec: {replicas: 2}", True, id="second document"),
    ],
)
def test_has_excerpts(example: str, *, expected: bool) -> None:
    """An example with a document that has no version is an excerpt."""
    manual = f"x\n\n## Fails\n```yaml\n{example}\n```\n\n## How to fix\nDo this.\n"

    assert expected == has_excerpts(replace(a_rule(), manual=manual))


def test_excerpts_are_explained() -> None:
    """Who reads a manual elsewhere than on the web site learns what excerpts are of."""
    whole = replace(a_rule(), manual="x\n\n## Fails\n```yaml\napiVersion: v1\n```\n")

    assert explained(a_rule()).endswith(EXCERPTS + "\n")
    assert EXCERPTS not in explained(whole)

"""The pieces of a rule's manual."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.reports.rule_manual import how_to_fix, section
from policies.rules.base import all_rules
from tests.policies.reports.lint_runs import a_rule


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
def test_remedy(text: str, expected: str) -> None:
    """A remedy is the first sentence of how to fix."""
    assert expected == how_to_fix(replace(a_rule(), manual=f"x\n\n## How to fix\n{text}\n"))


@pytest.mark.parametrize("rule", all_rules())
def test_every_rule_has_a_remedy(rule: str) -> None:
    """The remedy of each rule is a sentence that a line of a report holds."""
    text = how_to_fix(all_rules()[rule])

    assert text.endswith((".", ":"))
    assert 10 < len(text) < 300

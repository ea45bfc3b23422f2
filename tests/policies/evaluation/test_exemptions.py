"""Annotations that take an object out of rules."""

from __future__ import annotations

import pytest

from policies.evaluation.exemptions import IGNORE_ANNOTATION, read_exemptions

RULES = frozenset({"wrong-type", "unknown-field"})


@pytest.mark.parametrize(
    ("text", "exempt", "problems"),
    [
        pytest.param("wrong-type: chart bug", ["wrong-type"], 0, id="one rule with a reason"),
        pytest.param("wrong-type: a: b", ["wrong-type"], 0, id="a colon in the reason"),
        pytest.param(
            "wrong-type: x\n\n unknown-field : y ", ["wrong-type", "unknown-field"], 0, id="two lines"
        ),
        pytest.param("wrong-type", [], 1, id="no reason: in force"),
        pytest.param("wrong-type:  ", [], 1, id="empty reason: in force"),
        pytest.param("wrong-typo: x", [], 1, id="unknown rule"),
        pytest.param("wrong-type: x\nnope", ["wrong-type"], 1, id="one good, one bad"),
        pytest.param("", [], 0, id="empty annotation"),
    ],
)
def test_exemptions(text: str, exempt: list[str], problems: int) -> None:
    """Only a known rule with a reason is switched off; everything else is told."""
    read = read_exemptions({IGNORE_ANNOTATION: text}, {}, RULES)

    assert exempt == list(read.reasons)
    assert problems == len(read.problems)


def test_an_object_s_and_its_template_s_count_together() -> None:
    """Exemptions of both places hold; the same text in both is told once."""
    own = {IGNORE_ANNOTATION: "wrong-type: x"}
    template = {IGNORE_ANNOTATION: "unknown-field: y\nnope"}

    assert {"wrong-type": "x", "unknown-field": "y"} == read_exemptions(own, template, RULES).reasons
    assert 1 == len(read_exemptions(template, template, RULES).problems)

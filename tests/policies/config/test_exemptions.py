"""Annotations that take an object out of rules."""

from __future__ import annotations

from datetime import date

import pytest

from policies.config.enforcement import IGNORE_ANNOTATION, read_exemptions


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
    read = read_exemptions({IGNORE_ANNOTATION: text}, {})

    assert exempt == list(read.reasons)
    assert problems == len(read.problems)


def test_an_object_s_and_its_template_s_count_together() -> None:
    """Exemptions of both places hold; the same text in both is told once."""
    own = {IGNORE_ANNOTATION: "wrong-type: x"}
    template = {IGNORE_ANNOTATION: "unknown-field: y\nnope"}

    assert {"wrong-type": "x", "unknown-field": "y"} == read_exemptions(own, template).reasons
    assert 1 == len(read_exemptions(template, template).problems)


@pytest.mark.parametrize(
    ("reason", "exempt"),
    [
        pytest.param("why (until 2027-01-31)", True, id="its last day"),
        pytest.param("why (until 2027-01-30)", False, id="the day after"),
        pytest.param("why (see x) (until 2027-02-01)", True, id="a day before, and other brackets"),
        pytest.param("why ( until 2027-02-01 )", True, id="blanks"),
        pytest.param("why (until May)", False, id="no date"),
        pytest.param("why (until)", False, id="no day"),
        pytest.param("w" * 988, True, id="a line of 1,000 characters"),
        pytest.param("w" * 989, False, id="a line of 1,001 characters"),
        pytest.param("why (until 2027-02-30)", False, id="no day of the calendar"),
        pytest.param("(until 2027-02-01)", False, id="no reason"),
        pytest.param("until May", True, id="words without brackets are only a reason"),
    ],
)
def test_expiry(reason: str, exempt: object) -> None:
    """An entry holds up to its last day; afterwards, or without a real date, it is told instead."""
    own = {IGNORE_ANNOTATION: f"wrong-type: {reason}"}
    read = read_exemptions(own, {}, today=date(2027, 1, 31))

    assert exempt == bool(read.reasons)
    assert (not exempt) == bool(read.problems)


def test_expiry_without_a_day() -> None:
    """Where nobody knows the day, entries hold."""
    own = {IGNORE_ANNOTATION: "wrong-type: why (until 2001-01-01)"}

    assert ["wrong-type"] == list(read_exemptions(own, {}).reasons)

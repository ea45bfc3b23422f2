"""The reference page of the rules."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from policies import rules
from policies.reports import rule_reference
from policies.reports.rule_reference import REFERENCE_FILE, reference
from policies.rules.base import Rule, all_rules


@dataclass(frozen=True)
class Settings:
    """The settings of a rule that does not exist.

    Attributes:
        most: How many there may be
            at once.
        keys: Which labels count.
        strict: Whether to be strict.
    """

    most: int = 3
    keys: tuple[str, ...] = ("app", "tier")
    strict: bool = True


@pytest.fixture
def rule() -> Rule:
    """Return a rule that exists."""
    return all_rules()["selector-missing"]


def test_every_rule_is_listed_and_described() -> None:
    """The table links to a heading for each rule, in the order of the ids."""
    page = reference(all_rules().values())

    assert list(all_rules()) == re.findall(r"^## ([-a-z]+)$", page, re.MULTILINE)
    assert list(all_rules()) == re.findall(r"^\| \[`[-a-z]+`\]\(#([-a-z]+)\) \|", page, re.MULTILINE)


def test_the_row_of_a_rule(rule: Rule) -> None:
    """A row has the severity, the subject, whether a cluster is needed and whether it can be fixed."""
    plain, special = (
        next(line for line in reference([entry]).splitlines() if line.startswith("| [`"))
        for entry in (rule, replace(rule, needs_inventory=True, fixable=False, summary="A | B."))
    )

    link = "| [`selector-missing`](#selector-missing) | error | pods and workloads |"
    assert f"{link}  | yes | A constraint without a `labelSelector`. |" == plain
    assert f"{link} needed |  | A \\| B. |" == special


def test_settings(rule: Rule) -> None:
    """Each setting is told with its description on one line and its default as YAML has it."""
    page = reference([replace(rule, params=Settings)])

    lines = [line for line in page.splitlines() if line.startswith("- `")]
    assert [
        "- `most`: How many there may be at once. The default is `3`.",
        "- `keys`: Which labels count. The default is `[app, tier]`.",
        "- `strict`: Whether to be strict. The default is `true`.",
    ] == lines


def test_check_of_the_checked_in_page() -> None:
    """The checked-in page is current."""
    assert 0 == rule_reference.main(["--check"])


def test_writes_and_then_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is not there is stale; what is written passes the check."""
    everything = all_rules()
    monkeypatch.setattr(rules, "__path__", [str(tmp_path)])
    monkeypatch.setattr(rule_reference, "all_rules", lambda: everything)

    codes = [rule_reference.main(arguments) for arguments in (["--check"], [], ["--check"], ["--chek"])]

    assert [1, 0, 0, 2] == codes
    assert [REFERENCE_FILE] == [path.name for path in tmp_path.iterdir()]

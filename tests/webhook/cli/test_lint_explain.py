"""`evenkeel lint --explain`: manuals for people."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from policies.lint.reports.rule_manual import EXCERPTS
from policies.manifests.errors import UsageError
from policies.rules.base import all_rules
from webhook.cli.lint import command


def test_a_manual() -> None:
    """The manual is printed as it stands, with its severity and where the pain is shown."""
    rule = all_rules()["selector-misses-own-pod"]
    output = CliRunner().invoke(command, ["--explain", rule.id]).output

    assert rule.manual.strip() in output
    assert rule.see in output


@pytest.mark.parametrize(
    ("rule", "said"),
    [pytest.param("selector-missing", True, id="excerpts"), pytest.param("unreadable", False, id="whole")],
)
def test_excerpts_are_explained(rule: str, *, said: bool) -> None:
    """Where examples are excerpts, it is said of what."""
    assert said == (EXCERPTS in CliRunner().invoke(command, ["--explain", rule]).output)


def test_every_rule() -> None:
    """Without an id, every rule is a line with its severity, and what else it needs or has."""
    lines = [line.split() for line in CliRunner().invoke(command, ["--explain"]).output.splitlines()]

    assert [(rule.id, str(rule.severity)) for rule in all_rules().values()] == [
        (name, severity) for name, severity, *_ in lines
    ]
    assert ["unreachable-domain-counted", "warning", "cluster,fix"] in [line[:3] for line in lines]


def test_an_unknown_rule() -> None:
    """It is told with those that are close."""
    with pytest.raises(UsageError, match="selector-misses-own-pod"):
        CliRunner().invoke(command, ["--explain", "selector-misses"], catch_exceptions=False)


@pytest.mark.parametrize("rule", ["unreadable", "exemption-without-effect", "unschedulable"])
def test_what_no_check_finds(rule: str) -> None:
    """Rules that find their errors while files are read, or at admission, have a manual too."""
    assert rule in CliRunner().invoke(command, ["--explain", rule]).output

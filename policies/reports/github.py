"""A run of the linter as workflow commands, which GitHub Actions shows beside the lines of a pull request."""

from __future__ import annotations

from typing import Final

from policies.findings import Finding, Severity
from policies.reports.builds import message
from policies.reports.lint_run import LintRun
from policies.reports.manual import remedy
from policies.reports.printable import one_line

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(run: LintRun) -> str:
    """Return one command a finding."""
    return "".join(f"{_command(finding, run)}\n" for finding in run.findings)


def _command(finding: Finding, run: LintRun) -> str:
    location = finding.location
    properties = {
        "file": location.file.removeprefix("./"),
        "line": str(location.line or 1),
        "title": finding.rule,
    }
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {listed}::{_data(finding, run)}"


def _data(finding: Finding, run: LintRun) -> str:
    whose = ": ".join(filter(None, (finding.title, str(finding.path), message(finding))))
    rule = run.rules.get(finding.rule)
    lines = [one_line(whose), *([f"Fix: {remedy(rule)}"] if rule else [])]
    # The runner turns the escape into the line break that a command itself cannot have.
    return "%0A".join(line.replace("%", "%25") for line in lines)


def _property(value: str) -> str:
    """Return a value that ends neither the property nor the list of them (actions/toolkit, command.ts)."""
    return one_line(value).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")

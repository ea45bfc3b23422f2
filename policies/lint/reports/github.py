"""A run of the linter as workflow commands, which GitHub Actions shows beside the lines of a pull request."""

from __future__ import annotations

from typing import Final

from policies.lint.reports.rule_manual import how_to_fix
from policies.lint.reports.run import LintRun
from policies.lint.reports.summary import SkippedGroup, message, skipped_groups
from policies.manifests.findings import Finding, Location, Severity
from policies.manifests.sanitize import one_line

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(run: LintRun) -> str:
    """Return one command a finding, and one a cause for which something was skipped."""
    commands = [_command(finding, run) for finding in run.findings]
    commands += map(_skipped, skipped_groups(run.skipped, run.severity_of))
    return "".join(f"{command}\n" for command in commands)


def _command(finding: Finding, run: LintRun) -> str:
    properties = _properties(finding.location, finding.rule)
    return f"::{_COMMANDS[finding.severity]} {properties}::{_data(finding, run)}"


def _skipped(group: SkippedGroup) -> str:
    # The annotation is at the first one; the others are named.
    text = f"{group.message} ({group.places})" if len(group.entries) > 1 else group.message
    command = _COMMANDS[group.severity]
    return f"::{command} {_properties(group.location, 'skipped')}::{one_line(text).replace('%', '%25')}"


def _properties(location: Location, title: str) -> str:
    properties = {
        "file": location.file.removeprefix("./"),
        "line": str(location.line or 1),
        "title": title,
    }
    return ",".join(f"{name}={_property(value)}" for name, value in properties.items())


def _data(finding: Finding, run: LintRun) -> str:
    whose = ": ".join(filter(None, (finding.title, str(finding.path), message(finding))))
    rule = run.rules.get(finding.rule)
    lines = [one_line(whose), *([f"Fix: {how_to_fix(rule)}"] if rule else [])]
    # The runner turns the escape into the line break that a command itself cannot have.
    return "%0A".join(line.replace("%", "%25") for line in lines)


def _property(value: str) -> str:
    """Return a value that ends neither the property nor the list of them (actions/toolkit, command.ts)."""
    return one_line(value).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")

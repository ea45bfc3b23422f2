"""A run of the linter as JUnit XML for CI systems: a suite a file, a case a rule and object."""

from __future__ import annotations

from collections import defaultdict
from xml.etree import ElementTree as ET

from policies.lint.exemptions import Suppressed
from policies.lint.reports.rule_manual import how_to_fix
from policies.lint.reports.run import LintRun
from policies.lint.reports.summary import message, skipped_groups
from policies.manifests.findings import Finding, Severity
from policies.manifests.sanitize import one_line
from policies.reports.junit import add_case, add_error, add_skipped, add_suite, fail, new_report
from policies.reports.junit import render as write

#: The case of a file without findings; CI systems take a suite without cases for a mistake.
CLEAN = "lint"
#: The suite of the rules that did not run.
NOT_RUN = "rules that did not run"
#: The suite of what was not read.
NOT_READ = "files that were not read"


def render(run: LintRun) -> str:
    """Return the run as XML.

    A case fails with a finding that makes the run fail; what is less bad is its output. What annotations
    exempt is a skipped case, and so is what was not read, or an error if the run fails by it.
    """
    root = new_report("lint")
    in_force, exempted = dict(run.by_file()), _by_file(run.suppressed)
    for file in sorted({*run.files, *in_force, *exempted}):
        suite = add_suite(root, file)
        _cases(suite, in_force.get(file, []), run)
        for entry in exempted.get(file, []):
            add_skipped(suite, entry.finding.rule, entry.finding.title, entry.reason)
        if not len(suite):
            add_case(suite, CLEAN, file)
    if run.result.skipped:
        suite = add_suite(root, NOT_RUN)
        for rule, why in sorted(run.result.skipped.items()):
            add_skipped(suite, rule, "evenkeel", why)
    if run.skipped:
        _not_read(add_suite(root, NOT_READ), run)
    return write(root)


def _by_file(suppressed: list[Suppressed]) -> dict[str, list[Suppressed]]:
    entries = defaultdict(list)
    for entry in suppressed:
        entries[entry.finding.location.file].append(entry)
    return entries


def _not_read(suite: ET.Element, run: LintRun) -> None:
    for group in skipped_groups(run.skipped, run.severity_of):
        first = group.entries[0]
        if group.severity is Severity.ERROR:
            add_error(suite, first.kind, group.places, group.message, first.reason)
        else:
            add_skipped(suite, first.kind, group.places, group.message)


def _cases(suite: ET.Element, findings: list[Finding], run: LintRun) -> None:
    """Add a case for each rule and object, in the order of the first finding of each."""
    cases: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        cases.setdefault((finding.rule, finding.title or finding.location.file), []).append(finding)
    for (rule, whose), found in cases.items():
        case = add_case(suite, rule, whose)
        failing: list[Finding] = []
        others: list[Finding] = []
        for finding in found:
            fails = run.fail_on is not None and finding.severity.is_as_bad(run.fail_on)
            (failing if fails else others).append(finding)
        if failing:
            fail(case, failing[0].severity, _message(failing[0]), _text(failing, run))
        if others:
            ET.SubElement(case, "system-out").text = _text(others, run)


def _message(finding: Finding) -> str:
    field = f"{finding.path}: " if finding.path.segments else ""
    return one_line(f"{field}{message(finding)}")


def _text(findings: list[Finding], run: LintRun) -> str:
    lines = [f"{one_line(str(found.location))}: {found.severity}: {_message(found)}" for found in findings]
    rule = run.rules.get(findings[0].rule)
    return "\n".join([*lines, *([f"fix: {how_to_fix(rule)}"] if rule else [])])

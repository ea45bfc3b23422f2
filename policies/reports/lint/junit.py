"""A run of the linter as JUnit XML for CI systems: a suite a file, a case a rule and object."""

from __future__ import annotations

from collections import defaultdict
from xml.etree import ElementTree as ET

from policies.lint.exemptions import Suppressed
from policies.manifests.findings import Finding, Severity
from policies.manifests.sanitize import one_line
from policies.reports.lint.rule_manual import how_to_fix
from policies.reports.lint.run import LintRun
from policies.reports.lint.summary import message, skipped_groups

#: The case of a file without findings; CI systems take a suite without cases for a mistake.
CLEAN = "lint"
#: The suite of the rules that did not run.
NOT_RUN = "rules that did not run"
#: The suite of what was not read.
NOT_READ = "files that were not read"
#: The numbers of a suite, and the elements that each counts.
_COUNTED = {"tests": "testcase", "failures": "failure", "skipped": "skipped", "errors": "error"}


def render(run: LintRun) -> str:
    """Return the run as XML.

    A case fails with a finding that makes the run fail; what is less bad is its output. What annotations
    exempt is a skipped case, and so is what was not read, or an error if the run fails by it.
    """
    root = ET.Element("testsuites", name="evenkeel lint")
    in_force, exempted = dict(run.by_file()), _by_file(run.suppressed)
    for file in sorted({*run.files, *in_force, *exempted}):
        suite = _suite(root, file)
        _cases(suite, in_force.get(file, []), run)
        for entry in exempted.get(file, []):
            _skipped(suite, entry.finding.rule, entry.finding.title, entry.reason)
        if not len(suite):
            _case(suite, CLEAN, file)
    if run.result.skipped:
        suite = _suite(root, NOT_RUN)
        for rule, why in sorted(run.result.skipped.items()):
            _skipped(suite, rule, "evenkeel", why)
    if run.skipped:
        _not_read(_suite(root, NOT_READ), run)
    _count(root)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _by_file(suppressed: list[Suppressed]) -> dict[str, list[Suppressed]]:
    entries = defaultdict(list)
    for entry in suppressed:
        entries[entry.finding.location.file].append(entry)
    return entries


def _not_read(suite: ET.Element, run: LintRun) -> None:
    for group in skipped_groups(run.skipped, run.severity_of):
        first = group.entries[0]
        if group.severity is Severity.ERROR:
            case = _case(suite, first.kind, group.places)
            ET.SubElement(case, "error", type=first.reason, message=one_line(group.message))
        else:
            _skipped(suite, first.kind, group.places, group.message)


def _suite(root: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(root, "testsuite", name=one_line(name))


def _case(suite: ET.Element, rule: str, whose: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", name=one_line(rule), classname=one_line(whose))


def _skipped(suite: ET.Element, rule: str, whose: str, why: str) -> None:
    ET.SubElement(_case(suite, rule, whose), "skipped", message=one_line(why))


def _cases(suite: ET.Element, findings: list[Finding], run: LintRun) -> None:
    """Add a case for each rule and object, in the order of the first finding of each."""
    cases: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        cases.setdefault((finding.rule, finding.title or finding.location.file), []).append(finding)
    for (rule, whose), found in cases.items():
        case = _case(suite, rule, whose)
        failing: list[Finding] = []
        others: list[Finding] = []
        for finding in found:
            fails = run.fail_on is not None and finding.severity.is_as_bad(run.fail_on)
            (failing if fails else others).append(finding)
        if failing:
            # JUnit knows one failure a case; its text has all.
            first = failing[0]
            failure = ET.SubElement(case, "failure", type=first.severity, message=_message(first))
            failure.text = _text(failing, run)
        if others:
            ET.SubElement(case, "system-out").text = _text(others, run)


def _message(finding: Finding) -> str:
    field = f"{finding.path}: " if finding.path.segments else ""
    return one_line(f"{field}{message(finding)}")


def _text(findings: list[Finding], run: LintRun) -> str:
    lines = [f"{one_line(str(found.location))}: {found.severity}: {_message(found)}" for found in findings]
    rule = run.rules.get(findings[0].rule)
    return "\n".join([*lines, *([f"fix: {how_to_fix(rule)}"] if rule else [])])


def _count(root: ET.Element) -> None:
    """Write the numbers that readers of JUnit expect on every suite, and on all together."""
    for suite in (*root, root):
        for name, tag in _COUNTED.items():
            suite.set(name, str(sum(1 for _ in suite.iter(tag))))

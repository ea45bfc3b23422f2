"""Checks of policies: JSON of the form ``policy_check.schema.json``, or a line for each finding.

Of samples, which ``evenkeel policy test`` reviews, it is ``policy_test.schema.json``, or JUnit XML.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath
from typing import Annotated, Final, TypedDict

from policies.admission.decision import AdmissionVerdict
from policies.lint.reports.json import FindingFields, finding_fields
from policies.lint.reports.run import in_order
from policies.manifests.findings import Finding, Severity
from policies.manifests.sanitize import one_line
from policies.manifests.wire import Count, Keywords, dumps
from policies.reports.junit import add_case, add_error, add_suite, fail, new_report
from policies.reports.junit import render as write

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/policy-check/v1"
#: The number of the form's name, from before it had one.
VERSION: Final = 1


class PolicyCheckReport(TypedDict):
    """The result of ``evenkeel policy check``."""

    #: The form's name; its number changes when a field is renamed, goes away or means something else.
    schema: Annotated[str, Keywords(const=SCHEMA)]
    #: The number of the form's name, from before it had one.
    version: Annotated[int, Keywords(const=VERSION)]
    #: How many SpreadPolicy, KubeSchedulerConfiguration, NodeGroups and InstanceTypes documents were checked.
    documents: Count
    findings: list[FindingFields]  #: What was found, by file and line.


def render_json(findings: Iterable[Finding], documents: int) -> str:
    """Return the findings in a number of documents as indented JSON."""
    report: PolicyCheckReport = {
        "schema": SCHEMA,
        "version": VERSION,
        "documents": documents,
        "findings": [finding_fields(finding) for finding in in_order(findings)],
    }
    return dumps(report, indent=True).decode()


def render_text(findings: Iterable[Finding]) -> str:
    """Return one line a finding, ``file:line: field: problem``; what is no error says so after the line.

    >>> from policies.manifests.fields import FieldPath
    >>> from policies.manifests.findings import Location
    >>> where = Location("web.yaml", 3)
    >>> finding = Finding(Severity.WARNING, where, FieldPath(("spec",)), "is odd", "odd-spec")
    >>> print(render_text([finding]), end="")
    web.yaml:3: warning: spec: is odd
    """
    return "".join(f"{_line(finding)}\n" for finding in in_order(findings))


def _line(finding: Finding) -> str:
    if finding.severity is Severity.ERROR:
        return str(finding)
    where, rest = str(finding.location), str(finding).removeprefix(str(finding.location))
    return f"{where}: {finding.severity}{rest}"


#: The form's name; its number changes when a field is renamed, goes away or means something else.
TEST_SCHEMA: Final = "evenkeel.dev/policy-test/v1"
#: The suite of what could not be read.
NOT_READ: Final = "suites that were not read"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedObject:
    """An object of a sample, as the admission webhook would review it."""

    file: str  #: The sample.
    object: str  #: Its kind, namespace and name.
    expected: AdmissionVerdict  #: The verdict that it must get.
    verdict: AdmissionVerdict  #: The verdict that it gets.
    rules: Sequence[str]  #: The rules that it breaks.
    as_expected: bool  #: Whether both are as the sample says.
    difference: str  #: How they differ; empty if they do not.
    messages: Sequence[str]  #: What a person would read.


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTestReport:
    """The result of ``evenkeel policy test``."""

    #: The form's name; its number changes when a field is renamed, goes away or means something else.
    schema: Annotated[str, Keywords(const=TEST_SCHEMA)] = TEST_SCHEMA
    samples: Count  #: How many samples were tested.
    failed: Count  #: How many of them are not as expected.
    objects: Sequence[ReviewedObject]  #: Their objects, in the order of the files.
    not_read: Sequence[str]  #: What is wrong with suites that could not be read.


def render_samples_json(report: PolicyTestReport) -> str:
    """Return the report as indented JSON."""
    return dumps(report, indent=True).decode()


def render_samples_junit(report: PolicyTestReport) -> str:
    """Return the report as XML: a suite a folder, a case an object; what was not read is an error."""
    root = new_report("policy test")
    for folder, objects in groupby(report.objects, lambda each: str(PurePath(each.file).parent)):
        suite = add_suite(root, folder)
        for each in objects:
            case = add_case(suite, each.object, each.file)
            if each.difference:
                fail(case, each.verdict, each.difference, "\n".join(map(one_line, each.messages)))
    if report.not_read:
        suite = add_suite(root, NOT_READ)
        for problem in report.not_read:
            add_error(suite, problem.partition(":")[0], NOT_READ, problem)
    return write(root)

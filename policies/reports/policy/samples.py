"""Samples of ``evenkeel policy test``: JSON of the form ``policy_test.schema.json``, or JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath
from typing import Annotated, Final

from policies.admission.decision import AdmissionVerdict
from policies.manifests.sanitize import one_line
from policies.manifests.wire import Count, Keywords, dumps
from policies.reports.junit import add_case, add_error, add_suite, fail, new_report
from policies.reports.junit import render as write

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/policy-test/v1"
#: The suite of what could not be read.
NOT_READ: Final = "suites that were not read"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedObject:
    """An object of a sample, as the admission webhook would review it.

    Attributes:
        file: The sample.
        object: Its kind, namespace and name.
        expected: The verdict that it must get.
        verdict: The verdict that it gets.
        rules: The rules that it breaks.
        as_expected: Whether both are as the sample says.
        difference: How they differ; empty if they do not.
        messages: What a person would read.
    """

    file: str
    object: str
    expected: AdmissionVerdict
    verdict: AdmissionVerdict
    rules: Sequence[str]
    as_expected: bool
    difference: str
    messages: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTestReport:
    """The result of ``evenkeel policy test``.

    Attributes:
        schema: The form's name; its number changes when a field is renamed, goes away or means something
            else.
        samples: How many samples were tested.
        failed: How many of them are not as expected.
        objects: Their objects, in the order of the files.
        not_read: What is wrong with suites that could not be read.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA
    samples: Count
    failed: Count
    objects: Sequence[ReviewedObject]
    not_read: Sequence[str]


def render_json(report: PolicyTestReport) -> str:
    """Return the report as indented JSON."""
    return dumps(report, indent=True).decode()


def render_junit(report: PolicyTestReport) -> str:
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

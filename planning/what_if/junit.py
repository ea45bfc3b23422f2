"""The outcome of a scenario as JUnit XML: a suite for each lost domain, or one; a case for each workload."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from planning.simulation.outcome import Cause, Outcome, WorkloadOutcome
from planning.text.outcome import as_sentence, lost_domain
from planning.text.words import domain_name
from policies.manifests.sanitize import one_line
from policies.manifests.words import object_title
from policies.reports.junit import add_case, add_error, add_suite, fail, new_report, warn
from policies.reports.junit import render as write
from policies.reports.terminal import MAX_MESSAGE

#: The case of a suite in which nothing happens to any workload.
EVERY = "every workload"


def render(outcome: Outcome) -> str:
    """Return false verdicts as failures, undecided ones as errors, and warnings as output of their case."""
    root = new_report("what-if")
    for each in outcome.outcomes or (outcome,):
        lost = lost_domain(each)
        _add_cases(root, f"without {domain_name(lost)}" if outcome.outcomes else "what-if", each)
    return write(root)


def _add_cases(root: ET.Element, name: str, outcome: Outcome) -> None:
    suite = add_suite(root, name)
    for found in outcome.workloads:
        _add_case(suite, name, found)
    judged = [found.verdict.cause for found in outcome.workloads]
    worst = outcome.verdict
    if not judged or (worst.value is not True and worst.cause not in judged):
        # An object that is refused, or what ended before any workload was looked at.
        if worst.value is None:
            add_error(suite, EVERY, name, as_sentence(worst.sentence), worst.cause)
        elif worst.value:
            add_case(suite, EVERY, name)
        else:
            fail(
                add_case(suite, EVERY, name),
                worst.cause,
                as_sentence(worst.sentence),
                _message(worst.message),
            )


def _add_case(suite: ET.Element, name: str, found: WorkloadOutcome) -> None:
    title = object_title(found.ref.kind, found.ref.namespace, found.ref.name)
    verdict = found.verdict
    if verdict.value is None:
        add_error(suite, title, name, as_sentence(verdict.sentence), verdict.cause)
        return
    case = add_case(suite, title, name)
    if not verdict.value:
        fail(case, verdict.cause, as_sentence(verdict.sentence), _message(verdict.message))
    warnings = [
        as_sentence(each.sentence) for each in found.verdicts if each.value and each.cause is not Cause.FITS
    ]
    if warnings:
        warn(case, "\n".join(warnings))


def _message(text: str) -> str:
    return one_line(text, MAX_MESSAGE)

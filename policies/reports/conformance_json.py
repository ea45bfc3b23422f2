"""A conformance run as one JSON object, whose form ``conformance.schema.json`` says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Final, TypedDict

import orjson

from policies.config.type_schema import Count, Keywords
from policies.conformance.run import CaseOutcome, CaseResult, ConformanceRun
from policies.reports.conformance_wording import failure_lines

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/conformance/v1"


class OutcomeCounts(TypedDict):
    """How many cases had which outcome.

    Attributes:
        passed: Everything that the case expects was answered as kube-scheduler does.
        partial: So was everything that was answered, but some fields were not.
        failed: Something differs, or there is no answer that can be read.
        unanswered: Nothing that could be compared was answered.
        notRun: The request was not sent.
    """

    passed: Count
    partial: Count
    failed: Count
    unanswered: Count
    notRun: Count


class FeatureResult(TypedDict):
    """The cases of one feature. A case may be about several.

    Attributes:
        id: The feature.
        title: What it is.
        cases: What became of its cases, as far as the feature is concerned.
    """

    id: str
    title: str
    cases: OutcomeCounts


class FailedCase(TypedDict):
    """A case that failed.

    Attributes:
        id: The case.
        features: What it is about.
        differences: What differs, at most 20 of each case.
    """

    id: str
    features: list[str]
    differences: list[str]


class ConformanceReport(TypedDict):
    """What ``evenkeel conformance`` found.

    Attributes:
        schema: The form's name; its number changes when a field is renamed, goes away or means something
            else.
        corpus: The corpus and its version.
        target: What was tested.
        stopped: Why the run ended before all cases; empty if it did not.
        cases: What became of all cases.
        features: What became of the cases of each feature.
        unansweredFields: In how many cases a field was not answered.
        declined: In how many cases a request was declined, by the reason given.
        failed: Every case that failed.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)]
    corpus: str
    target: str
    stopped: str
    cases: OutcomeCounts
    features: list[FeatureResult]
    unansweredFields: Mapping[str, Count]
    declined: Mapping[str, Count]
    failed: list[FailedCase]


def render(run: ConformanceRun) -> str:
    """Return the run as indented JSON."""
    report: ConformanceReport = {
        "schema": SCHEMA,
        "corpus": run.corpus,
        "target": run.target,
        "stopped": run.stopped,
        "cases": _counts(run.total),
        "features": [
            {"id": entry.id, "title": entry.title, "cases": _counts(counts)}
            for entry, counts in run.features()
        ],
        "unansweredFields": dict(sorted(run.unanswered.items())),
        "declined": dict(run.declined.most_common()),
        "failed": [_failed(result) for result in run.failed],
    }
    return orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _counts(counts: Counter[CaseOutcome]) -> OutcomeCounts:
    return {
        "passed": counts[CaseOutcome.PASSED],
        "partial": counts[CaseOutcome.PARTIAL],
        "failed": counts[CaseOutcome.FAILED],
        "unanswered": counts[CaseOutcome.UNANSWERED],
        "notRun": counts[CaseOutcome.NOT_RUN],
    }


def _failed(result: CaseResult) -> FailedCase:
    return {"id": result.id, "features": sorted(result.features), "differences": failure_lines(result)}

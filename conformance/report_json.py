"""A conformance run as one JSON object, whose form ``conformance.schema.json`` says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from conformance.report_text import failure_lines
from conformance.run import CaseOutcome, ConformanceRun
from policies.manifests.wire import Count, Keywords, dumps

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/conformance/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """How many cases had which outcome."""

    passed: Count  #: Everything that the case expects was answered as kube-scheduler does.
    partial: Count  #: So was everything that was answered, but some fields were not.
    failed: Count  #: Something differs, or there is no answer that can be read.
    unanswered: Count  #: Nothing that could be compared was answered.
    not_run: Count  #: The request was not sent.

    @classmethod
    def of(cls, counts: Counter[CaseOutcome]) -> OutcomeCounts:
        """Return how many cases had which outcome."""
        return cls(
            passed=counts[CaseOutcome.PASSED],
            partial=counts[CaseOutcome.PARTIAL],
            failed=counts[CaseOutcome.FAILED],
            unanswered=counts[CaseOutcome.UNANSWERED],
            not_run=counts[CaseOutcome.NOT_RUN],
        )


class FeatureResult(NamedTuple):
    """The cases of one feature. A case may be about several."""

    id: str  #: The feature.
    title: str  #: What it is.
    cases: OutcomeCounts  #: What became of its cases, as far as the feature is concerned.


class FailedCase(NamedTuple):
    """A case that failed."""

    id: str  #: The case.
    features: list[str]  #: What it is about.
    differences: list[str]  #: What differs, at most 20 of each case.


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformanceReport:
    """The result of ``evenkeel conformance``."""

    #: The form's name; its number changes when a field is renamed, goes away or means something else.
    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA
    corpus: str  #: The corpus and its version.
    target: str  #: What was tested.
    stopped: str  #: Why the run ended before all cases; empty if it did not.
    cases: OutcomeCounts  #: What became of all cases.
    features: list[FeatureResult]  #: What became of the cases of each feature.
    unanswered_fields: Mapping[str, Count]  #: In how many cases a field was not answered.
    declined: Mapping[str, Count]  #: In how many cases a request was declined, by the reason given.
    failed: list[FailedCase]  #: Every case that failed.


def render(run: ConformanceRun) -> str:
    """Return the run as indented JSON."""
    report = ConformanceReport(
        corpus=run.corpus,
        target=run.target,
        stopped=run.stopped,
        cases=OutcomeCounts.of(run.total),
        features=[
            FeatureResult(entry.id, entry.title, OutcomeCounts.of(counts)) for entry, counts in run.features()
        ],
        unanswered_fields=dict(sorted(run.unanswered.items())),
        declined=dict(run.declined.most_common()),
        failed=[
            FailedCase(result.id, sorted(result.features), failure_lines(result)) for result in run.failed
        ],
    )
    return dumps(report, indent=True).decode()

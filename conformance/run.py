"""A run of the corpus against one implementation: what became of each case, counted by feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from conformance.case import ConformanceCase
from conformance.comparison import Comparison, compare
from conformance.feature import FEATURES, AnswerField, Feature, features_of
from policies.manifests.sanitize import one_line


class CaseOutcome(StrEnum):
    """The outcome of a case, as far as one feature is concerned.

    PASSED: everything that the case expects is answered as kube-scheduler does. PARTIAL: so is everything
    that is answered, which is not everything. FAILED: something differs, or there is no answer that can be
    read. UNANSWERED: nothing that could be compared is answered. NOT_RUN: the request was not sent.
    """

    PASSED = "passed"
    PARTIAL = "partial"
    FAILED = "failed"
    UNANSWERED = "unanswered"
    NOT_RUN = "notRun"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """The outcome of one case.

    Attributes:
        id: The case's name.
        features: The ids of the case's features.
        comparison: Its answer compared; None if there is none.
        problem: Why there is no answer to compare; empty if there is one.
        declined: Whether the implementation said that it does not answer the request, which is no failure.
    """

    id: str
    features: frozenset[str]
    comparison: Comparison | None = None
    problem: str = ""
    declined: bool = False

    @classmethod
    def of(
        cls,
        case: ConformanceCase,
        comparison: Comparison | None = None,
        *,
        problem: str = "",
        declined: bool = False,
    ) -> CaseResult:
        """Return a result without the request, which may be large."""
        return cls(
            id=case.id, features=case.features, comparison=comparison, problem=problem, declined=declined
        )

    def outcome(self, feature: Feature | None = None) -> CaseOutcome:
        """Return the outcome of the case for a feature; for None, of all fields."""
        comparison = self.comparison
        if comparison is None:
            if not self.problem:
                return CaseOutcome.NOT_RUN
            return CaseOutcome.UNANSWERED if self.declined else CaseOutcome.FAILED

        def concerned(fields: frozenset[AnswerField]) -> bool:
            return any(feature is None or feature.concerns(entry) for entry in fields)

        if concerned(comparison.different):
            return CaseOutcome.FAILED
        if not concerned(comparison.compared):
            return CaseOutcome.UNANSWERED
        return CaseOutcome.PARTIAL if concerned(comparison.unanswered) else CaseOutcome.PASSED


def compare_answer(case: ConformanceCase, body: bytes) -> CaseResult:
    """Compare the answer to a case's request, JSON, with what is expected of it."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        start = one_line(body[:80].decode(errors="replace"))
        return CaseResult.of(case, problem=f"the answer is no JSON: {start}")
    if not isinstance(answer, dict):
        return CaseResult.of(case, problem=f"the answer is no JSON object: {one_line(str(answer), 80)}")
    if "error" in answer:
        return CaseResult.of(case, problem=one_line(_error_text(answer)), declined=True)
    return CaseResult.of(case, compare(case.expected, answer))


def _error_text(answer: Mapping[str, Any]) -> str:
    """Return an error of a score answer, with the first of its details."""
    details = answer.get("details")
    first = details[0] if isinstance(details, list) and details else None
    found = [first.get(name) for name in ("field", "message")] if isinstance(first, dict) else []
    return ": ".join(str(text) for text in (answer["error"], *found) if text)


@dataclass(slots=True)
class ConformanceRun:
    """All results of one run.

    Attributes:
        target: What was tested.
        corpus: Where the cases come from, and the version.
        chosen: The ids of the features that are reported; empty for all.
        stopped: Why the run ended before all cases; empty if it did not.
        outcomes: How many cases had which outcome, by the id of the feature.
        total: The same of all cases.
        unanswered: In how many cases a field was not answered.
        declined: In how many cases the implementation said what it does not answer, by its words.
        failed: The cases that failed, in order.
    """

    target: str
    corpus: str
    chosen: frozenset[str] = frozenset()
    stopped: str = ""
    outcomes: dict[str, Counter[CaseOutcome]] = field(default_factory=dict)
    total: Counter[CaseOutcome] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    declined: Counter[str] = field(default_factory=Counter)
    failed: list[CaseResult] = field(default_factory=list)

    def add(self, result: CaseResult) -> None:
        """Count the result of a case."""
        outcome = result.outcome()
        self.total[outcome] += 1
        for feature in features_of(result.features & self.chosen if self.chosen else result.features):
            self.outcomes.setdefault(feature.id, Counter())[result.outcome(feature)] += 1
        if result.comparison is not None:
            self.unanswered.update({entry.name for entry in result.comparison.unanswered})
        elif result.declined:
            self.declined[result.problem] += 1
        if outcome is CaseOutcome.FAILED:
            self.failed.append(result)

    @property
    def answered(self) -> int:
        """How many cases had an answer in which something could be compared."""
        return (
            self.total[CaseOutcome.PASSED]
            + self.total[CaseOutcome.PARTIAL]
            + sum(result.comparison is not None for result in self.failed)
        )

    def features(self) -> list[tuple[Feature, Counter[CaseOutcome]]]:
        """Return the features that some case is about, in the order of reports."""
        return [(entry, self.outcomes[entry.id]) for entry in FEATURES if entry.id in self.outcomes]

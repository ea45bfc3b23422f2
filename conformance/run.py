"""A run of the corpus: one request after another, and what became of each case, counted by feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import orjson

from conformance.case import ConformanceCase, Operation
from conformance.comparison import Comparison, compare
from conformance.feature import FEATURES, AnswerField, Feature, features_of
from conformance.implementation import (
    DeclinedError,
    Implementation,
    ImplementationError,
    NoAnswerError,
)
from policies.manifests.sanitize import one_line

#: What of an answer of this engine another answer is compared with, and of each of its steps.
_OF_ANSWER: Final = ("best", "condition", "preemption")
_OF_STEP: Final = ("node", "tied", "condition")
#: Requests without anything to compare in their answers after which a run ends that has compared nothing.
MOST_USELESS: Final = 25


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
    """The outcome of one case."""

    id: str  #: The case's name.
    features: frozenset[str]  #: The ids of the case's features.
    comparison: Comparison | None = None  #: Its answer compared; None if there is none.
    problem: str = ""  #: Why there is no answer to compare; empty if there is one.
    #: Whether the implementation said that it does not answer the request, which is no failure.
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
        features = frozenset(case.features)
        return cls(id=case.id, features=features, comparison=comparison, problem=problem, declined=declined)

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


def compare_answer(case: ConformanceCase, body: bytes, engine: dict[str, Any] | None = None) -> CaseResult:
    """Compare the answer to a case's request, JSON, with what is expected of it, and with an engine's."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        start = one_line(body[:80].decode(errors="replace"))
        return CaseResult.of(case, problem=f"the answer is not JSON: {start}")
    if not isinstance(answer, dict):
        return CaseResult.of(case, problem=f"the answer is not a JSON object: {one_line(str(answer), 80)}")
    if "error" in answer:
        return CaseResult.of(case, problem=one_line(_error_text(answer)), declined=True)
    return CaseResult.of(case, compare(case.expected, answer, engine))


def _error_text(answer: Mapping[str, Any]) -> str:
    """Return an error of a score answer, with the first of its details."""
    details = answer.get("details")
    first = details[0] if isinstance(details, list) and details else None
    found = [first.get(name) for name in ("field", "message")] if isinstance(first, dict) else []
    return ": ".join(str(text) for text in (answer["error"], *found) if text)


@dataclass(slots=True)
class ConformanceRun:
    """All results of one run."""

    target: str  #: What was tested.
    corpus: str  #: Where the cases come from, and the version.
    chosen: frozenset[str] = frozenset()  #: The ids of the features that are reported; empty for all.
    stopped: str = ""  #: Why the run ended before all cases; empty if it did not.
    #: How many cases had which outcome, by the id of the feature.
    outcomes: dict[str, Counter[CaseOutcome]] = field(default_factory=dict)
    total: Counter[CaseOutcome] = field(default_factory=Counter)  #: The same of all cases.
    unanswered: Counter[str] = field(default_factory=Counter)  #: In how many cases a field was not answered.
    #: In how many cases the implementation said what it does not answer, by its words.
    declined: Counter[str] = field(default_factory=Counter)
    failed: list[CaseResult] = field(default_factory=list)  #: The cases that failed, in order.

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


def run_cases(
    cases: Iterable[ConformanceCase],
    implementations: Mapping[Operation, Implementation],
    run: ConformanceRun,
    advance: Callable[[], None] = lambda: None,
    *,
    engine: Implementation | None = None,
) -> None:
    """Send the request of each case and compare the answer.

    Args:
        cases: The cases.
        implementations: What answers which requests; those without one are not run.
        run: Takes the results.
        advance: Called after each case.
        engine: Also compare each answer with that of this engine; None not to.
    """
    for case in cases:
        implementation = implementations.get(case.operation)
        if implementation is None or run.stopped:
            run.add(CaseResult.of(case))
        else:
            _run_case(case, implementation, run, engine)
        advance()
    if not run.stopped and not run.answered and not run.failed:
        run.stopped = f"{run.target} answered nothing that can be compared"


def _shown(operation: Operation, body: bytes) -> dict[str, Any]:
    """Return what of an answer of this engine other answers are compared with, as cases have it."""
    answer = orjson.loads(body)
    if operation is Operation.SIMULATE:
        steps = [{name: step[name] for name in _OF_STEP if step.get(name)} for step in answer["steps"]]
        return {"steps": steps}
    shown = {name: answer[name] for name in _OF_ANSWER}
    preemption = answer["preemption"] or {"nominated": []}
    # Of several nodes that are as good, whose pods are evicted is not said.
    names = ("nominated", "victims") if len(preemption["nominated"]) == 1 else ("nominated",)
    return {**shown, "preemption": {name: preemption[name] for name in names}}


def _run_case(
    case: ConformanceCase, implementation: Implementation, run: ConformanceRun, engine: Implementation | None
) -> None:
    request = orjson.dumps(case.request)
    try:
        body = implementation.answer(case.operation, request)
        own = _shown(case.operation, engine.answer(case.operation, request)) if engine else None
        result = compare_answer(case, body, own)
    except DeclinedError as error:
        result = CaseResult.of(case, problem=one_line(str(error)), declined=True)
    except NoAnswerError as error:
        result = CaseResult.of(case, problem=one_line(str(error)))
    except ImplementationError as error:
        run.stopped = f"{one_line(str(error))}; the request was case {one_line(case.id)}"
        result = CaseResult.of(case)
    run.add(result)
    if not run.answered and run.total.total() >= MOST_USELESS and not run.stopped:
        run.stopped = (
            f"{implementation.title}: none of the first {MOST_USELESS} answers has a field that can be "
            "compared, such as nodes: does it answer score requests? "
            f"The last: {result.problem or 'a JSON object'}"
        )

"""Runs cases against implementations, one request after another, until all are answered or none will be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import orjson

from conformance.case import ConformanceCase, Operation
from conformance.implementation import (
    DeclinedError,
    Implementation,
    ImplementationError,
    NoAnswerError,
)
from conformance.run import CaseResult, ConformanceRun, compare_answer
from policies.manifests.sanitize import one_line

#: Requests without anything to compare in their answers after which a run ends that has compared nothing.
MOST_USELESS: Final = 25


def run_cases(
    cases: Iterable[ConformanceCase],
    implementations: Mapping[Operation, Implementation],
    run: ConformanceRun,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Send the request of each case and compare the answer.

    Args:
        cases: The cases.
        implementations: What answers which requests; those without one are not run.
        run: Takes the results.
        advance: Called after each case.
    """
    for case in cases:
        implementation = implementations.get(case.operation)
        if implementation is None or run.stopped:
            run.add(CaseResult.of(case))
        else:
            _run_case(case, implementation, run)
        advance()
    if not run.stopped and not run.answered and not run.failed:
        run.stopped = f"{run.target} answered nothing that can be compared"


def _run_case(case: ConformanceCase, implementation: Implementation, run: ConformanceRun) -> None:
    try:
        result = compare_answer(case, implementation.answer(case.operation, orjson.dumps(case.request)))
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

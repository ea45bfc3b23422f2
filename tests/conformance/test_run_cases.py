"""Runs over implementations that answer everything, nothing, and something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from conformance.case import Operation
from conformance.implementation import DeclinedError, ImplementationError, NoAnswerError
from conformance.run import MOST_USELESS, CaseOutcome, ConformanceRun, run_cases
from tests.conformance.test_run import CASE

#: More cases than are tried of an implementation that answers nothing.
CASES = [replace(CASE, id=str(number)) for number in range(2 * MOST_USELESS)]


class _Scripted:
    """Gives its answers in order, then the last again."""

    title = "it"
    operations = frozenset(Operation)

    def __init__(self, *answers: bytes | Exception) -> None:
        self._answers = list(answers)

    def answer(self, _operation: Operation, _request: bytes) -> bytes:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        pass


def _run(*answers: bytes | Exception) -> ConformanceRun:
    run = ConformanceRun(target="it", corpus="c")
    run_cases(CASES, dict.fromkeys(Operation, _Scripted(*answers)), run)
    return run


GOOD = b'{"preFilter": "Skip"}'
REST = len(CASES)


@pytest.mark.parametrize(
    ("answers", "counts", "stopped"),
    [
        pytest.param([GOOD], {CaseOutcome.PARTIAL: REST}, False, id="answers"),
        pytest.param(
            [DeclinedError("no"), GOOD],
            {CaseOutcome.UNANSWERED: 1, CaseOutcome.PARTIAL: REST - 1},
            False,
            id="one request declined",
        ),
        pytest.param(
            [NoAnswerError("late"), GOOD],
            {CaseOutcome.FAILED: 1, CaseOutcome.PARTIAL: REST - 1},
            False,
            id="one request without an answer",
        ),
        pytest.param(
            [GOOD, ImplementationError("gone")],
            {CaseOutcome.PARTIAL: 1, CaseOutcome.NOT_RUN: REST - 1},
            True,
            id="ends after one",
        ),
        pytest.param(
            [b"y"],
            {CaseOutcome.FAILED: MOST_USELESS, CaseOutcome.NOT_RUN: REST - MOST_USELESS},
            True,
            id="rubbish",
        ),
        pytest.param(
            [b"{}"],
            {CaseOutcome.UNANSWERED: MOST_USELESS, CaseOutcome.NOT_RUN: REST - MOST_USELESS},
            True,
            id="nothing that can be compared",
        ),
    ],
)
def test_runs(
    answers: list[bytes | Exception],
    counts: dict[CaseOutcome, int],
    *,
    stopped: bool,
    wording: Callable[[str], str],
) -> None:
    """A run goes on while answers may come, and says why it ended if it ended early."""
    run = _run(*answers)

    assert counts == dict(run.total)
    assert stopped == bool(run.stopped)
    assert not stopped or wording(run.stopped) == run.stopped


def test_few_cases_without_an_answer() -> None:
    """An implementation that answers nothing conforms to nothing, however few cases there are."""
    run = ConformanceRun(target="it", corpus="c")
    run_cases(CASES[:1], dict.fromkeys(Operation, _Scripted(b"{}")), run)

    assert run.stopped


def test_other_operations() -> None:
    """Cases that nothing answers are not run, and stop nothing."""
    run = ConformanceRun(target="it", corpus="c")
    simulated = [replace(CASE, operation=Operation.SIMULATE)]
    run_cases([*CASES, *simulated], {Operation.SCORE: _Scripted(GOOD)}, run)

    assert (1, "") == (run.total[CaseOutcome.NOT_RUN], run.stopped)

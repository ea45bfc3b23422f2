"""This engine against the corpus, in the same way as any other implementation."""

from __future__ import annotations

import pytest

from conformance.case import Operation
from conformance.corpus import open_corpus
from conformance.engine import Engine
from conformance.implementation import DeclinedError
from conformance.run import CaseOutcome, ConformanceRun, run_cases
from tests.recorded import corpus_cases

#: The files of which the tests of the scheduler run every case; here it is every tenth.
RUN_THERE = ("plugins", "edge-cases", "profile", "sequences", "volumes", "preemption")


@pytest.mark.parametrize("name", [file.name for file in open_corpus().files])
def test_the_engine_conforms(name: str) -> None:
    """Every case is answered in full, as kube-scheduler answers it."""
    cases = corpus_cases(name)[:: 10 if name.removesuffix(".jsonl.gz") in RUN_THERE else 1]
    run = ConformanceRun(target="", corpus="")
    run_cases(cases, dict.fromkeys(Operation, Engine()), run)

    assert {CaseOutcome.PASSED: len(cases)} == dict(run.total)


def test_a_bad_request() -> None:
    """A rejected request is reported with its field."""
    with pytest.raises(DeclinedError, match=r"^pod: "):
        Engine().answer(Operation.SCORE, b"{}")

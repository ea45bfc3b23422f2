"""This engine against the corpus, in the same way as any other implementation."""

from __future__ import annotations

import pytest

from conformance.case import Operation
from conformance.corpus import open_corpus
from conformance.engine import Engine
from conformance.implementation import DeclinedError
from conformance.run import CaseOutcome, ConformanceRun
from conformance.run_cases import run_cases
from tests.recorded import corpus_cases

#: Of large files every tenth case; the tests of the scheduler run them all.
STEPS = {"plugins.jsonl.gz": 10, "edge-cases.jsonl.gz": 10, "profile.jsonl.gz": 10}


@pytest.mark.parametrize("name", [file.name for file in open_corpus().files])
def test_the_engine_conforms(name: str) -> None:
    """Every case is answered in full, as kube-scheduler answers it."""
    cases = corpus_cases(name)[:: STEPS.get(name, 1)]
    run = ConformanceRun(target="", corpus="")
    run_cases(cases, dict.fromkeys(Operation, Engine()), run)

    assert {CaseOutcome.PASSED: len(cases)} == dict(run.total)


def test_a_bad_request() -> None:
    """What the engine refuses is said with its field."""
    with pytest.raises(DeclinedError, match=r"^pod: "):
        Engine().answer(Operation.SCORE, b"{}")

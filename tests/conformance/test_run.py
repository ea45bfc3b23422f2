"""The outcomes of cases, and how they are counted."""

from __future__ import annotations

import orjson
import pytest

from conformance.case import ConformanceCase, Operation
from conformance.feature import FEATURES_BY_ID
from conformance.run import CaseOutcome, CaseResult, ConformanceRun, compare_answer

CASE = ConformanceCase(
    id="a",
    features=("KEP-895", "profile"),
    release="1.36",
    source="measured",
    operation=Operation.SCORE,
    request={},
    expected={"preFilter": "Skip", "nodes": {"n": {"feasible": True, "total": 7}}},
)


def _answer(total: int | None = 7, **fields: object) -> bytes:
    return orjson.dumps(
        {"preFilter": "Skip", "nodes": [{"name": "n", "feasible": True, "total": total}]} | fields
    )


@pytest.mark.parametrize(
    ("body", "spread", "profile"),
    [
        pytest.param(_answer(), CaseOutcome.PASSED, CaseOutcome.PASSED, id="all the same"),
        pytest.param(_answer(8), CaseOutcome.PASSED, CaseOutcome.FAILED, id="another total"),
        pytest.param(_answer(None), CaseOutcome.PASSED, CaseOutcome.PARTIAL, id="no total"),
        pytest.param(_answer(preFilter="x"), CaseOutcome.FAILED, CaseOutcome.FAILED, id="another preFilter"),
        pytest.param(b'{"preFilter": "Skip"}', CaseOutcome.PARTIAL, CaseOutcome.PARTIAL, id="one field"),
        pytest.param(b"{}", CaseOutcome.UNANSWERED, CaseOutcome.UNANSWERED, id="an object"),
        pytest.param(b'{"error": "no"}', CaseOutcome.UNANSWERED, CaseOutcome.UNANSWERED, id="an error"),
        pytest.param(b"y", CaseOutcome.FAILED, CaseOutcome.FAILED, id="no JSON"),
        pytest.param(b"[]", CaseOutcome.FAILED, CaseOutcome.FAILED, id="no object"),
    ],
)
def test_outcomes(body: bytes, spread: CaseOutcome, profile: CaseOutcome) -> None:
    """A feature is judged by its own fields."""
    result = compare_answer(CASE, body)

    assert (spread, profile) == (
        result.outcome(FEATURES_BY_ID["KEP-895"]),
        result.outcome(FEATURES_BY_ID["profile"]),
    )
    assert profile is result.outcome()


def test_counts() -> None:
    """Cases, fields and reasons are counted; the failed ones are kept."""
    run = ConformanceRun(target="t", corpus="c")
    for body in (_answer(), _answer(8), _answer(None), b'{"error": "no", "details": [{"field": "f"}]}'):
        run.add(compare_answer(CASE, body))
    run.add(CaseResult.of(CASE))

    assert dict.fromkeys(CaseOutcome, 1) == dict(run.total)
    assert 3 == run.answered
    assert ({"nodes.total": 1}, {"no: f": 1}) == (dict(run.unanswered), dict(run.declined))
    assert ["a"] == [result.id for result in run.failed]
    assert ["KEP-895", "profile"] == [feature.id for feature, _ in run.features()]


def test_chosen_features() -> None:
    """Only the features that were chosen are reported."""
    run = ConformanceRun(target="t", corpus="c", chosen=frozenset({"profile"}))
    run.add(compare_answer(CASE, _answer()))

    assert ["profile"] == [feature.id for feature, _ in run.features()]

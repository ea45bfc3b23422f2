"""What becomes of a sample."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from policies.evaluation.context import AdmissionContext
from policies.evaluation.decision import Verdict
from policies.evaluation.sampling import EXPECT_ANNOTATION, Judged, judge_sample
from tests.builders import a_constraint, a_policy, a_workload, kind_of
from tests.policies.evaluation.contexts import a_context, defaults

INJECTING = a_context(a_policy(defaults=defaults("workloads")))
BAD = {"topologySpreadConstraints": [a_constraint(maxSkew=0)]}


def judge(obj: dict[str, Any], context: AdmissionContext) -> Judged:
    kind = kind_of(obj["kind"], obj["apiVersion"].rpartition("/")[0])
    return judge_sample(obj, kind, context, today=date(2026, 1, 1))


@pytest.mark.parametrize(
    ("obj", "context", "verdict", "rules"),
    [
        pytest.param(a_workload(), a_context(), Verdict.ALLOWED, (), id="allowed"),
        pytest.param(a_workload(), INJECTING, Verdict.INJECTED, (), id="injected"),
        pytest.param(
            a_workload(spec=BAD), INJECTING, Verdict.DENIED, ("max-skew-not-positive",), id="denied"
        ),
        pytest.param(
            a_workload(spec=BAD),
            a_context(a_policy(enforcement="warn")),
            Verdict.WARNED,
            ("max-skew-not-positive",),
            id="warned",
        ),
        pytest.param(
            a_workload(spec={"nodeName": 1}),
            a_context(a_policy(scope={"namespaces": ["other"]})),
            Verdict.ALLOWED,
            (),
            id="in nobody's scope",
        ),
    ],
)
def test_verdicts(
    obj: dict[str, Any], context: AdmissionContext, verdict: Verdict, rules: tuple[str, ...]
) -> None:
    """A sample is mutated, and then validated, as the API server has it done."""
    result = judge(obj, context)

    assert (verdict, rules) == (result.verdict, result.rules)
    assert (verdict is Verdict.ALLOWED) == (not result.texts)


@pytest.mark.parametrize(
    ("expected", "rules", "missed"),
    [
        pytest.param(Verdict.DENIED, None, "", id="the verdict alone"),
        pytest.param(Verdict.DENIED, " max-skew-not-positive ,", "", id="with the rule"),
        pytest.param(Verdict.ALLOWED, None, "expected allowed, got denied", id="another verdict"),
        pytest.param(
            Verdict.DENIED,
            "selector-missing",
            "expected the rules selector-missing, got max-skew-not-positive",
            id="another rule",
        ),
        pytest.param(Verdict.DENIED, "", "expected the rules none, got max-skew-not-positive", id="no rule"),
    ],
)
def test_misses(expected: Verdict, rules: str | None, missed: str) -> None:
    """A sample must get its verdict, and break the rules that it names and no others."""
    annotations = {} if rules is None else {EXPECT_ANNOTATION: rules}

    assert missed == judge(a_workload(spec=BAD, annotations=annotations), a_context()).misses(expected)

"""The outcome of a sample."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from policies.admission.decision import AdmissionVerdict
from policies.admission.policy_tests import EXPECT_ANNOTATION, SampleResult, run_sample
from policies.config.context import AdmissionContext
from tests.builders import a_constraint, a_policy, a_workload, kind_of
from tests.policies.config.contexts import a_context, defaults

INJECTING = a_context(a_policy(defaults=defaults("workloads")))
BAD = {"topologySpreadConstraints": [a_constraint(maxSkew=0)]}


def judge(obj: dict[str, Any], context: AdmissionContext) -> SampleResult:
    kind = kind_of(obj["kind"], obj["apiVersion"].rpartition("/")[0])
    return run_sample(obj, kind, context, today=date(2026, 1, 1))


@pytest.mark.parametrize(
    ("obj", "context", "verdict", "rules"),
    [
        pytest.param(a_workload(), a_context(), AdmissionVerdict.ALLOWED, (), id="allowed"),
        pytest.param(a_workload(), INJECTING, AdmissionVerdict.INJECTED, (), id="injected"),
        pytest.param(
            a_workload(spec=BAD), INJECTING, AdmissionVerdict.DENIED, ("max-skew-not-positive",), id="denied"
        ),
        pytest.param(
            a_workload(spec=BAD),
            a_context(a_policy(enforcement="warn")),
            AdmissionVerdict.WARNED,
            ("max-skew-not-positive",),
            id="warned",
        ),
        pytest.param(
            a_workload(spec={"nodeName": 1}),
            a_context(a_policy(scope={"namespaces": ["other"]})),
            AdmissionVerdict.ALLOWED,
            (),
            id="in nobody's scope",
        ),
    ],
)
def test_verdicts(
    obj: dict[str, Any], context: AdmissionContext, verdict: AdmissionVerdict, rules: tuple[str, ...]
) -> None:
    """A sample is mutated, and then validated, as the API server has it done."""
    result = judge(obj, context)

    assert (verdict, rules) == (result.verdict, result.rules)
    assert (verdict is AdmissionVerdict.ALLOWED) == (not result.texts)


@pytest.mark.parametrize(
    ("expected", "rules", "missed"),
    [
        pytest.param(AdmissionVerdict.DENIED, None, "", id="the verdict alone"),
        pytest.param(AdmissionVerdict.DENIED, " max-skew-not-positive ,", "", id="with the rule"),
        pytest.param(AdmissionVerdict.ALLOWED, None, "expected allowed, got denied", id="another verdict"),
        pytest.param(
            AdmissionVerdict.DENIED,
            "selector-missing",
            "expected the rules selector-missing, got max-skew-not-positive",
            id="another rule",
        ),
        pytest.param(
            AdmissionVerdict.DENIED, "", "expected the rules none, got max-skew-not-positive", id="no rule"
        ),
    ],
)
def test_misses(expected: AdmissionVerdict, rules: str | None, missed: str) -> None:
    """A sample must get its verdict, and break the rules that it names and no others."""
    annotations = {} if rules is None else {EXPECT_ANNOTATION: rules}

    assert missed == judge(a_workload(spec=BAD, annotations=annotations), a_context()).misses(expected)

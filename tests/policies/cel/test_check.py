"""Every rule is in CEL, or says why not."""

from __future__ import annotations

import pytest

from policies.cel.check import CelCheck, CelContext, NoCel, Over
from policies.rules.base import Rule, RuleTarget, all_rules


def _written(rule: Rule) -> CelCheck | NoCel:
    return rule.cel(CelContext(params=rule.params_of({}))) if callable(rule.cel) else rule.cel


@pytest.mark.parametrize("rule", all_rules().values(), ids=all_rules())
def test_every_rule_has_cel_or_a_reason(rule: Rule) -> None:
    """The API's rules need the object alone, so each is an expression; only rules of workloads are."""
    found = _written(rule)
    reads = found.over if isinstance(found, CelCheck) else None

    assert isinstance(found, CelCheck) or found.reason
    assert reads is not None or not rule.is_api_rule
    assert reads is None or rule.target is RuleTarget.WORKLOAD
    # A rule of the API decides which constraints are valid, so it reads those that may not be.
    assert reads is None or rule.is_api_rule == (reads is Over.CONSTRAINTS) or reads is Over.WORKLOAD

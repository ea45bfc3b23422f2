"""Every rule is in CEL, or says why not."""

from __future__ import annotations

import pytest

from policies.emit.cel import CelCheck, CelContext, Over
from policies.emit.rule_checks import _CHECKS, check_of
from policies.rules.base import Rule, RuleTarget, all_rules


@pytest.mark.parametrize("rule", all_rules().values(), ids=all_rules())
def test_every_rule_has_cel_or_a_reason(rule: Rule) -> None:
    """The API's rules need the object alone, so each is an expression; only rules of workloads are."""
    found = check_of(rule, CelContext(params=rule.params_of({})))
    reads = found.over if isinstance(found, CelCheck) else None

    assert isinstance(found, CelCheck) or found.reason
    assert reads is not None or not rule.is_api_rule
    assert reads is None or rule.target is RuleTarget.WORKLOAD
    # A rule of the API decides which constraints are valid, so it reads those that may not be.
    assert reads is None or rule.is_api_rule == (reads is Over.CONSTRAINTS) or reads is Over.WORKLOAD


def test_every_entry_is_a_rule() -> None:
    """No check is left of a rule that is gone or has another id."""
    assert set() == set(_CHECKS) - set(all_rules())

"""The exemptions from findings, and their errors."""

from __future__ import annotations

from typing import Any

import pytest

from policies.lint.exemptions import EXEMPTION_WITHOUT_EFFECT
from tests.policies.lint.policy_runs import POD, RULE, linted

EXEMPT = POD % ", annotations: {evenkeel.dev/ignore: 'max-skew-not-positive: why (until 2027-01-31)'}"


def test_exemptions() -> None:
    """An exemption holds on its last day; one that is over is a finding of its own."""
    held, over = linted(EXEMPT), linted(EXEMPT.replace("01-31", "01-30"))

    assert ([], 1) == (held.findings, len(held.suppressed))
    assert {RULE, EXEMPTION_WITHOUT_EFFECT} == {finding.rule for finding in over.findings}


@pytest.mark.parametrize(
    ("spec", "in_force", "reason"),
    [
        pytest.param({"enforcement": "warn"}, False, "why (until 2027-01-31)", id="nothing is denied"),
        pytest.param({"enforcement": "deny"}, True, "", id="denied, annotations do not exempt"),
        pytest.param(
            {"enforcement": "deny", "annotationExemptions": "allowed"},
            False,
            "why (until 2027-01-31)",
            id="denied, annotations exempt",
        ),
        pytest.param(
            {"rules": {RULE: {"severity": "warning"}}}, False, "why (until 2027-01-31)", id="a warning"
        ),
        pytest.param(
            {"exceptions": [{"rules": [RULE], "names": ["web"], "reason": "moving"}]},
            False,
            "moving (policy production)",
            id="an exception of the policy",
        ),
    ],
)
def test_exemptions_hold_as_at_admission(spec: dict[str, Any], in_force: bool, reason: str) -> None:  # noqa: FBT001
    """With the policy of the cluster, the linter tells before the merge what admission denies after it."""
    result = linted(EXEMPT, **spec)

    assert ({RULE, EXEMPTION_WITHOUT_EFFECT} if in_force else set()) == {
        finding.rule for finding in result.findings
    }
    assert ([] if in_force else [reason]) == [entry.reason for entry in result.suppressed]

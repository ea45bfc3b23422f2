"""When a plan fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.manifests.findings import Finding, Severity
from tests.planning.plan.plans import EMPTY, RUN, a_finding


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param((), False, id="nothing"),
        pytest.param((a_finding("is odd", severity=Severity.WARNING),), False, id="a warning"),
        pytest.param((a_finding("is odd"),), True, id="an error"),
    ],
)
def test_failed(*, new: tuple[Finding, ...], expected: bool) -> None:
    """New errors make it fail, whatever the pods do; findings that are gone do not."""
    assert expected is replace(EMPTY, new=new, gone=(a_finding("was odd"),)).failed


def test_pods_that_stay_pending() -> None:
    """So do they."""
    assert replace(RUN, new=()).failed

"""Which audits fail."""

from __future__ import annotations

import pytest

from policies.manifests.findings import Severity
from tests.planning.audit.audits import an_audit_run


@pytest.mark.parametrize(
    ("least", "top", "expected"),
    [(Severity.ERROR, None, True), (None, None, False), (Severity.NOTE, 0, True), (Severity.ERROR, 0, True)],
)
def test_fails(least: Severity | None, top: int | None, *, expected: bool) -> None:
    """Problems that are not shown fail an audit, too."""
    assert expected is an_audit_run(top).fails(least)

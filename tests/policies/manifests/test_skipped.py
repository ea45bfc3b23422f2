"""What may be skipped, and what must not."""

from __future__ import annotations

import pytest

from policies.manifests.findings import Location, Severity
from policies.manifests.skipped import FailOnSkipped, Skipped, SkipReason, SourceKind

NAMED, ANY, NEVER = FailOnSkipped.NAMED, FailOnSkipped.ANY, FailOnSkipped.NEVER


def skipped(reason: SkipReason, kind: SourceKind = SourceKind.CHART, *, named: bool = True) -> Skipped:
    return Skipped(location=Location("a"), kind=kind, reason=reason, message="why", named=named)


@pytest.mark.parametrize(
    ("entry", "failing"),
    [
        pytest.param(skipped(SkipReason.TOOL_FAILED), {NAMED, ANY}, id="a chart that is named"),
        pytest.param(skipped(SkipReason.TOOL_MISSING), {NAMED, ANY}, id="no helm"),
        pytest.param(skipped(SkipReason.DOWNLOAD_NEEDED), {NAMED, ANY}, id="a download"),
        pytest.param(skipped(SkipReason.TEMPLATE, SourceKind.FILE), {NAMED, ANY}, id="a template"),
        pytest.param(skipped(SkipReason.TOOL_FAILED, named=False), {ANY}, id="a chart of a folder"),
        pytest.param(skipped(SkipReason.ENCRYPTED), {ANY}, id="encrypted"),
        pytest.param(skipped(SkipReason.EMPTY, SourceKind.STDIN), {NAMED, ANY}, id="empty stdin"),
        pytest.param(
            skipped(SkipReason.NO_OBJECTS, SourceKind.FILE), {NAMED, ANY}, id="a file of something else"
        ),
        pytest.param(skipped(SkipReason.SWITCHED_OFF), set(), id="--helm=off"),
        pytest.param(skipped(SkipReason.UNREADABLE), set(), id="--ignore unreadable"),
    ],
)
def test_fails(entry: Skipped, failing: set[FailOnSkipped]) -> None:
    """A run fails by what is named, or by anything; never by what the user asked to skip."""
    assert failing == {fail_on for fail_on in FailOnSkipped if entry.fails(fail_on)}
    assert failing == {each for each in FailOnSkipped if entry.severity(each) is Severity.ERROR}

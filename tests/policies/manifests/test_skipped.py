"""The reasons for which documents may be skipped, and those for which they must not."""

from __future__ import annotations

import pytest

from policies.manifests.findings import Location, Severity
from policies.manifests.skipped import (
    PARTLY_READ,
    FailOnSkipped,
    Skipped,
    SkipReason,
    SourceKind,
    as_all_there_is,
)

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
        pytest.param(skipped(SkipReason.OUT_OF_SCOPE, named=False), set(), id="a workload out of scope"),
        pytest.param(skipped(SkipReason.OUT_OF_SCOPE), {NAMED, ANY}, id="all workloads out of scope"),
        pytest.param(skipped(SkipReason.UNREADABLE), set(), id="--ignore unreadable"),
    ],
)
def test_fails(entry: Skipped, failing: set[FailOnSkipped]) -> None:
    """A run fails by what is named, or by anything; never by what the user asked to skip."""
    assert failing == {fail_on for fail_on in FailOnSkipped if entry.fails(fail_on)}
    assert failing == {each for each in FailOnSkipped if entry.severity(each) is Severity.ERROR}


@pytest.mark.parametrize("reason", SkipReason)
def test_nothing_else_was_read(reason: SkipReason) -> None:
    """Whoever wants it: a run fails that was left without any object, but not for what was read in part."""
    (entry,) = as_all_there_is([skipped(reason, named=False)], workloads=0, objects=0)

    assert (reason not in PARTLY_READ) == entry.fails(NAMED) == entry.fails(ANY)
    assert not entry.fails(NEVER)


def test_other_objects_were_read() -> None:
    """Of a repository without workloads what is encrypted may be all that is missing."""
    read = [skipped(reason, named=False) for reason in (SkipReason.ENCRYPTED, SkipReason.TOOL_FAILED)]

    assert [False, True] == [each.fails(NAMED) for each in as_all_there_is(read, workloads=0, objects=1)]
    assert read == as_all_there_is(read, workloads=1, objects=1)

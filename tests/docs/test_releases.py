"""The comparisons that the page of releases lists are those of the corpus."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from conformance.case import ConformanceCase
from conformance.corpus import open_corpus
from deploy.release.project import ROOT
from docs.generator import releases
from docs.generator.release_evidence import MEASURED, read_evidence, tells
from policies.model.version import KubernetesVersion
from policies.scheduler.release_changes import CHANGES

EVIDENCE = read_evidence()


@cache
def cases() -> dict[str, ConformanceCase]:
    return {case.id: case for _, case in open_corpus().cases()}


def test_every_case_is_counted() -> None:
    """The numbers of cases are those of the corpus: after a change, `make releases` writes them anew."""
    found = Counter((case.release, case.source.startswith(MEASURED)) for case in cases().values())
    kept = {
        (release, measured): count
        for release, each in EVIDENCE.items()
        for measured, count in ((True, each.measured), (False, each.stated))
        if count
    }

    assert dict(found) == kept


@pytest.mark.parametrize(
    ("page", "words"), [("README.md", "of the {} changes"), ("docs/conformance.md", "of {} for")]
)
def test_pages_say_how_many_changes_are_told_apart(page: str, words: str) -> None:
    """They have the fewest and the most of a release of which something was recorded, and of how many."""
    told = [len(each.told) for each in EVIDENCE.values() if each.measured]
    changes = words.format(len({change.field for change in CHANGES}))

    assert f"{min(told)} to {max(told)} {changes}" in (ROOT / page).read_text()


@pytest.mark.parametrize("release", EVIDENCE)
def test_examples_tell_changes_apart(release: str) -> None:
    """For each change that a release is said to tell apart, its first case does."""
    found = {name: tells(cases()[case], name) for name, (_, case) in EVIDENCE[release].told.items()}

    assert dict.fromkeys(found, True) == found
    assert found.keys() <= {change.field for change in CHANGES}


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        pytest.param("1.33.3", "1.33.3: 126 recorded cases", id="recorded"),
        pytest.param("1.31", "Nearest with recorded verdicts: 1.30.10 before, 1.33.3 after", id="between"),
        pytest.param("1.38", "by the table alone: 2 changes", id="of release notes alone"),
        pytest.param("1.55", "Kubernetes 1.55, evaluated as 1.38", id="newer than the table"),
    ],
)
def test_what_is_behind_a_release(release: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The script says of any release what was compared with it, and what was not."""
    assert 0 == releases.main([release])

    assert expected in capsys.readouterr().out


def test_a_release_that_cannot_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A release before the table is refused."""
    assert 2 == releases.main(["1.20"])
    assert "1.24 to 1.99" in capsys.readouterr().err


def test_all_changes_are_reported() -> None:
    """Every line of the table is said to be told apart, or not to be."""
    lines = list(releases.report(KubernetesVersion(1, 36)))

    assert all(any(change.what in line for line in lines) for change in CHANGES)

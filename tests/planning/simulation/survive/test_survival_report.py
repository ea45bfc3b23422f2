"""The report on all losses together."""

from __future__ import annotations

from itertools import count

import pytest

from planning.simulation.survive.survival_report import SurvivalReport
from planning.simulation.survive.survive import MOST_MARGIN
from tests.planning.what_if.survivals import a_deployment, a_mixed_survival, a_survival


def _lacking(report: SurvivalReport) -> tuple[bool, bool | None]:
    return report.survival.deployed[0].lacks, report.survives(0)


def test_one_of_several() -> None:
    """One that does not survive has no margin, and all together do not."""
    report = a_mixed_survival()

    assert (False, True, False) == (report.survives(0), report.survives(1), report.verdict)
    assert (None, True) == (report.margin(0), isinstance(report.margin(1), int))
    assert (True, "persistentVolumeClaims") == (report.complete, report.unmodeled[0])
    assert ["agent"] == [workload.name for workload, _ in report.unjudged]


def test_what_was_tried() -> None:
    """A run that was ended early has a verdict only where a loss decides it, and no margin."""
    report, failing = a_survival(a_deployment(), tried=2), a_survival(a_deployment(minDomains=3), tried=1)

    assert (False, None, None, None) == (
        report.complete,
        report.survives(0),
        report.verdict,
        report.margin(0),
    )
    assert (False, False, False) == (failing.complete, failing.survives(0), failing.verdict)


def test_margin_without_end() -> None:
    """No more replicas are tried than a margin can have."""
    report = a_survival(a_deployment(cpu="1m"))

    assert (True, MOST_MARGIN, 0) == (report.verdict, report.margin(0), report.untried)


@pytest.mark.parametrize(
    ("tried", "allowed_missing"),
    [
        pytest.param(1, 0, id="1 of 3 tried"),
        pytest.param(1, 2, id="as many run as must, but nothing was lost"),
        pytest.param(3, 0, id="all tried, but nothing was lost"),
    ],
)
def test_ended_before_a_loss(tried: int, allowed_missing: int) -> None:
    """Replicas that were not placed are not missing: nothing is known of them."""
    asked = count(1)
    report = a_survival(a_deployment(), allowed_missing=allowed_missing, stop=lambda: next(asked) > tried)
    (deployed,) = report.survival.deployed

    assert (3 - tried, False) == (deployed.untried, deployed.lacks)
    assert (None, None, ()) == (report.survives(0), report.verdict, report.losses)


def test_too_few_whatever_the_rest_does() -> None:
    """Of 3 replicas none of which fits, two that were tried decide it for three that must run."""
    asked = count(1)
    report = a_survival(a_deployment(cpu="5"), stop=lambda: next(asked) > 2)

    assert (1, True, False) == (report.survival.deployed[0].untried, *_lacking(report))

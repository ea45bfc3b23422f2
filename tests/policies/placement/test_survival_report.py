"""What a report says of all losses together."""

from __future__ import annotations

from policies.placement.survive import MOST_MARGIN
from tests.policies.reports.survivals import a_deployment, a_mixed_survival, a_survival


def test_one_of_several() -> None:
    """One that does not survive has no margin, and all together do not."""
    report = a_mixed_survival()

    assert (False, True, False) == (report.survives(0), report.survives(1), report.all_survive)
    assert (None, True) == (report.margin(0), isinstance(report.margin(1), int))
    assert (True, ("persistentVolumeClaims",)) == (report.complete, report.unmodeled)
    assert ["agent"] == [workload.name for workload, _ in report.unjudged]


def test_what_was_tried() -> None:
    """Of a run that was ended early, what it has."""
    report = a_survival(a_deployment(cpu="1m"), tried=2)

    assert (False, True, MOST_MARGIN, 0) == (
        report.complete,
        report.all_survive,
        report.margin(0),
        report.untried,
    )

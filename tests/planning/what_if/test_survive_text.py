"""Survivals as a person reads them; the golden files have the wording."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planning.simulation.survive.survival_report import SurvivalReport
from planning.what_if import survive_junit as junit
from planning.what_if import survive_text
from policies.model.topology_keys import HOSTNAME
from tests.builders import a_node
from tests.planning.what_if.survivals import a_deployment, a_mixed_survival, a_survival
from tests.planning.what_ifs import another_pod


@pytest.mark.parametrize(
    ("name", "report"),
    [
        pytest.param("survive_all.txt", a_survival(a_deployment()), id="all survive"),
        pytest.param("survive_mixed.txt", a_mixed_survival(), id="one does not survive"),
        pytest.param(
            "survive_unreachable.txt",
            a_survival(a_deployment(), unreachable=True, allowed_missing=1),
            id="unreachable, and one may be missing",
        ),
        pytest.param("survive_lacking.txt", a_survival(a_deployment(cpu="5")), id="replicas lack anyway"),
        pytest.param(
            "survive_hosts.txt",
            a_survival(
                a_deployment(24, cpu="2"),
                nodes=[a_node(f"n{number:02}", "abc"[number % 3]) for number in range(15)],
                key=HOSTNAME,
            ),
            id="many domains",
        ),
        pytest.param(
            "survive_shared.txt",
            a_survival(a_deployment(), a_deployment() | {"metadata": {"name": "twin", "namespace": "shop"}}),
            id="two with one selector",
        ),
        pytest.param(
            "survive_evicted.txt",
            a_survival(
                a_deployment(2, whenUnsatisfiable="ScheduleAnyway"),
                pods=[
                    another_pod("high", "n1", "3", priority=10),
                    another_pod("low", "n2", "3"),
                    another_pod("full", "n3", "2", priority=20),
                ],
            ),
            id="others are evicted",
        ),
        pytest.param("survive_early.txt", a_survival(a_deployment(), tried=1), id="ended early"),
    ],
)
def test_text(name: str, report: SurvivalReport, golden: Callable[[str, str], str]) -> None:
    """The whole text; read the golden file before agreeing to it."""
    text = survive_text.render(report, width=80, color=False)

    assert golden(name, text) == text


@pytest.mark.parametrize(
    ("name", "report"),
    [
        pytest.param("survive_mixed", a_mixed_survival(), id="one does not survive"),
        pytest.param("survive_lacking", a_survival(a_deployment(cpu="5")), id="replicas lack anyway"),
        pytest.param("survive_early", a_survival(a_deployment(), tried=1), id="ended early"),
    ],
)
def test_ci_formats(name: str, report: SurvivalReport, golden: Callable[[str, str], str]) -> None:
    """A page and a case for each loss, as CI systems show them; a loss that was not tried did not pass."""
    page, cases = survive_text.render_markdown(report), junit.render(report)

    assert golden(f"{name}.md", page) == page
    assert golden(f"{name}.xml", cases) == cases
    assert bool(report.verdict) == ('failures="0"' in cases and "<skipped" not in cases)

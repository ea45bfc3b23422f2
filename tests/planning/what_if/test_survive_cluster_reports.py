"""Losses of whole clusters for people and for programs; the golden files have the wording and every field."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import orjson
import pytest

from planning.simulation.survive.cluster_loss import ClusterSurvivalReport
from planning.simulation.survive.damage import Damage
from planning.what_if import survive_cluster_text as cluster_text
from planning.what_if import survive_json
from planning.what_if import survive_junit as junit
from policies.model.topology_keys import HOSTNAME
from tests.builders import a_node
from tests.planning.simulation.survive.cluster_losses import a_mixed_report, a_report, pods_of


def an_ended_report() -> ClusterSurvivalReport:
    """Return losses that were ended in the first."""
    calls = count()
    return a_report(*pods_of("web", ["n1", "n1", "n2"], "100m"), stop=lambda: next(calls) > 1)


@pytest.mark.parametrize(
    ("name", "report"),
    [
        pytest.param("cluster_mixed.txt", a_mixed_report(), id="every damage"),
        pytest.param("cluster_survives.txt", a_report(*pods_of("web", ["n1", "n2"])), id="no damage"),
        pytest.param(
            "cluster_one.txt",
            a_report(*pods_of("web", ["n1"]), domain="a", unreachable=True),
            id="one domain",
        ),
        pytest.param(
            "cluster_budgets.txt",
            a_report(*pods_of("web", ["n1", "n2", "n3"], "3"), fail_on=Damage.BELOW_BUDGET),
            id="budgets were not read",
        ),
        pytest.param(
            "cluster_hosts.txt",
            a_report(
                *pods_of("web", [f"n{number:02}" for number in range(25)], "3"),
                nodes=[a_node(f"n{number:02}", "a") for number in range(25)],
                key=HOSTNAME,
                namespace="shop",
            ),
            id="many domains",
        ),
        pytest.param("cluster_early.txt", an_ended_report(), id="ended early"),
    ],
)
def test_text(name: str, report: ClusterSurvivalReport, golden: Callable[[str, str], str]) -> None:
    """The whole text; read the golden file before agreeing to it."""
    text = cluster_text.render(report, width=120, color=False)

    assert golden(name, text) == text


@pytest.mark.parametrize(
    ("name", "report"),
    [
        pytest.param("cluster_mixed", a_mixed_report(), id="every damage"),
        pytest.param("cluster_early", an_ended_report(), id="ended early"),
    ],
)
def test_ci_formats(name: str, report: ClusterSurvivalReport, golden: Callable[[str, str], str]) -> None:
    """A page, and a case for each workload that loses pods; what is open did not pass."""
    page, cases = cluster_text.render_markdown(report), junit.render_cluster(report, report.fail_on)

    assert golden(f"{name}.md", page) == page
    assert golden(f"{name}.xml", cases) == cases
    assert bool(report.verdict) == ('failures="0"' in cases and "<skipped" not in cases)
    assert "<failure" not in junit.render_cluster(report, None)


def test_json(golden: Callable[[str, str], str]) -> None:
    """The whole answer; read the golden file before agreeing to it."""
    answer = orjson.loads(survive_json.render_cluster(a_mixed_report()))
    text = orjson.dumps(answer, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()

    assert golden("survive_all.json", text) == text


def test_what_was_not_tried() -> None:
    """An answer that is not complete says so, and has what is gone with each domain."""
    answer = orjson.loads(survive_json.render_cluster(an_ended_report()))

    assert (False, None) == (answer["complete"], answer["survives"])
    assert [True, False, False] == [loss["result"] is not None for loss in answer["losses"]]
    assert answer["losses"][0]["result"]["complete"] is False


def test_color() -> None:
    """The verdict alone is bold: green, red, or yellow where there is none."""
    failed = cluster_text.render(a_mixed_report(), width=120, color=True)
    open_one = cluster_text.render(an_ended_report(), width=120, color=True)

    assert failed.startswith("\x1b[1;31m")
    assert open_one.startswith("\x1b[1;33m")

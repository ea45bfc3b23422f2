"""``evenkeel upgrade``, as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.builders import a_constraint, a_node, a_workload
from tests.planning.verdicts import on
from webhook.cli.upgrade import command


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """A snapshot with a StatefulSet that fits nowhere once minDomains counts."""
    spec = {"topologySpreadConstraints": [a_constraint(minDomains=3)]}
    items = [
        a_node("n1", "a"),
        a_node("n2", "b"),
        *on("n1", 1),
        *on("n2", 1),
        a_workload("StatefulSet", spec=spec),
    ]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["--from", "1.26", "--to", "1.27"], 1, id="pods fit nowhere"),
        pytest.param(["--from", "1.27", "--to", "1.33"], 0, id="nothing changes"),
        pytest.param(
            ["--to", "1.38", "--kubernetes-version", "1.26"], 1, id="from the release of the cluster"
        ),
        pytest.param(["--from", "1.30", "--to", "1.30"], 2, id="the same release"),
        pytest.param(["--from", "1.2", "--to", "1.30"], 2, id="a release too old"),
        pytest.param([], 2, id="no release"),
    ],
)
def test_exit_codes(cluster: str, arguments: list[str], code: int) -> None:
    """1 where an upgrade breaks a workload, 2 for bad usage."""
    result = CliRunner().invoke(command, ["--cluster", cluster, *arguments])
    raised = result.exception is not None and not isinstance(result.exception, SystemExit)

    assert code == (2 if raised else result.exit_code)


def test_json(cluster: str) -> None:
    """The change that is responsible is named with its source."""
    arguments = ["--cluster", cluster, "--from", "1.26", "--to", "1.38", "-o", "json"]
    answer = json.loads(CliRunner().invoke(command, arguments).stdout)

    assert (True, 1) == (answer["breaks"], answer["total"])
    assert "1.27" == answer["workloads"][0]["responsible"][0]["since"]


def test_what_is_left_out(tmp_path: Path) -> None:
    """An object that cannot be read is a note of the answer."""
    items = [a_node("n1", "a") | {"status": {"allocatable": 3}}, a_node("n2"), a_workload("StatefulSet")]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    arguments = ["--cluster", str(path), "--from", "1.30", "--to", "1.33"]

    assert "Node n1 is left out" in CliRunner().invoke(command, arguments).stdout
    assert "Node n1 is left out" in CliRunner().invoke(command, [*arguments, "-o", "json"]).stdout

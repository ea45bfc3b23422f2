"""``evenkeel rebalance``, as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.builders import a_constraint, a_node, a_pod, a_workload
from tests.planning.verdicts import on
from webhook.cli import scale
from webhook.cli.rebalance import command

BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"minAvailable": "100%", "selector": {"matchLabels": {"app": "web"}}},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with clusters of two zones, with pods in the first one, and a workload."""
    nodes, pods = [a_node("n1", "a"), a_node("n2", "b")], on("n1", 3)
    workload = a_workload("StatefulSet", spec={"topologySpreadConstraints": [a_constraint()]})
    clusters: dict[str, list[dict[str, Any]]] = {
        "uneven": [*nodes, *pods],
        "even": [*nodes, *on("n1", 1)],
        "budget": [*nodes, *pods, BUDGET],
    }
    for name, items in clusters.items():
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, workload]})
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(workload))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("cluster", "arguments", "code", "evictions"),
    [
        pytest.param("uneven", ["sts/web", "-n", "shop"], 0, 1, id="a plan"),
        pytest.param("uneven", ["-f", "web.yaml"], 0, 1, id="a plan for a file"),
        pytest.param("even", ["-f", "web.yaml"], 0, 0, id="nothing to do"),
        pytest.param("budget", ["-f", "web.yaml"], 1, 0, id="a budget allows no eviction"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_plans(cluster: str, arguments: list[str], code: int, evictions: int) -> None:
    """1 where there is no plan; the commands are those of the evictions."""
    result = CliRunner().invoke(command, [*arguments, "--cluster", f"{cluster}.json", "-o", "json"])
    answer = json.loads(result.stdout)

    assert (code, evictions, evictions) == (
        result.exit_code,
        len(answer["evictions"]),
        len(answer["commands"]),
    )


@pytest.mark.parametrize(
    ("replicas", "code", "output"),
    [
        pytest.param("4", 0, "kubectl annotate pods n1-0 n2-0", id="a plan"),
        pytest.param("1", 0, "from 6 to 1 pods", id="to one"),
        pytest.param("6", 1, "this is not a scale-down", id="no scale-down"),
    ],
)
def test_deletion_costs(folder: Path, replicas: str, code: int, output: str) -> None:
    """1 where there is no plan; the pods of the cluster are ranked."""
    workload = a_workload("ReplicaSet", spec={"topologySpreadConstraints": [a_constraint()]})
    workload["spec"]["replicas"] = 4
    (folder / "rs.yaml").write_text(yaml.safe_dump(workload))
    items = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]
    items += [pod for node in ("n1", "n2", "n3") for pod in on(node, 2)]
    (folder / "rs.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    options = ["-f", "rs.yaml", "--cluster", "rs.json", "--deletion-costs", "--replicas", replicas]
    result = CliRunner().invoke(scale.command, options)

    assert code == result.exit_code, result.output
    assert output in result.stdout


def test_bad_input(folder: Path) -> None:
    """Every error of the object has its line."""
    broken = a_workload("StatefulSet", spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})
    (folder / "broken.yaml").write_text(yaml.safe_dump(broken))
    result = CliRunner().invoke(command, ["-f", "broken.yaml", "--cluster", "even.json"])

    assert 2 == result.exit_code
    assert result.stderr.startswith("broken.yaml:")


def test_autoscaler_undoes_it(folder: Path) -> None:
    """Soft spread keeps no node: what was evicted to the second zone comes back when its node goes."""
    spec = {"topologySpreadConstraints": [a_constraint(whenUnsatisfiable="ScheduleAnyway")]}
    pods = [
        a_pod(name=f"web-{number}", owner=("apps/v1", "StatefulSet", "web"), spec={"nodeName": "n1", **spec})
        for number in range(3)
    ]
    items = [a_node("n1", "a"), a_node("n2", "b"), *pods, a_workload("StatefulSet", spec=spec)]
    (folder / "soft.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    given = ["sts/web", "-n", "shop", "--cluster", "soft.json", "--soft"]
    result = CliRunner().invoke(command, [*given, "--autoscale", "deduced", "-o", "json"])
    text = CliRunner().invoke(command, [*given, "--autoscale", "deduced"]).output
    answer = json.loads(result.stdout)
    alone = json.loads(CliRunner().invoke(command, [*given, "-o", "json"]).stdout)

    assert ["n2"] == [eviction["replacement"]["node"] for eviction in answer["evictions"]]
    assert (1, 1) == (answer["scaledDown"]["undone"], len(answer["scaledDown"]["removed"]))
    assert "It undoes the balance of 1 constraint" in text
    assert alone == answer | {"scaledDown": None}

"""``evenkeel audit`` of one workload, as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from policies.manifests.errors import UsageError
from tests.builders import a_constraint, a_node, a_workload
from tests.planning.verdicts import on
from webhook.cli.audit import command

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
        "partly": [*nodes, a_node("n3", "c", unschedulable=True), *pods],
    }
    for name, items in clusters.items():
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, workload]})
        (tmp_path / f"{name}.json").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("cluster", "code", "evictions"),
    [
        pytest.param("uneven", 0, 1, id="a plan"),
        pytest.param("even", 0, 0, id="nothing to do"),
        pytest.param("budget", 1, 0, id="a budget allows no eviction"),
        pytest.param("partly", 1, 1, id="it stays above maxSkew: the evictions that bring it closer"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_plans(cluster: str, code: int, evictions: int) -> None:
    """1 where it stays above maxSkew; the commands are those of the evictions."""
    given = ["sts/web", "-n", "shop", "--evictions", "--cluster", f"{cluster}.json", "-o", "json"]
    result = CliRunner().invoke(command, given)
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
    items = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c"), workload]
    items += [pod for node in ("n1", "n2", "n3") for pod in on(node, 2)]
    (folder / "rs.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    options = ["rs/web", "-n", "shop", "--cluster", "rs.json", "--deletion-costs", replicas]
    result = CliRunner().invoke(command, options)

    assert code == result.exit_code, result.output
    assert output in result.stdout


def test_what_the_headline_says(folder: Path) -> None:
    """It is of the answer below it: what the evictions reach, what keeps the rest out, and what to try."""
    soft = a_workload(
        "StatefulSet",
        spec={"topologySpreadConstraints": [a_constraint(whenUnsatisfiable="ScheduleAnyway")]},
    )
    items = [a_node("n1", "a"), a_node("n2", "b"), *on("n1", 3), soft]
    (folder / "soft.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    given = ["sts/web", "-n", "shop", "--evictions", "--cluster"]
    partly = " ".join(CliRunner().invoke(command, [*given, "partly.json"]).stdout.split())

    assert "1 eviction brings it closer to maxSkew, but not within: " in partly
    assert "zone c takes none (1 cordoned)" in partly
    assert "kubectl create --raw" in partly
    assert "try --soft" in CliRunner().invoke(command, [*given, "soft.json"]).stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--evictions"],
        ["sts/web", "--soft"],
        ["sts/web", "--evictions", "--deletion-costs", "1"],
        ["sts/web", "--evictions", "--top", "1"],
        ["sts/web", "--evictions", "-o", "html"],
        ["sts/gone"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("folder")
def test_bad_usage(options: list[str]) -> None:
    """What goes with a workload, and what with all of them, is not mixed; one that is not there is named."""
    with pytest.raises(UsageError):
        CliRunner().invoke(
            command, [*options, "-n", "shop", "--cluster", "even.json"], catch_exceptions=False
        )


@pytest.mark.usefixtures("folder")
def test_one_workload() -> None:
    """Named, it is the only one in the report."""
    given = ["sts/web", "-n", "shop", "--cluster", "uneven.json", "-o", "json"]
    result = CliRunner().invoke(command, given)

    assert 1 == result.exit_code
    assert ["web"] == [each["name"] for each in json.loads(result.stdout)["workloads"]]


def test_bad_input(folder: Path) -> None:
    """Every error of the object is told."""
    broken = a_workload("StatefulSet", spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})
    items = [a_node("n1", "a"), broken]
    (folder / "broken.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    given = ["sts/web", "-n", "shop", "--evictions", "--cluster", "broken.json"]
    result = CliRunner().invoke(command, given)

    assert 2 == result.exit_code
    assert "maxSkew" in result.stderr

"""``evenkeel simulate --autoscale``, as a person and as a program uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import a_constraint, a_workload
from tests.policies.reports.verdicts import a_node
from tests.webhook.cli.in_process import evenkeel

ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two nodes in two zones, a group for each, and a workload of six replicas of two CPUs."""
    (tmp_path / "cluster.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [a_node("n1", "a"), a_node("n2", "b")]})
    )
    constraint = a_constraint(topologyKey=ZONE)
    spec = {"topologySpreadConstraints": [constraint]}
    web = a_workload("Deployment", spec=spec)
    web["spec"]["replicas"] = 6
    container = web["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "3", "memory": "1Gi"}}
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(web))
    groups = [
        {"name": zone, "zone": zone, "maxSize": 2, "size": 0, "allocatable": {"cpu": "4", "memory": "8Gi"}}
        for zone in "ab"
    ]
    document = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroups", "groups": groups}
    (tmp_path / "groups.yaml").write_text(yaml.safe_dump(document))
    return tmp_path


def _run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    given = ("simulate", "-f", "web.yaml", "--cluster", "cluster.json", *arguments)
    result = evenkeel(*given, folder=folder)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def _answer(folder: Path, source: str, *arguments: str) -> dict[str, Any]:
    _, out, _ = _run(folder, "--autoscale", source, "-o", "json", *arguments)
    answer: dict[str, Any] = json.loads(out)
    return answer


def test_pending_replicas_get_nodes(folder: Path) -> None:
    """Every step of the loops is in the answer, and the spread at the end is the scheduler's."""
    code, text, _ = _run(folder, "--autoscale", str(folder / "groups.yaml"))
    answer = _answer(folder, str(folder / "groups.yaml"))
    scaled = answer["autoscaled"]

    assert code == 0
    assert "Nodes that Cluster Autoscaler adds" in text
    assert answer["pending"] == 0
    assert {"a": 2, "b": 2} == {group["name"]: group["added"] for group in scaled["groups"]}
    assert len(scaled["nodes"]) == sum(sum(loop["nodes"].values()) for loop in scaled["loops"])
    assert {step["node"] for step in answer["steps"]} >= {node["name"] for node in scaled["nodes"]}
    assert [0] == [change["skew"] for change in answer["domains"]]


def test_what_gets_no_node_is_told(folder: Path) -> None:
    """A group that is as large as it may be is named, with its words."""
    document = yaml.safe_load((folder / "groups.yaml").read_text())
    for group in document["groups"]:
        group["maxSize"] = 1
    (folder / "small.yaml").write_text(yaml.safe_dump(document))
    answer = _answer(folder, str(folder / "small.yaml"))
    (unhelped,) = answer["autoscaled"]["unhelped"]

    assert answer["pending"] == 2
    assert {"a", "b"} == set(unhelped["why"])
    assert {"max node group size reached"} == set(unhelped["why"].values())


def test_deduced_groups_are_marked(folder: Path) -> None:
    """Nodes that are alike make groups, in JSON and in the text."""
    answer = _answer(folder, "deduced")
    _, text, _ = _run(folder, "--autoscale", "deduced")

    assert {"deduced"} == {group["origin"] for group in answer["autoscaled"]["groups"]}
    assert answer["pending"] == 0
    assert "The node groups are deduced" in text


def test_without_the_option_nothing_is_added(folder: Path) -> None:
    """The replicas stay pending, and nothing is said of node groups."""
    _, out, _ = _run(folder, "-o", "json")
    answer = json.loads(out)

    assert answer["pending"] == 4
    assert answer["autoscaled"] is None


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--autoscale", "missing.yaml"), id="no such file"),
        pytest.param(("--autoscale", "web.yaml"), id="no node groups"),
        pytest.param(("--autoscale", "deduced", "--rollout"), id="of a rollout"),
        pytest.param(("--autoscale", "deduced", "--scale", "3"), id="of a scale"),
    ],
)
def test_bad_input(folder: Path, arguments: tuple[str, ...]) -> None:
    """It is exit code 2 and one line."""
    code, _, errors = _run(folder, *arguments)

    assert code == 2
    assert len(errors.splitlines()) == 1

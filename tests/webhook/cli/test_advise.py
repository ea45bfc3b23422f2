"""``evenkeel advise``, as a person uses it."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from planning.advise.goal_simulator import GoalSimulator
from tests.builders import a_constraint, a_policy, a_workload
from tests.planning.goals import TEMPTING, THREE
from tests.webhook.cli.live import Commands, Done

GOAL = ["--lose-at-most", "1/3"]
SCALER = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "web"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 2,
        "maxReplicas": 8,
    },
}


def _a_deployment(replicas: int = 3, **fields: Any) -> dict[str, Any]:
    spread = {"topologySpreadConstraints": [a_constraint(**fields)]} if fields else {}
    obj = a_workload(spec=spread)
    obj["spec"]["replicas"] = replicas
    return obj


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with clusters and workloads."""
    clusters = {
        "cluster": [*TEMPTING, _a_deployment(8)],
        "two": [*THREE[:2], SCALER | {"metadata": {"name": "web", "namespace": "shop"}}],
    }
    for name, items in clusters.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"kind": "List", "items": items}))
    scaled = _a_deployment()
    del scaled["metadata"]["namespace"]
    manifests: dict[str, list[dict[str, Any]]] = {
        "web": [_a_deployment(8)],
        "hard": [_a_deployment(8, minDomains=5)],
        "scaled": [scaled, SCALER],
        "many": [_a_deployment(5_000)],
        "broken": [_a_deployment(maxSkew=0)],
        "daemon": [a_workload("DaemonSet")],
        "policy": [a_policy(topology={"domains": {"topology.kubernetes.io/zone": ["a", "b", "c"]}})],
    }
    for name, objects in manifests.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all(objects))
    return tmp_path


@pytest.fixture
def commands(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Commands:
    """Runs commands in the folder."""
    return Commands(folder, monkeypatch, capsysbinary)


def _advise(commands: Commands, *arguments: str, cluster: str = "cluster.json") -> Done:
    return commands.run("advise", *arguments, "--cluster", cluster)


def _answer(done: Done) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize(
    ("arguments", "code", "output"),
    [
        pytest.param(["-f", "web.yaml", *GOAL], 0, "ScheduleAnyway maxSkew 1", id="0: what to write"),
        pytest.param(["deploy/web", "-n", "shop", *GOAL], 0, "1 constraint", id="0: one of the cluster"),
        pytest.param(["-f", "web.yaml", *GOAL, "--replicas", "3"], 0, "as it is", id="0: as it is"),
        pytest.param(["-f", "hard.yaml", *GOAL], 1, "--allow-soft", id="1: a bad one is kept"),
        pytest.param(
            ["-f", "hard.yaml", *GOAL, "--allow-soft"], 0, "Given up: ", id="0: instead of a bad one"
        ),
        pytest.param(["-f", "web.yaml", "--lose-at-most", "1"], 1, "cannot reach", id="1: impossible"),
        pytest.param(["-f", "web.yaml"], 2, "--lose-at-most", id="2: no goal"),
        pytest.param(["-f", "web.yaml", "--one-a-node", "--enforce"], 2, "--enforce", id="2: no limit"),
        pytest.param(["-f", "web.yaml", "--lose-at-most", "4/3"], 2, "--lose-at-most:", id="2: no share"),
        pytest.param(["-f", "web.yaml", *GOAL, "--replicas", "9..3"], 2, "--replicas:", id="2: no range"),
        pytest.param(["-f", "web.yaml", *GOAL, "--nodes", "a"], 2, "--nodes:", id="2: no nodes"),
        pytest.param(["-f", "web.yaml", *GOAL, "--nodes", "a=9999"], 2, "5,000", id="2: too many nodes"),
        pytest.param(
            ["-f", "web.yaml", *GOAL, "--nodes", "a=1", "--autoscale", "deduced"], 2, "exclude", id="2: both"
        ),
        pytest.param(["-f", "web.yaml", *GOAL, "--key", "rack"], 2, "--key:", id="2: no such key"),
        pytest.param(["-f", "many.yaml", *GOAL], 2, "--replicas N..M", id="2: too many replicas"),
        pytest.param(["-f", "broken.yaml", *GOAL], 2, "broken.yaml:", id="2: invalid"),
        pytest.param(["-f", "daemon.yaml", *GOAL], 2, "daemon.yaml:", id="2: nothing to spread"),
        pytest.param(["-f", "gone.yaml", *GOAL], 2, "gone.yaml", id="2: no such file"),
        pytest.param(GOAL, 2, "-f FILE", id="2: no workload"),
    ],
)
def test_exit_codes(commands: Commands, arguments: list[str], code: int, output: str) -> None:
    """0 it is reached, 1 it cannot be, 2 bad input."""
    done = _advise(commands, *arguments)

    assert code == done.code, done.stderr
    assert (
        output.replace("1 constraint", "one constraint")
        in (done.stderr if code == 2 else done.stdout).decode()
    )
    assert bool(done.stdout) is (code != 2)


@pytest.mark.parametrize(
    ("arguments", "cluster", "expected"),
    [
        pytest.param(["scaled.yaml"], "cluster.json", [2, 8], id="of the file"),
        pytest.param(["hard.yaml"], "two.json", [2, 8], id="of the cluster"),
        pytest.param(["web.yaml"], "cluster.json", [8, 8], id="the workload's own"),
        pytest.param(["scaled.yaml", "--replicas", "4..5"], "cluster.json", [4, 5], id="given"),
    ],
)
def test_replicas(commands: Commands, arguments: list[str], cluster: str, expected: list[int]) -> None:
    """Those of its autoscaler, else its own."""
    namespace = ["-n", "shop"] if arguments[0] == "scaled.yaml" else []
    done = _advise(commands, "-f", *arguments, *namespace, *GOAL, "-o", "json", cluster=cluster)
    replicas = _answer(done)["goal"]["replicas"]

    assert expected == [replicas["least"], replicas["most"]]


def test_nodes_without_a_cluster(commands: Commands) -> None:
    """Described nodes are the cluster; for nodes as domains they are described by zone."""
    nodes = ["--nodes", "a=2,b=2", "--replicas", "2..4", "-o", "json"]
    zones = commands.run("advise", "-f", "web.yaml", *GOAL, *nodes)
    hosts = commands.run("advise", "-f", "web.yaml", *GOAL, "--key", "hostname", *nodes)

    assert (1, ["a", "b"]) == (zones.code, _answer(zones)["domains"])
    assert (0, 4) == (hosts.code, len(_answer(hosts)["domains"]))


def test_no_cluster(commands: Commands) -> None:
    """It may be a file, live, or described."""
    done = commands.run("advise", "-f", "web.yaml", *GOAL)

    assert (2, True) == (done.code, b"--nodes" in done.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--nodes", "c=2"], id="given"),
        pytest.param(["--policy", "policy.yaml"], id="listed by a policy"),
        pytest.param(["--autoscale", "groups.yaml"], id="of a node group"),
    ],
)
def test_nodes_that_an_autoscaler_adds(commands: Commands, folder: Path, arguments: list[str]) -> None:
    """A zone without nodes gets one if a pod is pending, which takes minDomains."""
    (folder / "groups.yaml").write_text(
        "{apiVersion: evenkeel.dev/v1alpha1, kind: NodeGroups, groups: [{name: web-c, zone: c, maxSize: 2, "
        "allocatable: {cpu: '4', memory: 8Gi}}]}"
    )
    done = _advise(
        commands, "-f", "web.yaml", *GOAL, "--replicas", "3..6", *arguments, "-o", "yaml", cluster="two.json"
    )
    answer = yaml.safe_load(done.stdout)

    assert 0 == done.code
    assert [3] == [each["constraint"]["minDomains"] for each in answer["constraints"]]
    assert 1 <= answer["proof"]["addedNodes"]


def test_diff(commands: Commands, folder: Path) -> None:
    """The change can be applied, after which the goal is reached as it is; then there is none to print."""
    if shutil.which("patch") is None:
        pytest.skip("there is no patch")
    done = _advise(commands, "-f", "hard.yaml", *GOAL, "--enforce", "--allow-soft", "--diff")
    subprocess.run(["patch", "-p1"], cwd=folder, input=done.stdout, check=True, capture_output=True)
    again = _advise(commands, "-f", "hard.yaml", *GOAL, "--enforce", "-o", "json")
    nothing = _advise(commands, "-f", "hard.yaml", *GOAL, "--enforce", "--diff")

    assert (0, 0, []) == (done.code, again.code, _answer(again)["constraints"])
    assert (0, b"") == (nothing.code, nothing.stdout)
    assert b"nothing to change" in nothing.stderr


@pytest.mark.slow
def test_the_advice_applied(commands: Commands, folder: Path) -> None:
    """What-if says of the changed file what the advice says."""
    if shutil.which("patch") is None:
        pytest.skip("there is no patch")
    goal = ("-f", "web.yaml", *GOAL, "--enforce")
    advised = _answer(_advise(commands, *goal, "-o", "json"))["outcome"]
    diff = _advise(commands, *goal, "--diff").stdout
    subprocess.run(["patch", "-p1"], cwd=folder, input=diff, check=True, capture_output=True)
    asked = ("-f", "web.yaml", "--lose-each", "zone", "--cluster", "cluster.json", "-o", "json")
    played = _answer(commands.run("what-if", *asked))

    assert 3 == len(advised["outcomes"])
    # The command looks for what would help besides.
    assert advised == played | {"suggestions": None}


def test_patch_of_an_object(commands: Commands) -> None:
    """For an object of the cluster the change is a command."""
    done = _advise(commands, "deploy/web", "-n", "shop", *GOAL, "--diff")

    assert done.stdout.startswith(b"kubectl patch ")


@pytest.mark.parametrize(("presses_at", "shown"), [(0, False), (1, True)])
def test_interrupted(
    commands: Commands, monkeypatch: pytest.MonkeyPatch, presses_at: int, *, shown: bool
) -> None:
    """Ctrl-C ends the search; what was found until then is reported."""
    run, calls = GoalSimulator.run, iter(range(100))

    def press(self: GoalSimulator, *arguments: Any) -> Any:
        trial = run(self, *arguments)
        if next(calls) == presses_at:
            signal.raise_signal(signal.SIGINT)
        return trial

    monkeypatch.setattr(GoalSimulator, "run", press)
    done = _advise(commands, "-f", "web.yaml", *GOAL, "--enforce")

    assert 130 == done.code
    assert shown is (b"Ended early" in done.stdout)

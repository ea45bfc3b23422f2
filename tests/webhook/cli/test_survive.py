"""``evenkeel survive``, as a person and a CI job use it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from planning.simulation.survive.deployed_workloads import DeployedWorkload, Deployment
from planning.simulation.survive.loss import Loss
from planning.simulation.survive.survive import SingleLosses
from policies.model.workload import Workload
from policies.scheduler.index import ClusterIndex
from tests.builders import a_node, a_pod, a_workload
from tests.planning.simulation.survive.cluster_losses import pods_of
from tests.planning.what_if.survivals import NODES, a_deployment
from tests.webhook.cli.live import Commands, Done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a cluster of three zones, and workloads that survive the loss of one, or do not."""
    stuck = a_deployment(minDomains=3)
    stuck["metadata"]["name"] = "stuck"
    api = yaml.safe_load(yaml.safe_dump(stuck).replace("app: web", "app: api").replace("stuck", "api"))
    running = [*NODES, a_deployment(), a_pod(name="web-1", spec={"nodeName": "n1"}), a_node("n4", "a")]
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": running}))
    manifests = {
        "web": [a_deployment()],
        "stuck": [stuck],
        "both": [a_deployment(), api],
        "twice": [a_deployment(), a_deployment()],
        "broken": [a_deployment(maxSkew=0), stuck | {"spec": a_deployment(maxSkew="x")["spec"]}],
        "daemon": [a_workload("DaemonSet")],
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


def _survive(commands: Commands, *arguments: str) -> Done:
    return commands.run("survive", *arguments, "--cluster", "cluster.json")


@pytest.mark.parametrize(
    ("arguments", "code", "stdout", "stderr"),
    [
        pytest.param(["zone", "-f", "web.yaml"], 0, "survives the loss", "", id="0: it survives"),
        pytest.param(["zone", "deploy/web", "-n", "shop"], 0, "survives", "", id="0: one of the cluster"),
        pytest.param(["hostname", "-f", "web.yaml"], 0, "4 domains", "", id="0: each host"),
        pytest.param(["zone", "-f", "stuck.yaml"], 1, "minDomains: 2", "", id="1: it does not"),
        pytest.param(
            ["zone", "-f", "stuck.yaml", "-f", "web.yaml"], 1, "shop/stuck", "", id="1: first of two files"
        ),
        pytest.param(
            ["zone", "-f", "web.yaml", "-f", "stuck.yaml"], 1, "shop/web", "", id="1: second of two files"
        ),
        pytest.param(
            ["zone", "-f", "no.yaml", "-f", "none.yaml"],
            2,
            "",
            "none.yaml: No such",
            id="2: all missing files",
        ),
        pytest.param(["zone", "-f", "stuck.yaml", "--allow-missing", "1"], 0, "survives", "", id="0: 1 less"),
        pytest.param(["zone", "-f", "web.yaml", "--unreachable"], 1, "does not", "", id="1: an outage"),
        pytest.param(["zone", "-f", "both.yaml"], 1, "shop/api", "", id="1: one of two does not"),
        pytest.param(["zone", "-f", "both.yaml", "deploy/web"], 0, "shop/web", "", id="0: one by name"),
        pytest.param(["rack", "-f", "web.yaml"], 2, "", "KEY", id="2: no such key"),
        pytest.param(["zone", "-f", "daemon.yaml"], 2, "", "daemon.yaml:", id="2: nothing to judge"),
        pytest.param(["zone", "-f", "twice.yaml"], 2, "", "twice.yaml:", id="2: one twice"),
        pytest.param(["zone", "-f", "gone.yaml"], 2, "", "gone.yaml", id="2: no such file"),
        pytest.param(["zone"], 2, "", "-f FILE", id="2: nothing"),
        pytest.param([], 2, "", "KEY", id="2: no key"),
    ],
)
def test_exit_codes(commands: Commands, arguments: list[str], code: int, stdout: str, stderr: str) -> None:
    """0 all survive, 1 some do not, 2 bad input."""
    done = _survive(commands, *arguments)

    assert code == done.code, done.stderr
    assert stdout in done.stdout.decode()
    assert stderr in done.stderr.decode()
    assert bool(done.stdout) is not bool(done.stderr)


def test_every_problem_with_its_line(commands: Commands) -> None:
    """Errors of several workloads are reported at once."""
    done = _survive(commands, "zone", "-f", "broken.yaml")

    assert 2 == len([line for line in done.stderr.splitlines() if line.startswith(b"broken.yaml:")])


def test_formats(commands: Commands) -> None:
    """JSON and YAML have the same."""
    answers = [_survive(commands, "zone", "-f", "both.yaml", "-o", form).stdout for form in ("json", "yaml")]

    assert json.loads(answers[0]) == yaml.safe_load(answers[1])


@pytest.mark.parametrize(
    ("form", "beginning"),
    [
        ("markdown", "### ✅ Deployment.apps shop/web survives"),
        ("junit", '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="evenkeel survive"'),
    ],
)
def test_formats_for_ci(commands: Commands, form: str, beginning: str) -> None:
    """A page, and a report of tests."""
    done = _survive(commands, "zone", "-f", "web.yaml", "-o", form)

    assert done.stdout.decode().startswith(beginning)


def test_ctrl_c(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results so far are reported."""
    lose = SingleLosses._lose

    def interrupted(survival: SingleLosses, domain: str) -> Loss:
        if domain == "b":
            signal.raise_signal(signal.SIGINT)
        return lose(survival, domain)

    monkeypatch.setattr(SingleLosses, "_lose", interrupted)
    done = _survive(commands, "zone", "-f", "web.yaml", "-o", "json")
    answer = json.loads(done.stdout)

    assert (130, False, None, None) == (
        done.code, answer["complete"], answer["survives"], answer["workloads"][0]["survives"],
    )  # fmt: skip
    assert ["a"] == [loss["domain"] for loss in answer["losses"]]


def test_ctrl_c_before_a_loss(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing was lost there is no verdict, and no color of one."""
    deploy = Deployment._deploy

    def interrupted(deployment: Deployment, number: int, workload: Workload) -> DeployedWorkload:
        signal.raise_signal(signal.SIGINT)
        return deploy(deployment, number, workload)

    monkeypatch.setattr(Deployment, "_deploy", interrupted)
    done = _survive(commands, "zone", "-f", "web.yaml")

    assert 130 == done.code
    assert b"has no verdict: ended early, 0 of 3" in done.stdout
    assert b"survives" not in done.stdout


def test_ctrl_c_while_changes_are_tried(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict is there; that not every change was tried is said."""
    after = SingleLosses.after

    def interrupted(survival: SingleLosses, domain: str) -> ClusterIndex:
        found = after(survival, domain)
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(SingleLosses, "after", interrupted)
    done = _survive(commands, "zone", "-f", "stuck.yaml", "-o", "json")
    answer = json.loads(done.stdout)
    (workload,) = answer["workloads"]

    assert (130, False, False, False) == (
        done.code, answer["survives"], answer["complete"], workload["changesComplete"],
    )  # fmt: skip
    assert 3 == len(answer["losses"])
    assert [] == workload["changes"]


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A folder with a cluster whose losses take long, and a workload."""
    requests = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1m"}}}]}
    nodes = [a_node(f"n{number:04}", "abc"[number % 3]) for number in range(1_500)]
    pods = [
        a_pod(
            name=f"p{number}", owner=("apps/v1", "ReplicaSet", "p"), labels={"app": "p"},
            spec={"nodeName": f"n{number % 1_500:04}", **requests},
        )
        for number in range(9_000)
    ]  # fmt: skip
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": [*nodes, *pods]}))
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(a_deployment()))
    return tmp_path


def test_a_person_waits_and_gives_up(large: Path) -> None:
    """On a terminal each step says what it is; Ctrl-C ends it soon, without a verdict."""
    terminal, ours = pty.openpty()
    code = "from webhook.cli.start import run; run()"
    command = [sys.executable, "-c", code, "survive", "zone", "-f", "web.yaml", "--cluster", "cluster.json"]
    process = subprocess.Popen([*command, "-o", "json"], cwd=large, stdout=subprocess.PIPE, stderr=ours)
    os.close(ours)
    shown = b""
    while b"Losing domains" not in shown:
        shown += os.read(terminal, 4096)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=300)
    os.close(terminal)
    answer = json.loads(stdout)

    assert b"Reading cluster.json" in shown
    assert (130, False, None) == (process.returncode, answer["complete"], answer["survives"])
    assert 3 > len(answer["losses"])


@pytest.fixture
def whole(commands: Commands, folder: Path) -> Commands:
    """Runs commands in a folder with a cluster of two workloads, of which one has no room elsewhere."""
    nodes = [*NODES, a_node("n4", "a"), a_node("n5", "b", cpu="1") | {"status": {}}]
    pods = pods_of("web", ["n1", "n2", "n3"], "3") + pods_of("api", ["n1", "n3"], "100m")
    (folder / "cluster.json").write_text(json.dumps({"kind": "List", "items": [*nodes, *pods]}))
    return commands


@pytest.mark.parametrize(
    ("arguments", "code", "stdout", "stderr"),
    [
        pytest.param(["zone", "--all"], 1, "1 of 3 domains", "", id="1: some do not"),
        pytest.param(["zone=a", "--all"], 1, "not survive the loss of a", "", id="1: one domain"),
        pytest.param(["zone=b", "--all"], 0, "survives the loss of b", "", id="0: there is room in a"),
        pytest.param(["zone", "--all", "--fail-on", "down"], 0, "survives", "", id="0: none is down"),
        pytest.param(["zone", "--all", "--fail-on", "never"], 0, "does not", "", id="0: never"),
        pytest.param(["zone", "--all", "-n", "no"], 2, "", "there are some in", id="2: no workload"),
        pytest.param(["zone", "--all", "--allow-missing", "1"], 0, "survives", "", id="0: one may miss"),
        pytest.param(["zone=x", "--all"], 2, "", "the domains are a, b, c", id="2: no such domain"),
        pytest.param(["rack=x", "--all"], 2, "", "nodes have", id="2: no such key"),
        pytest.param(["zone=a"], 2, "", "--all", id="2: one domain of given workloads"),
        pytest.param(["zone", "--fail-on", "down"], 2, "", "--all", id="2: --fail-on alone"),
        pytest.param(["zone", "--all", "-f", "web.yaml"], 2, "", "combined", id="2: with a file"),
        pytest.param(["zone", "--all", "deploy/web"], 2, "", "combined", id="2: with an object"),
        pytest.param(["zone", "--all", "--displaced", "own"], 2, "", "combined", id="2: own pods"),
    ],
)
def test_all_workloads(whole: Commands, arguments: list[str], code: int, stdout: str, stderr: str) -> None:
    """0 no loss does too much damage, 1 one does, 2 bad input."""
    done = _survive(whole, *arguments)

    assert code == done.code, done.stdout.decode() + done.stderr.decode()
    assert stdout in done.stdout.decode()
    assert stderr in done.stderr.decode()
    assert bool(done.stdout) is not bool(done.stderr)


def test_all_workloads_of_no_cluster(commands: Commands) -> None:
    """A cluster must be given."""
    done = commands.run("survive", "zone", "--all")

    assert (2, b"--live or --cluster FILE is required" in done.stderr) == (2, True)
    assert 2 == done.code


def test_formats_of_all_workloads(whole: Commands) -> None:
    """JSON and YAML have the same."""
    answers = [_survive(whole, "zone", "--all", "-o", form).stdout for form in ("json", "yaml")]

    assert json.loads(answers[0]) == yaml.safe_load(answers[1])


def test_formats_of_all_workloads_for_ci(whole: Commands) -> None:
    """A loss that fails the run fails a case."""
    every = ["zone", "--all", "-o", "junit", "--fail-on"]
    page = _survive(whole, "zone", "--all", "-o", "markdown").stdout

    assert page.decode().startswith("### ❌ The cluster does not survive")
    assert b"<failure" in _survive(whole, *every, "pending").stdout
    assert b"<failure" not in _survive(whole, *every, "never").stdout


def test_a_person_gives_up_on_a_whole_cluster(large: Path) -> None:
    """Lost pods are shown at once; Ctrl-C ends the run with these, and without a verdict."""
    terminal, ours = pty.openpty()
    code = "from webhook.cli.start import run; run()"
    command = [sys.executable, "-c", code, "survive", "zone", "--all", "--cluster", "cluster.json"]
    process = subprocess.Popen([*command, "-o", "json"], cwd=large, stdout=subprocess.PIPE, stderr=ours)
    os.close(ours)
    shown = b""
    while b"Losing domains" not in shown:
        shown += os.read(terminal, 4096)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=300)
    os.close(terminal)
    answer = json.loads(stdout)

    assert b"Losing a: 500 nodes with 3,000 pods of 1 workload" in shown
    assert (130, None, False) == (process.returncode, answer["survives"], answer["complete"])
    assert [3_000, 3_000, 3_000] == [loss["pods"] for loss in answer["losses"]]

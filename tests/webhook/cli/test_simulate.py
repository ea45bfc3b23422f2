"""``evenkeel simulate``, as a person and as a program uses it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import NOTHING_PLANNED, PLAIN
from policies.config.context import AdmissionContext
from policies.manifests.wire import members
from policies.model.deletion_facts import DELETION_COST_ANNOTATION
from policies.model.topology_keys import HOSTNAME
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import a_constraint, a_node, a_pod, a_workload
from tests.planning.rollouts import running
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index
from tests.recorded import recorded_rollouts
from tests.webhook.cli.in_process import evenkeel
from webhook.cli import simulate, simulation
from webhook.requests.simulate import SimulationFields

COMMAND = [sys.executable, "-c", "from webhook.cli.start import run; run()", "simulate"]
POD = a_pod(name="p")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a cluster of two zones, a third one that is cordoned, and a workload of two replicas."""
    nodes = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c", unschedulable=True)]
    web = a_workload("StatefulSet", spec={"topologySpreadConstraints": [a_constraint()]})
    web["spec"]["replicas"] = 2
    broken = a_workload("StatefulSet", spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})
    cluster = {
        "kind": "List",
        "items": [*nodes, *on("n1", 1), web | {"metadata": {"name": "web", "namespace": "shop"}}],
    }
    (tmp_path / "cluster.json").write_text(json.dumps(cluster))
    (tmp_path / "empty.json").write_text(json.dumps({"kind": "List", "items": nodes}))
    roll = a_workload(spec={"topologySpreadConstraints": [a_constraint()]})
    roll["spec"]["replicas"] = 2
    for name, obj in (("web", web), ("broken", broken), ("pod", POD), ("roll", roll)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(obj))
    return tmp_path


def _simulate(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return evenkeel("simulate", *arguments, folder=folder, stdin=stdin)


@pytest.mark.parametrize(
    ("arguments", "code", "stdout", "stderr"),
    [
        pytest.param(
            ["-f", "web.yaml", "--cluster", "empty.json"], 0, "2 of 2 replicas", "no pod", id="0: all"
        ),
        pytest.param(
            ["sts/web", "-n", "shop", "--cluster", "cluster.json"], 0, "1 of 1", "", id="0: one is missing"
        ),
        pytest.param(["-f", "web.yaml", "--pods", "4"], 1, "3 pending", "", id="1: some stay pending"),
        pytest.param(["-f", "web.yaml", "--pods", "0"], 0, "nothing to", "", id="0: nothing to do"),
        pytest.param(["-f", "pod.yaml", "--seed", "1"], 0, "1 of 1 pod", "", id="0: one pod"),
        pytest.param(["-f", "broken.yaml"], 2, "", "broken.yaml:", id="2: a bad workload"),
        pytest.param(["-f", "web.yaml", "--pods", "-1"], 2, "", "--pods", id="2: a bad number"),
        pytest.param([], 2, "", "-f FILE", id="2: nothing"),
    ],
)
def test_exit_codes(folder: Path, arguments: list[str], code: int, stdout: str, stderr: str) -> None:
    """The exit code says whether every replica got a node; what is wrong goes to stderr."""
    _ends(folder, ["simulate", *arguments], code, stdout, stderr)


@pytest.mark.parametrize(
    ("words", "code", "stdout", "stderr"),
    [
        pytest.param("what-if -f web.yaml --lose zone=b", 1, "gone", "", id="1: a zone is lost"),
        pytest.param("what-if -f web.yaml --drain n1 --displaced own", 1, "DISPLACED", "", id="1: drain"),
        pytest.param("what-if -f web.yaml --add 2 like n2", 0, "n2-new-2", "", id="0: more nodes"),
        pytest.param("what-if -f web.yaml --drain n9", 2, "", "--drain", id="2: no such node"),
        pytest.param("what-if -f web.yaml --lose zone", 2, "", "--lose", id="2: no domain"),
        pytest.param("what-if -f web.yaml", 2, "", "--lose", id="2: nothing happens"),
        pytest.param("rollout -f roll.yaml --cluster empty.json", 1, "deadlocks", "no pod", id="1: deadlock"),
        pytest.param("rollout -f pod.yaml", 2, "", "pod.yaml:2: kind", id="2: a Pod"),
        pytest.param(
            "scale -f web.yaml --replicas 1 --cluster empty.json", 0, "from 2 to 1", "no pod", id="0: scale"
        ),
        pytest.param("scale -f web.yaml --replicas 9", 1, "pending", "", id="1: a scale too far"),
        pytest.param("scale -f web.yaml --replicas 2001", 2, "", "--replicas", id="2: too many"),
    ],
)
def test_exit_codes_of_what_happens(folder: Path, words: str, code: int, stdout: str, stderr: str) -> None:
    """The commands for what happens to nodes or replicas end as the simulation does."""
    _ends(folder, words.split(), code, stdout, stderr)


def _ends(folder: Path, words: list[str], code: int, stdout: str, stderr: str) -> None:
    cluster = [] if "--cluster" in words else ["--cluster", "cluster.json"]
    done = evenkeel(*words, *cluster, folder=folder)

    assert code == done.returncode, done.stderr
    assert stdout in done.stdout.decode()
    assert stderr in done.stderr.decode()
    assert bool(stderr) == bool(done.stderr)


def test_a_process_of_its_own(folder: Path) -> None:
    """It prints what the other tests see."""
    arguments = ["-f", "web.yaml", "--cluster", "empty.json"]
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, check=True, cwd=folder)
    here = _simulate(folder, *arguments)

    assert (here.stdout, here.stderr) == (done.stdout, done.stderr)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_answers_for_programs(folder: Path, form: str) -> None:
    """JSON and YAML hold the same."""
    done = _simulate(folder, "-f", "web.yaml", "--cluster", "empty.json", "-o", form)

    assert ["n1", "n2"] == [step["node"] for step in yaml.safe_load(done.stdout)["steps"]]


@pytest.mark.parametrize(
    ("lines", "code", "expected"),
    [
        pytest.param([{"queue": [POD]}], 0, [["n2"]], id="0: all"),
        pytest.param(
            [{"queue": [POD, a_pod(name="q", spec={"nodeName": "x"})]}], 1, [["n2", None]], id="1: one"
        ),
        pytest.param(
            [{"queue": [3]}, {"queue": [POD]}, {}, {"workload": {}}],
            2,
            [None, ["n2"], None, None],
            id="2: bad",
        ),
        pytest.param([{"queue": [POD], "actions": [{"cordon": "n2"}]}], 0, [["n1"]], id="0: an action"),
        pytest.param([], 0, [], id="0: nothing asked"),
    ],
)
def test_lines(folder: Path, lines: list[object], code: int, expected: list[list[str | None] | None]) -> None:
    """Each line gets an answer or an error, in order."""
    stdin = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    done = _simulate(folder, "--jsonl", "--cluster", "cluster.json", stdin=stdin)
    answers = [json.loads(line) for line in done.stdout.splitlines()]

    assert code == done.returncode
    assert expected == [
        [step.get("node") for step in answer["steps"]] if "steps" in answer else None for answer in answers
    ]
    assert all({"error", "details"} == answer.keys() for answer in answers if "steps" not in answer)


@pytest.mark.parametrize("by_line", [False, True], ids=["a file", "a line"])
def test_a_pending_pod(folder: Path, *, by_line: bool) -> None:
    """A pod of the snapshot without a node is there, however it is asked."""
    record = recorded_rollouts()["stspending-2"]
    (folder / "set.json").write_text(json.dumps(record["cluster"]))
    (folder / "new.yaml").write_text(yaml.safe_dump(record["workload"]))
    line = json.dumps({"workload": record["workload"], "rollout": True}).encode()
    words = ["simulate", "--jsonl"] if by_line else ["rollout", "-f", "new.yaml", "-o", "json"]
    done = evenkeel(*words, "--cluster", "set.json", folder=folder, stdin=line if by_line else b"")
    rollout = json.loads(done.stdout)["rollout"]

    assert (1, "deadlock", 1) == (done.returncode, rollout["outcome"], rollout["pendingBefore"])
    assert [["web-2"]] == [each["deletePods"] for each in rollout["suggestions"]]


def test_deletion_costs(folder: Path) -> None:
    """The facts of a snapshot's pods decide which is deleted first, also if the object is given by name."""
    cluster = json.loads((folder / "empty.json").read_text())
    pods = running("r1", n1=1, n2=1)
    pods[0]["metadata"]["annotations"] = {DELETION_COST_ANNOTATION: "1"}
    cluster["items"] += [*pods, a_workload()]
    (folder / "costs.json").write_text(json.dumps(cluster))
    words = ["deploy/web", "-n", "shop", "--cluster", "costs.json", "--replicas", "1", "-o", "json"]
    done = evenkeel("scale", *words, folder=folder)
    likely = json.loads(done.stdout)["rollout"]["likely"]

    assert ["web-r1-n2-0"] == [step["pod"] for step in likely["trace"]]


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulation that is ended keeps what was done until then."""
    context = AdmissionContext(policies=(), cluster=an_index([a_node("n1", "a")]))
    queue = queue_replicas(a_workload("StatefulSet"), context, UNREAD_PODS, count=100)

    def press(tied: Sequence[str]) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return tied[0]

    monkeypatch.setattr("webhook.requests.simulate.tie_breaker", lambda _seed: press)
    simulated = simulation._simulate(queue, PLAIN, NOTHING_PLANNED)

    assert (1, 100) == (len(simulated.simulation.steps), simulated.simulation.queued)
    assert not simulated.complete


@pytest.mark.parametrize(
    ("source", "priority", "expected"),
    [
        pytest.param("victims.json", -5, "n2", id="a file, read again for the pods"),
        pytest.param("-", -5, "n2", id="a pipe, of which they are kept at once"),
        pytest.param("victims.json", 5, None, id="nobody to evict"),
    ],
)
def test_what_becomes_of_victims(folder: Path, source: str, priority: int, expected: str | None) -> None:
    """Pods without a priority evict those below 0 too, and what replaces these is known."""
    containers = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    spec = {"nodeName": "n1", "priority": priority, "containers": containers}
    old = a_pod(name="old", spec=spec, owner=("apps/v1", "ReplicaSet", "old"))
    new = a_pod(name="new", spec={"nodeSelector": {HOSTNAME: "n1"}, "containers": containers})
    nodes = [a_node("n1", "a"), a_node("n2", "b")]
    cluster = json.dumps({"kind": "List", "items": [*nodes, old]})
    (folder / "victims.json").write_text(cluster)
    (folder / "new.yaml").write_text(yaml.safe_dump(new))
    options = ["--cluster", source, "-f", "new.yaml", "-o", "json"]
    if source == "-":
        command = [*COMMAND, *options]
        done = subprocess.run(command, cwd=folder, input=cluster.encode(), capture_output=True, check=False)
    else:
        done = _simulate(folder, *options)

    evicted = [] if expected is None else [expected]
    assert evicted == [entry["node"] for entry in json.loads(done.stdout)["evicted"]]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        pytest.param(["--drain", "n1"], True, id="a drain, which evicts"),
        pytest.param(["--lose", "zone=b"], False, id="a loss, which asks nobody"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_budgets_are_not_looked_at(folder: Path, action: list[str], *, expected: bool) -> None:
    """Where PodDisruptionBudgets could matter, the answer says that they were left out."""
    words = ["--cluster", "cluster.json", "-f", "web.yaml", *action, "-o", "json"]
    done = evenkeel("what-if" if action else "simulate", *words, folder=folder)
    left_out = json.loads(done.stdout)["notLookedAt"]
    assert expected == any("PodDisruptionBudget" in text for text in left_out)


def test_every_field_has_an_option() -> None:
    """Who adds a field of simulations is told of its option; actions and scale have commands of their own."""
    options = {parameter.name for parameter in simulate.command.params}

    assert {entry.attribute for entry in members(SimulationFields)} - options == {"actions", "scale"}

"""``evenkeel explain``, as a person and as a program uses it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from planning.explain.explain import Explained, explain_object
from tests.builders import a_constraint, a_node, a_pod, a_policy, a_workload
from tests.planning.explain.explanations import UNEVEN
from tests.webhook.cli.in_process import evenkeel
from tests.webhook.cli.live import Commands

COMMAND = [sys.executable, "-c", "from webhook.cli.start import run; run()", "explain"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an uneven cluster, a pod that fits and one that does not."""
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": UNEVEN}))
    for name, skew in (("fits", 3), ("nowhere", 1), ("broken", 0)):
        pod = a_pod(spec={"topologySpreadConstraints": [a_constraint(maxSkew=skew)]})
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(pod))
    return tmp_path


def _explain(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return evenkeel("explain", "--cluster", "cluster.json", *arguments, folder=folder)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["-f", "fits.yaml"], 0, id="0: fits"),
        pytest.param(["-f", "nowhere.yaml"], 1, id="1: fits nowhere"),
        pytest.param(["-f", "broken.yaml"], 2, id="2: a bad pod"),
        pytest.param(["-f", "gone.yaml"], 2, id="2: no file"),
        pytest.param([], 2, id="2: no manifest"),
        pytest.param(["-f", "fits.yaml", "--context", "x"], 2, id="2: a context, not live"),
        pytest.param(["-f", "fits.yaml", "-o", "scores"], 0, id="0: scores"),
        pytest.param(["-f", "nowhere.yaml", "-o", "scores"], 1, id="1: scores"),
        pytest.param(["-f", "fits.yaml", "-o", "scores", "--diff", "1"], 2, id="2: scores have no diff"),
    ],
)
def test_exit_codes(folder: Path, arguments: list[str], code: int, wording: Callable[[str], str]) -> None:
    """The exit code says whether the pod fits; what is wrong goes to stderr."""
    _check(_explain(folder, *arguments), code, wording)


def _check(done: subprocess.CompletedProcess[bytes], code: int, wording: Callable[[str], str]) -> None:
    printed = f"{done.stdout.decode()}--- stderr\n{done.stderr.decode()}"

    assert code == done.returncode, done.stderr
    assert wording(printed) == printed


def test_json(folder: Path) -> None:
    """The answer is that of the route, one line."""
    done = _explain(folder, "-f", "nowhere.yaml", "-o", "json")

    assert 1 == done.stdout.count(b"\n")
    assert "nodeTaintsPolicy" == json.loads(done.stdout)["changes"][0]["edits"][0]["path"][-1]


def test_yaml(folder: Path) -> None:
    """The same as JSON, for people who read YAML."""
    as_yaml = yaml.safe_load(_explain(folder, "-f", "nowhere.yaml", "-o", "yaml").stdout)

    assert as_yaml == json.loads(_explain(folder, "-f", "nowhere.yaml", "-o", "json").stdout)


def test_wide_names_every_node(folder: Path) -> None:
    """Of a large group three nodes are named, with -o wide all."""
    nodes = [a_node(f"n{number}", "a", unschedulable=True) for number in range(9)]
    (folder / "cluster.json").write_text(json.dumps({"kind": "List", "items": nodes}))
    short, wide = (
        _explain(folder, "-f", "fits.yaml", "-o", form).stdout.decode() for form in ("text", "wide")
    )

    assert "9 nodes, such as n0, n1, n2" in short
    assert "9 nodes: n0, n1, n2, n3, n4, n5, n6, n7, n8" in wide


def _snapshot(folder: Path) -> None:
    """Write a snapshot with workloads: a Deployment, its pending pod, and a pod that runs."""
    spec = {"topologySpreadConstraints": [a_constraint()]}
    owner = ("apps/v1", "ReplicaSet", "web-1")
    objects = [
        *UNEVEN,
        a_workload(name="web", namespace="shop", spec=spec),
        a_pod(name="pending", owner=owner, spec=spec),
        a_pod(name="running", spec={**spec, "nodeName": "n1"}),
    ]
    (folder / "cluster.json").write_text(json.dumps({"kind": "List", "items": objects}))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["deploy/web"], 1, id="a Deployment"),
        pytest.param(["pod", "pending"], 1, id="a pending pod"),
        pytest.param(["po/running"], 1, id="a running pod"),
        pytest.param(["deploy/api"], 2, id="2: not there"),
        pytest.param(["sts/db"], 2, id="2: no such kind in the file"),
        pytest.param(["deploy/web", "-f", "fits.yaml"], 2, id="2: a file, too"),
        pytest.param(["deploy/web", "--diff", "1"], 0, id="a patch"),
        pytest.param(["deploy/web", "--diff", "2"], 2, id="2: no patch of the cluster"),
        pytest.param(["pod/pending", "--diff", "1"], 2, id="2: no patch of a pod"),
        pytest.param(["-f", "nowhere.yaml", "--diff", "1"], 0, id="a diff"),
        pytest.param(["-f", "fits.yaml", "--diff", "1"], 2, id="2: nothing to suggest"),
    ],
)
def test_objects_of_a_snapshot(
    folder: Path, arguments: list[str], code: int, wording: Callable[[str], str]
) -> None:
    """An object is named as for kubectl, and found in the snapshot; a suggestion can be pasted."""
    _snapshot(folder)
    _check(_explain(folder, *arguments, *([] if "-f" in arguments else ["-n", "shop"])), code, wording)


def test_a_running_pod_does_not_count_itself(folder: Path) -> None:
    """It is judged as if it had no node: without it zone a has 2 pods, not 3."""
    _snapshot(folder)
    report = json.loads(_explain(folder, "po/running", "-n", "shop", "-o", "json").stdout)

    assert [2, 2, 0] == [domain["matching"] for domain in report["constraints"][0]["domains"]]


def test_the_change_helps(folder: Path) -> None:
    """Who does what is proposed first gets a pod that fits."""
    manifest = folder / "nowhere.yaml"
    pod = yaml.safe_load(manifest.read_text())
    pod["spec"]["topologySpreadConstraints"][0]["nodeTaintsPolicy"] = "Honor"
    manifest.write_text(yaml.safe_dump(pod))

    assert b"fits 2 of 3 nodes" in _explain(folder, "-f", "nowhere.yaml").stdout


@pytest.mark.parametrize(("encoding", "bar"), [("utf-8", "█".encode()), ("latin-1", b"#"), ("ascii", b"#")])
def test_any_terminal_can_show_it(folder: Path, encoding: str, bar: bytes) -> None:
    """Bars become number signs where the encoding has no blocks; else it is what the other tests see."""
    command = [*COMMAND, "--cluster", "cluster.json", "-f", "nowhere.yaml"]
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, check=False, cwd=folder, env=environment)

    assert (1, b"") == (done.returncode, done.stderr)
    assert (encoding == "utf-8") == (done.stdout == _explain(folder, "-f", "nowhere.yaml").stdout)
    assert bar * 20 in done.stdout


def test_ctrl_c(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The explanation is printed, and says that neither all replicas nor all changes were tried."""
    # With a uid its pods may be its own, so that it replaces none.
    deployment = a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=1)]}, uid="u")
    deployment["spec"]["replicas"] = 9
    (folder / "web.yaml").write_text(yaml.safe_dump(deployment))

    def interrupted(*arguments: Any, **settings: Any) -> Explained:
        signal.raise_signal(signal.SIGINT)
        return explain_object(*arguments, **settings)

    monkeypatch.setattr("planning.explain.explain.explain_object", interrupted)
    commands = Commands(folder, monkeypatch, capsysbinary)
    done, text = (
        commands.run("explain", "-f", "web.yaml", "--cluster", "cluster.json", "-o", form)
        for form in ("json", "text")
    )
    answer = json.loads(done.stdout)

    assert (130, 130) == (done.code, text.code)
    assert (False, False, []) == (
        answer["replicas"]["complete"],
        answer["changesComplete"],
        answer["changes"],
    )
    assert b"No one or two changes" not in text.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["sts/web", "-n", "shop"], None, id="stored without constraints"),
        pytest.param(["-f", "web.yaml"], "production", id="a manifest that is created"),
    ],
)
def test_a_policy_injects_into_new_objects(
    tmp_path: Path, arguments: list[str], expected: str | None
) -> None:
    """An object of the cluster is not changed by a policy, be there a uid in its snapshot or not."""
    default = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    policy = a_policy(defaults={"at": "workloads", "constraints": [default]})
    workload = a_workload("StatefulSet")
    items = [a_node("n1", "a"), workload]
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(workload))
    done = _explain(tmp_path, *arguments, "--policy", "policy.yaml", "-o", "json")

    assert expected == json.loads(done.stdout)["policy"]

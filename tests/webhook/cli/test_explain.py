"""``evenkeel explain``, as a person and as a program uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.builders import a_constraint, a_pod, a_replica_set, a_workload
from tests.policies.reports.explanations import UNEVEN

README = (Path(__file__).parents[3] / "README.md").read_text()
COMMAND = [sys.executable, "-c", "from webhook.cli.main import run; run()", "explain"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an uneven cluster, a pod that fits and one that does not."""
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": UNEVEN}))
    for name, skew in (("fits", 3), ("nowhere", 1), ("broken", 0)):
        pod = a_pod(spec={"topologySpreadConstraints": [a_constraint(maxSkew=skew)]})
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(pod))
    return tmp_path


def _explain(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, "--cluster", "cluster.json", *arguments],
        capture_output=True,
        check=False,
        cwd=folder,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    ("arguments", "code", "stdout", "stderr"),
    [
        pytest.param(["-f", "fits.yaml"], 0, "Where it would go", "", id="0: fits"),
        pytest.param(["-f", "nowhere.yaml"], 1, "What would make it fit", "", id="1: fits nowhere"),
        pytest.param(["-f", "broken.yaml"], 2, "", "broken.yaml:", id="2: a bad pod"),
        pytest.param(["-f", "gone.yaml"], 2, "", "gone.yaml: No such file", id="2: no file"),
        pytest.param([], 2, "", "--file", id="2: no manifest"),
        pytest.param(["-f", "fits.yaml", "--context", "x"], 2, "", "--live", id="2: a context, not live"),
    ],
)
def test_exit_codes(folder: Path, arguments: list[str], code: int, stdout: str, stderr: str) -> None:
    """The exit codes are those of ``evenkeel score``."""
    done = _explain(folder, *arguments)

    assert code == done.returncode, done.stderr
    assert stdout in done.stdout.decode()
    assert stderr in done.stderr.decode()
    assert bool(stderr) == bool(done.stderr)


def test_json(folder: Path) -> None:
    """The answer is that of the route, one line."""
    done = _explain(folder, "-f", "nowhere.yaml", "-o", "json")

    assert 1 == done.stdout.count(b"\n")
    assert "nodeTaintsPolicy" == json.loads(done.stdout)["changes"][0]["edits"][0]["path"][-1]


def test_the_change_helps(folder: Path) -> None:
    """Who does what is proposed first gets a pod that fits."""
    manifest = folder / "nowhere.yaml"
    pod = yaml.safe_load(manifest.read_text())
    pod["spec"]["topologySpreadConstraints"][0]["nodeTaintsPolicy"] = "Honor"
    manifest.write_text(yaml.safe_dump(pod))

    assert b"fits 2 of 3 nodes" in _explain(folder, "-f", "nowhere.yaml").stdout


def test_the_readme_shows_real_output(folder: Path) -> None:
    """What the README shows is printed for a Deployment on the same cluster."""
    workload = a_workload(spec={"topologySpreadConstraints": [a_constraint()]})
    (folder / "web.yaml").write_text(yaml.safe_dump(workload))
    cluster = {"kind": "List", "items": [*UNEVEN, a_replica_set(workload, "5d9")]}
    (folder / "cluster.json").write_text(json.dumps(cluster))
    shown = README.partition("$ evenkeel explain -f web.yaml --cluster cluster.json\n")[2].partition("```")[0]

    assert shown == _explain(folder, "-f", "web.yaml", COLUMNS="80").stdout.decode()


@pytest.mark.parametrize(("encoding", "bar"), [("utf-8", "█".encode()), ("latin-1", b"#"), ("ascii", b"#")])
def test_any_terminal_can_show_it(folder: Path, encoding: str, bar: bytes) -> None:
    """Bars become number signs where the encoding has no blocks."""
    done = _explain(folder, "-f", "nowhere.yaml", PYTHONIOENCODING=encoding)

    assert (1, b"") == (done.returncode, done.stderr)
    assert bar * 20 in done.stdout

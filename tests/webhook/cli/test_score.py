"""``evenkeel score``, as a person and as a program uses it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import a_constraint, a_node, a_pod
from tests.planning.verdicts import on
from tests.webhook.cli.in_process import evenkeel
from tests.webhook.requests.bodies import a_body, a_request

COMMAND = [sys.executable, "-c", "from webhook.cli.start import run; run()", "score"]
FITS = a_pod(spec={"topologySpreadConstraints": [a_constraint()]})
NOWHERE = a_pod(spec={"nodeName": "gone"})
BROKEN = a_pod(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0, whenUnsatisfiable="x")]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a cluster of two zones, in the first of which two pods run."""
    cluster = {"kind": "List", "items": [a_node("n1", "a"), a_node("n2", "b"), *on("n1", 2)]}
    (tmp_path / "cluster.json").write_text(json.dumps(cluster))
    for name, pod in (("fits", FITS), ("nowhere", NOWHERE), ("broken", BROKEN)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(pod))
    (tmp_path / "twice.yaml").write_text("spec: {nodeName: gone}\n" + yaml.safe_dump(FITS))
    return tmp_path


def _score(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return evenkeel("score", *arguments, folder=folder, stdin=stdin)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["-f", "fits.yaml"], 0, id="0: fits"),
        pytest.param(["-f", "twice.yaml"], 0, id="0: a key twice"),
        pytest.param(["-f", "nowhere.yaml"], 1, id="1: fits nowhere"),
        pytest.param(["-f", "broken.yaml"], 2, id="2: a bad pod"),
        pytest.param(["-f", "gone.yaml"], 2, id="2: no file"),
        pytest.param(["-f", "fits.yaml", "--kubernetes-version", "1.2"], 2, id="2: bad release"),
        pytest.param(["-f", "fits.yaml", "--jsonl"], 2, id="2: a file and a stream"),
        pytest.param([], 2, id="2: neither"),
    ],
)
def test_exit_codes(folder: Path, arguments: list[str], code: int, wording: Callable[[str], str]) -> None:
    """The exit code says whether the pod fits; what is wrong goes to stderr."""
    done = _score(folder, "--cluster", "cluster.json", *arguments)
    printed = f"{done.stdout.decode()}--- stderr\n{done.stderr.decode()}"

    assert code == done.returncode, done.stderr
    assert wording(printed) == printed


def test_errors_are_lines(folder: Path) -> None:
    """Every problem is ``file:line: field: problem``, at once."""
    lines = _score(folder, "-f", "broken.yaml", "--cluster", "cluster.json").stderr.decode().splitlines()
    starts = [":".join(line.split(":")[:3]) for line in lines]

    assert len(lines) == 2
    assert all(start.startswith("broken.yaml:") and "spec.topologySpread" in start for start in starts)


def test_json(folder: Path) -> None:
    """The answer is that of the route, one line."""
    done = _score(
        folder, "-f", "-", "-o", "json", "--cluster", "cluster.json", stdin=json.dumps(FITS).encode()
    )

    assert 1 == done.stdout.count(b"\n")
    assert [False, True] == [node["feasible"] for node in json.loads(done.stdout)["nodes"]]


def test_cluster_from_stdin(folder: Path) -> None:
    """The cluster may come through a pipe, but not together with the requests."""
    cluster = (folder / "cluster.json").read_bytes()
    command = [*COMMAND, "-f", "fits.yaml", "--cluster", "-"]

    assert (
        0 == subprocess.run(command, input=cluster, capture_output=True, check=False, cwd=folder).returncode
    )
    assert 2 == _score(folder, "--jsonl", "--cluster", "-", stdin=cluster).returncode


def test_piped_output_is_plain(folder: Path) -> None:
    """Output that goes to no terminal has no escape sequences."""
    arguments = ["-f", "fits.yaml", "--cluster", "cluster.json"]
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, check=True, cwd=folder)

    assert b"\x1b" not in done.stdout
    assert (_score(folder, *arguments).stdout, b"") == (done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("lines", "code", "expected"),
    [
        pytest.param([a_body()], 0, [1], id="0: fits"),
        pytest.param([a_body(), a_body(pod=NOWHERE)], 1, [1, 0], id="1: one fits nowhere"),
        pytest.param(
            [a_body(), b"nonsense", b"", a_body(pod=BROKEN), a_body(pod=NOWHERE), a_body(cluster=None)],
            2,
            [1, None, None, None, 0, 1],
            id="2: bad lines between good ones",
        ),
        pytest.param([], 0, [], id="0: nothing asked"),
    ],
)
def test_lines(folder: Path, lines: list[bytes], code: int, expected: list[int | None]) -> None:
    """Every line gets its answer in order, a bad one an error, and the stream goes on."""
    stdin = b"".join(line + b"\n" for line in lines)
    done = _score(folder, "--jsonl", "--cluster", "cluster.json", stdin=stdin)
    answers = [json.loads(line) for line in done.stdout.splitlines()]

    assert (code, b"") == (done.returncode, done.stderr)
    assert expected == [answer.get("feasibleNodes") for answer in answers]
    assert [number is None for number in expected] == ["error" in answer for answer in answers]


def test_no_cluster_but_in_requests(folder: Path) -> None:
    """Requests that bring their clusters need no other; one that does not is told."""
    stdin = a_body() + b"\n" + a_body(cluster=None) + b"\n"
    good, bad = map(json.loads, _score(folder, "--jsonl", stdin=stdin).stdout.splitlines())

    assert 1 == good["feasibleNodes"]
    assert ["cluster"] == [entry["field"] for entry in bad["details"]]


def test_each_line_is_answered_at_once(folder: Path) -> None:
    """Whoever waits for an answer before the next request gets it."""
    process = subprocess.Popen(
        [*COMMAND, "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for pod in (FITS, NOWHERE):
        process.stdin.write(json.dumps(a_request(pod=pod)).encode() + b"\n")
        process.stdin.flush()
        answer: dict[str, Any] = json.loads(process.stdout.readline())

        assert (pod is FITS) == bool(answer["feasibleNodes"])
    process.stdin.close()
    process.stdout.close()
    assert 1 == process.wait()

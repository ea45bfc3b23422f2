"""The forms for programs: a request a line, an answer a line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import a_constraint, a_node, a_pod
from tests.planning.verdicts import on
from tests.webhook.cli.in_process import evenkeel
from tests.webhook.requests.bodies import a_body, a_request
from webhook.cli import machine, main

COMMAND = [sys.executable, "-c", "from webhook.cli.start import run; run()", "score"]
FITS = a_pod(spec={"topologySpreadConstraints": [a_constraint()]})
NOWHERE = a_pod(spec={"nodeName": "gone"})
BROKEN = a_pod(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0, whenUnsatisfiable="x")]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a cluster of two zones, in the first of which two pods run."""
    cluster = {"kind": "List", "items": [a_node("n1", "a"), a_node("n2", "b"), *on("n1", 2)]}
    (tmp_path / "cluster.json").write_text(json.dumps(cluster))
    (tmp_path / "fits.yaml").write_text(yaml.safe_dump(FITS))
    return tmp_path


def _score(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return evenkeel("score", *arguments, folder=folder, stdin=stdin)


@pytest.mark.parametrize("form", machine.FORMS)
def test_who_types_one_is_told_of_the_command(folder: Path, form: str) -> None:
    """Without --jsonl it is no form for programs, and with it there is no option of people."""
    typed = evenkeel(form, "-f", "fits.yaml", "--cluster", "cluster.json", folder=folder)
    mixed = evenkeel(form, "--jsonl", "-f", "fits.yaml", folder=folder)

    assert form in main.GONE or form in main.COMMANDS
    assert form in main.COMMANDS or b" now: evenkeel " in typed.stderr
    assert (2, b"") == (mixed.returncode, mixed.stdout)


def test_cluster_from_stdin(folder: Path) -> None:
    """Standard input has the requests, so the cluster is a file."""
    assert 2 == _score(folder, "--jsonl", "--cluster", "-").returncode


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

"""``evenkeel ui``, as a person starts and ends it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.builders import a_workload
from tests.waiting import PATIENCE_S, eventually
from tests.webhook.cli.in_process import evenkeel
from tests.webhook.ui.pages import a_cluster

EVENKEEL: Final = Path(sys.executable).parent / "evenkeel"


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """A snapshot, with an object that is broken."""
    broken = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": 7}}
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*a_cluster(), broken]}))
    return str(path)


@contextmanager
def _page(
    *arguments: str, environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [EVENKEEL, "ui", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_page(cluster: str) -> None:
    """The address is printed once, with the token that the API wants; Ctrl-C ends it with exit code 0."""
    with _page("--cluster", cluster, "--no-open") as process:
        assert process.stdout is not None
        url = urlsplit(process.stdout.readline().strip())
        (token,) = parse_qs(url.query)["token"]
        connection = http.client.HTTPConnection(url.netloc)
        connection.request("GET", "/api/cluster", headers={"Authorization": f"Bearer {token}"})
        found = json.loads(connection.getresponse().read())
        connection.close()
        process.send_signal(signal.SIGINT)
        rest, told = process.communicate(timeout=PATIENCE_S)

    assert "127.0.0.1" == url.hostname
    assert len(token) >= 43
    assert ["na", "nb", "nc"] == found["nodes"]["names"]
    assert ["is left out" in note for note in found["source"]["notes"]] == [True]
    assert (0, "") == (process.returncode, rest)
    assert "Traceback" not in told
    assert token not in told


def test_the_demo() -> None:
    """It is a cluster of its own, with no other beside it."""
    with _page("--demo", "--no-open") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")

    assert "may not be combined" in evenkeel("ui", "--demo", "--live", folder=Path()).stderr.decode()


def test_what_a_browser_is_started_with(cluster: str, tmp_path: Path) -> None:
    """Its arguments, which everybody on the machine can read, name a file that nobody else can."""
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/arguments.new\nmv {tmp_path}/arguments.new {tmp_path}/arguments\n'
    )
    browser.chmod(0o755)
    with _page("--cluster", cluster, environment={"BROWSER": str(browser)}) as process:
        assert process.stdout is not None
        url = urlsplit(process.stdout.readline().strip())
        assert eventually((tmp_path / "arguments").exists)
        argument = (tmp_path / "arguments").read_text().strip()
        file = Path(urlsplit(argument).path)
        (code,) = re.findall(r"/open/([\w-]+)", file.read_text())
        modes = [stat.S_IMODE(each.stat().st_mode) for each in (file, file.parent)]
        answers = []
        for _ in range(2):
            connection = http.client.HTTPConnection(url.netloc)
            connection.request("GET", f"/open/{code}")
            answers.append(connection.getresponse().status)
            connection.close()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)

    assert "file" == urlsplit(argument).scheme
    assert "127.0.0.1" not in argument
    assert code not in argument
    assert [0o600, 0o700] == modes
    assert [303, 410] == answers
    assert not file.exists()


def test_a_port_in_use(cluster: str) -> None:
    """A port that another program has is an error, before the cluster is read."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = evenkeel("ui", "--cluster", cluster, "--port", port, folder=Path())

    assert (3, b"") == (done.returncode, done.stdout)
    assert f"cannot listen on 127.0.0.1:{port}".encode() in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param([], 2, id="no cluster"),
        pytest.param(["--live", "--cluster", "x"], 2, id="two clusters"),
        pytest.param(["--cluster", "missing.json"], 2, id="no such file"),
        pytest.param(["--cluster", "workload.json"], 2, id="no snapshot"),
        pytest.param(["--cluster", "x", "--port", "65536"], 2, id="no port"),
    ],
)
def test_bad_input(tmp_path: Path, arguments: list[str], code: int) -> None:
    """A cluster that cannot be shown ends with a line that says why."""
    (tmp_path / "workload.json").write_text(json.dumps({**a_workload(), "apiVersion": "example.com/v1"}))
    done = evenkeel("ui", "--no-open", *arguments, folder=tmp_path)

    assert (code, b"") == (done.returncode, done.stdout)
    assert b"Traceback" not in done.stderr
    assert done.stderr

"""``evenkeel snapshot``, and what reads its files."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from policies.model.cluster_kinds import BUDGET, CSI_NODE, LISTS, VOLUME
from policies.model.snapshot import without_secrets
from tests.planning.explain.explanations import UNEVEN
from tests.webhook.cli.live import Commands
from tests.webhook.http.authorization.control_plane import ControlPlane, a_control_plane
from webhook.snapshot_file import SNAPSHOT_LISTS, read_snapshot


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """A cluster of three nodes and four pods, and a kubeconfig."""
    with a_control_plane() as plane:
        plane.objects = [{**obj} for obj in UNEVEN]
        plane.kubeconfig(tmp_path)
        yield plane


@pytest.fixture
def commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Commands:
    """Runs commands in the folder."""
    return Commands(tmp_path, monkeypatch, capsysbinary)


@pytest.mark.parametrize(
    ("file", "packed"),
    [
        pytest.param("cluster.json", False, id="plain"),
        pytest.param("cluster.json.gz", True, id="packed"),
    ],
)
@pytest.mark.usefixtures("plane")
def test_files(tmp_path: Path, commands: Commands, file: str, *, packed: bool) -> None:
    """A file is what --cluster reads, and replaces the one before; nothing else stays in the folder."""
    (tmp_path / file).write_text("old")
    before = {path.name for path in tmp_path.iterdir()}
    done = commands.run("snapshot", "-o", file)
    problems = list[str]()
    index = read_snapshot(tmp_path / file, warn=problems.append)

    assert (0, b"", b"") == (done.code, done.stdout, done.stderr)
    assert (3, 4, []) == (index.node_count, index.pod_count, problems)
    assert before == {path.name for path in tmp_path.iterdir()}
    assert packed == (tmp_path / file).read_bytes().startswith(b"\x1f\x8b")


def test_standard_output(plane: ControlPlane, commands: Commands) -> None:
    """Without a file it is printed, with what was read and the time behind the objects."""
    done = commands.run("snapshot")
    *objects, lists, time = json.loads(done.stdout)["items"]

    assert len(plane.objects) == len(objects)
    assert (list(LISTS), {}) == (sorted(lists["read"], key=list(LISTS).index), lists["notRead"])
    assert datetime.fromisoformat(time["metadata"]["creationTimestamp"]) <= datetime.now(UTC)


def test_failures_leave_the_old_file(plane: ControlPlane, tmp_path: Path, commands: Commands) -> None:
    """A cluster that cannot be read to its end changes no file."""
    (tmp_path / "cluster.json").write_text("old")
    plane.forbidden.add("/api/v1/pods")
    done = commands.run("snapshot", "-o", "cluster.json")

    assert 3 == done.code
    assert b"list granted" in done.stderr
    assert {"cluster.json", "kubeconfig"} == {path.name for path in tmp_path.iterdir()}
    assert "old" == (tmp_path / "cluster.json").read_text()


def test_the_format_may_be_named_before_the_file(
    plane: ControlPlane, tmp_path: Path, commands: Commands
) -> None:
    """As for other commands; another format than JSON is refused, where a file of its name would be made."""
    before = {path.name for path in tmp_path.iterdir()}
    printed, written = commands.run("snapshot", "-o", "json"), commands.run("snapshot", "-o", "json=a.json")
    refused = commands.run("snapshot", "-o", "yaml")

    assert len(plane.objects) + 2 == len(json.loads(printed.stdout)["items"])
    assert (0, b"") == (written.code, written.stdout)
    assert (2, b"evenkeel: -o: Unsupported value: yaml: only JSON is written; give a FILE\n") == (
        refused.code, refused.stderr
    )  # fmt: skip
    assert {*before, "a.json"} == {path.name for path in tmp_path.iterdir()}


@pytest.mark.usefixtures("plane")
def test_a_folder_that_is_not_there(commands: Commands) -> None:
    """The message names the file as it was asked for."""
    done = commands.run("snapshot", "-o", "gone/cluster.json")

    assert (2, b"evenkeel: gone/cluster.json: No such file or directory\n") == (done.code, done.stderr)


def test_a_process_of_its_own(plane: ControlPlane, tmp_path: Path) -> None:
    """The kubeconfig of the environment counts, and its contexts; what goes wrong is one line."""
    command = [sys.executable, "-c", "from webhook.cli.start import run; run()", "snapshot"]
    environment = {**os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig")}
    good, bad = (
        subprocess.run([*command, *options], capture_output=True, check=False, env=environment)
        for options in ([], ["--context", "gone"])
    )

    assert (0, len(plane.objects) + 2) == (good.returncode, len(json.loads(good.stdout)["items"]))
    assert (3, 1) == (bad.returncode, bad.stderr.count(b"\n"))


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        pytest.param({}, b"connection refused", id="nobody listens"),
        pytest.param(
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin"}},
            b"gave no credentials",
            id="no credentials",
        ),
    ],
)
def test_nothing_is_printed_before_the_cluster_answers(
    tmp_path: Path, commands: Commands, user: dict[str, object], expected: bytes
) -> None:
    """Readers of standard output must not take the beginning of a list for a cluster."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        cluster = {"server": f"https://127.0.0.1:{unused.getsockname()[1]}"}
        document = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
        }
        (tmp_path / "kubeconfig").write_text(json.dumps(document))
        done = commands.run("snapshot")

    assert (3, b"") == (done.code, done.stdout)
    assert expected in done.stderr
    assert b"Errno" not in done.stderr


def test_what_may_not_be_read(plane: ControlPlane, tmp_path: Path, commands: Commands) -> None:
    """The file says which optional kinds could not be read and why, and so does who reads it."""
    plane.forbidden.add("/apis/storage.k8s.io/v1/csinodes")
    plane.undefined.add("/apis/policy/v1/poddisruptionbudgets")
    done = commands.run("snapshot", "-o", "cluster.json")
    problems = list[str]()
    index = read_snapshot(tmp_path / "cluster.json", warn=problems.append)

    assert 0 == done.code
    assert done.stderr.decode().partition(": ")[2] in f"{problems[0]}\n"
    assert {
        "csiNodes": "no right to list and watch csinodes.storage.k8s.io",
        "podDisruptionBudgets": "the API server does not serve policy/v1 PodDisruptionBudget",
    } == index.unread
    assert [False, False, True] == [index.knows(kind) for kind in (CSI_NODE, BUDGET, VOLUME)]


@pytest.mark.parametrize(
    ("lists", "problem"),
    [
        pytest.param({"read": "nodes"}, "read: ", id="no list"),
        pytest.param({"read": [7]}, "read[0]: ", id="no name"),
        pytest.param({"notRead": ["csiNodes"]}, "notRead: ", id="no reasons"),
        pytest.param({"notRead": {"csiNodes": 7}}, "csiNodes", id="no reason"),
        pytest.param({"read": ["moons"], "notRead": {"suns": "", "pods": "no"}}, "", id="other lists"),
    ],
)
def test_lists_of_a_file(tmp_path: Path, lists: dict[str, object], problem: str) -> None:
    """Fields of the wrong type are reported; unknown lists, of a later release, are ignored."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    items = [node, {**SNAPSHOT_LISTS, **lists}]
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": items}))
    problems = list[str]()
    read_snapshot(tmp_path / "cluster.json", warn=problems.append)

    assert bool(problem) == bool(problems)
    assert all(problem in text for text in problems)


def test_secrets_of_storage_are_left_out() -> None:
    """Drivers may be given passwords by parameters of a class, and by attributes of a volume."""
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {"csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"password": "secret"}}},
    }
    found = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "c"},
        "provisioner": "d",
        "parameters": {"password": "secret"},
        "mountOptions": ["password=secret"],
    }
    written = [without_secrets(obj) for obj in (volume, found)]

    assert "secret" not in json.dumps(written)
    assert {"driver": "d", "volumeHandle": "h"} == written[0]["spec"]["csi"]
    assert "d" == written[1]["provisioner"]

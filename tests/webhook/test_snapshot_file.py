"""Snapshot files, as kubectl prints them."""

from __future__ import annotations

import gzip
import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from policies.manifests.errors import DocumentError
from policies.model.revisions import find_revision, read_revision
from policies.model.workload import Workload
from policies.scheduler.index import ClusterIndex
from tests.builders import a_pod, a_replica_set, a_workload, kind_of
from webhook import snapshot_file
from webhook.snapshot_file import read_snapshot, write_snapshot

SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"app": "web"}},
}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
POD = a_pod(spec={"nodeName": "n1"})
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}
LIST = {"apiVersion": "v1", "items": [POD, SERVICE, CONFIG_MAP, NODE], "kind": "List"}


def read(path: Path, content: bytes | dict[str, Any]) -> tuple[ClusterIndex, list[str]]:
    """Return the cluster of a file, and what is said of it."""
    path, problems = path / "cluster.json", list[str]()
    path.write_bytes(json.dumps(content, indent=4).encode() if isinstance(content, dict) else content)
    return read_snapshot(path, warn=problems.append), problems


def refusal(path: Path, content: bytes | dict[str, Any]) -> str:
    with pytest.raises(DocumentError) as caught:
        read(path, content)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{path}/cluster.json")
    return problem.removeprefix(f"{path}/cluster.json")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(json.dumps(LIST).encode(), id="JSON"),
        pytest.param(yaml.safe_dump(LIST).encode(), id="YAML"),
        pytest.param(gzip.compress(json.dumps(LIST).encode()), id="gzip"),
        pytest.param(
            gzip.compress(json.dumps(NODE).encode()) + gzip.compress(json.dumps(LIST).encode()),
            id="gzip after gzip",
        ),
        pytest.param(yaml.safe_dump_all([SERVICE, CONFIG_MAP, NODE, POD]).encode(), id="documents"),
        pytest.param(json.dumps(LIST).encode("utf-16"), id="UTF-16"),
    ],
)
def test_every_form_is_read(tmp_path: Path, content: bytes) -> None:
    """A list in JSON or YAML, packed or not, and single documents hold the same cluster."""
    index, problems = read(tmp_path, content)

    assert (1, 1) == (index.node_count, index.pod_count)
    assert [{"app": "web"}] == index.snapshot.service_selectors("shop", {"app": "web"})
    assert [] == problems


def test_a_pipe_is_read(tmp_path: Path) -> None:
    """Process substitution gives a file that can be read once, as with ``--cluster <(kubectl get …)``."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[json.dumps(LIST).encode()])
    writer.start()
    index = read_snapshot(pipe, warn=print)
    writer.join()

    assert 1 == index.pod_count


def test_broken_objects_are_named_with_their_line(tmp_path: Path) -> None:
    """An object that is broken is left out and told; the others are there."""
    broken = [
        SERVICE | {"spec": {"selector": "app=web"}},
        a_pod(name="bad\n", spec={"nodeName": 7, "tolerations": 8, "containers": 9}),
        {"apiVersion": "v1", "kind": "Service", "metadata": []},
    ]
    index, problems = read(tmp_path, LIST | {"items": [*broken, POD, NODE]})

    assert (1, 1) == (index.node_count, index.pod_count)
    told = [line.removeprefix(f"{tmp_path}/cluster.json:") for line in problems]
    assert told[0].startswith("12: Service shop/web is left out: spec.selector: Invalid value")
    assert told[1].startswith('26: Pod shop/"bad\\n" is left out: spec.containers: Invalid value')
    assert told[1].endswith(" more error)")
    assert told[2].startswith("34: Service without a name is left out: metadata: Invalid value")
    assert 3 == len(told)


def test_many_broken_objects_are_counted(tmp_path: Path) -> None:
    """A file of rubbish does not fill the terminal."""
    items = [{"apiVersion": "v1", "kind": "Service", "spec": 1} for _ in range(1020)]
    _, problems = read(tmp_path, LIST | {"items": items})

    assert snapshot_file.MAX_REPORTED + 1 == len(problems)
    assert f"{tmp_path}/cluster.json: 1,000 more objects are left out" == problems[-1]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"", "it holds no Kubernetes object", id="empty"),
        pytest.param(b"just text", "it holds no Kubernetes object", id="text"),
        pytest.param(b"[1, 2]", "it holds no Kubernetes object", id="numbers"),
        pytest.param(b"{}", "it holds no Kubernetes object", id="an empty object"),
        pytest.param(json.dumps(CONFIG_MAP).encode(), "it holds only v1 ConfigMap", id="another kind"),
        pytest.param(
            yaml.safe_dump_all([{"kind": kind} for kind in ["Pod", "C", "B", "A"]]).encode(),
            "it holds only B without apiVersion, C without apiVersion, Pod without apiVersion",
            id="kinds without apiVersion",
        ),
        pytest.param(b'{"kind": ["Pod"]}', "it holds no Kubernetes object", id="a kind that is none"),
        pytest.param(b"\x1f\x8bnot gzip", "cannot be unpacked", id="bad gzip"),
        pytest.param(gzip.compress(json.dumps(LIST).encode())[:-9], "cannot be unpacked", id="cut gzip"),
        pytest.param(gzip.compress(b"{}")[:-8] + b"\0" * 8, "cannot be unpacked", id="a wrong checksum"),
        pytest.param(b"\xff\xfe\xff", "is not text", id="binary"),
        pytest.param(b"{", "is not", id="cut JSON"),
    ],
)
def test_other_files_are_document_errors(tmp_path: Path, content: bytes, problem: str) -> None:
    """A file without the objects of a cluster is refused with its name."""
    assert problem in refusal(tmp_path, content)


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that unpacks without end is rejected at a bound, whatever it contains."""
    monkeypatch.setattr(snapshot_file, "MAX_UNPACKED", 10 * 2**20)
    bomb = b'{"kind": "List", "items": [' + b" " * 2**24

    assert "unpacks to more than" in refusal(tmp_path, gzip.compress(bomb, compresslevel=1))


@pytest.mark.parametrize("path", ["nowhere.json", "."])
def test_what_cannot_be_opened_is_an_os_error(tmp_path: Path, path: str) -> None:
    """A missing file and a folder are told by the operating system."""
    with pytest.raises(OSError, match=str(tmp_path)):
        read_snapshot(tmp_path / path, warn=print)


SECRET = "hunter2"
CONTAINER = {
    "name": "c",
    "image": "x",
    "resources": {"requests": {"cpu": "1"}},
    "env": [{"name": "PASSWORD", "value": SECRET}],
    "args": [SECRET],
    "command": [SECRET],
    "livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": SECRET}]}},
}
METADATA = {
    "name": "p",
    "managedFields": [{"manager": SECRET}],
    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "kept": "yes"},
}


def written(*objects: dict[str, Any]) -> bytes:
    """Return the text of a snapshot."""
    return b"".join(write_snapshot(objects, {}, datetime.now(UTC)))


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(
            {"kind": "Pod", "metadata": METADATA, "spec": {"containers": [CONTAINER], "nodeName": "n"}},
            id="a pod",
        ),
        pytest.param(
            {"kind": "Pod", "metadata": METADATA, "spec": {"initContainers": [CONTAINER]}}, id="init"
        ),
        pytest.param(
            a_workload(kind="ReplicaSet", spec={"containers": [CONTAINER]}) | {"metadata": METADATA},
            id="a workload",
        ),
        pytest.param(
            {"kind": "Pod", "metadata": None, "spec": {"containers": [None], "template": 3}}, id="odd"
        ),
    ],
)
def test_nothing_secret(obj: dict[str, Any]) -> None:
    """Commands, environments and probes are left out, and copies of them; fields for placement stay."""
    text = written(obj)

    assert SECRET.encode() not in text
    assert b"requests" in text or "hunter2" not in str(obj)
    assert b'"kept":"yes"' in text or obj["metadata"] is None


def test_revisions_are_known_from_what_is_left() -> None:
    """A digest identifies a template whose parts were left out: the revision is the same."""
    workload = a_workload(spec={"containers": [CONTAINER]})
    text = written(a_replica_set(workload, "5d9"))
    revision = read_revision(json.loads(text)["items"][0])

    assert SECRET.encode() not in text
    assert revision is not None
    assert revision == find_revision(
        Workload.read(workload, kind_of("Deployment", "apps"), "shop"), [revision]
    )
    assert None is find_revision(
        Workload.read(a_workload(), kind_of("Deployment", "apps"), "shop"), [revision]
    )


def test_an_empty_cluster() -> None:
    """Also nothing is a List, which says when it was read and of what."""
    read = json.loads(written())

    assert ("v1", "List", 2) == (read["apiVersion"], read["kind"], len(read["items"]))

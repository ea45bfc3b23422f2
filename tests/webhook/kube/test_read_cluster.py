"""Reading a live cluster once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from policies.model.revisions import find_revision, read_revision
from policies.model.workload import Workload
from tests.builders import a_pod, a_replica_set, a_workload, kind_of
from tests.policies.reports.explain.explanations import UNEVEN
from tests.webhook.http.authorization.control_plane import ControlPlane, a_control_plane
from webhook.kube.api_server import ApiError
from webhook.kube.snapshot import read_index, read_objects
from webhook.kube.snapshot_writer import written_list
from webhook.kube.watched_resources import EVERYTHING, NODES

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


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    """A cluster of three nodes and four pods."""
    with a_control_plane() as plane:
        plane.objects = [{**obj} for obj in UNEVEN]
        yield plane


def test_index(plane: ControlPlane, tmp_path: Path) -> None:
    """The whole cluster is read, or only its nodes; what is broken is told and left out."""
    plane.objects.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": 3}})
    warnings, kinds = list[str](), list[str]()
    whole = read_index(plane.api(tmp_path), warn=warnings.append, seen=lambda obj: kinds.append(obj["kind"]))
    nodes = read_index(plane.api(tmp_path), NODES, warn=warnings.append)

    assert (3, 4) == (whole.node_count, whole.pod_count)
    assert (3, 0) == (nodes.node_count, nodes.pod_count)
    assert (4, 4) == (kinds.count("Node"), kinds.count("Pod"))
    assert 2 == len(warnings)


def test_forbidden(plane: ControlPlane, tmp_path: Path) -> None:
    """Who may not list is told what to have granted."""
    plane.forbidden.add("/api/v1/pods")
    with pytest.raises(ApiError, match="list granted") as caught:
        read_index(plane.api(tmp_path), warn=list[str]().append)

    assert caught.value.forbidden


def test_the_picture_for_later(plane: ControlPlane, tmp_path: Path) -> None:
    """The text is a v1 List of all objects, also of pods that run nowhere."""
    plane.objects.append(a_pod(name="pending"))
    text = b"".join(written_list(read_objects(plane.api(tmp_path), EVERYTHING, left_out=print, listed=print)))
    read = json.loads(text)

    assert ("v1", "List") == (read["apiVersion"], read["kind"])
    assert len(plane.objects) == len(read["items"])
    assert not [path for path in plane.paths() if "fieldSelector" in path]


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
def test_nothing_secret(obj: dict[str, object]) -> None:
    """Commands, environments and probes are left out, and copies of them; fields for placement stay."""
    text = b"".join(written_list(iter([obj])))

    assert SECRET.encode() not in text
    assert b"requests" in text or "hunter2" not in str(obj)
    assert b'"kept":"yes"' in text or obj["metadata"] is None


def test_revisions_are_known_from_what_is_left() -> None:
    """A digest identifies a template whose parts were left out: the revision is the same."""
    workload = a_workload(spec={"containers": [CONTAINER]})
    text = b"".join(written_list(iter([a_replica_set(workload, "5d9")])))
    (written,) = json.loads(text)["items"]
    revision = read_revision(written)

    assert SECRET.encode() not in text
    assert revision is not None
    assert revision == find_revision(
        Workload.read(workload, kind_of("Deployment", "apps"), "shop"), [revision]
    )
    assert None is find_revision(
        Workload.read(a_workload(), kind_of("Deployment", "apps"), "shop"), [revision]
    )


def test_an_empty_cluster() -> None:
    """Also nothing is a List."""
    assert [] == json.loads(b"".join(written_list(iter(()))))["items"]

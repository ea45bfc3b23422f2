"""Reading a live cluster once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import a_pod
from tests.planning.explain.explanations import UNEVEN
from tests.webhook.http.authorization.control_plane import ControlPlane, a_control_plane
from webhook.cli.read_cluster import read_index, read_objects
from webhook.kube.api_server import ApiError
from webhook.kube.watched_resources import EVERYTHING, NODES


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
    """All objects are read, also pods that run nowhere, and each kind is said to be complete."""
    plane.objects.append(a_pod(name="pending"))
    kinds = list[str]()
    objects = read_objects(
        plane.api(tmp_path), EVERYTHING, left_out=print, listed=lambda listed, _why: kinds.append(listed.kind)
    )

    assert len(plane.objects) == len(list(objects))
    assert kinds == [resource.kind for resource in EVERYTHING]
    assert not [path for path in plane.paths() if "fieldSelector" in path]

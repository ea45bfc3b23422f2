"""The cluster that a request brings along."""

from __future__ import annotations

from typing import Any

import pytest

from policies.config.form import MOST_ERRORS, read
from policies.manifests.fields import MAX_ERRORS, ErrorList, FieldPath
from policies.scheduler.index import ClusterIndex
from tests.builders import a_node, a_pod
from tests.planning.verdicts import on
from webhook.requests.cluster import index_cluster
from webhook.requests.score import ScoreRequest

NODE: dict[str, Any] = {"metadata": {"name": "n1"}}
PATH = FieldPath(("cluster",))


def _read(raw: Any) -> tuple[int, int, list[str]]:
    """Return how many nodes and pods are read, and the paths of errors."""
    found = ErrorList()
    request = read(ScoreRequest, {"pod": a_pod(), "cluster": raw}, found)
    index = ClusterIndex()
    if request is not None:
        assert request.cluster is not None
        index = index_cluster(request.cluster, PATH, found)
    return index.node_count, index.pod_count, [str(error.path) for error in found.errors]


@pytest.mark.parametrize(
    ("raw", "nodes", "pods"),
    [
        pytest.param({}, 0, 0, id="nothing"),
        pytest.param({"nodes": None, "pods": None}, 0, 0, id="null lists"),
        pytest.param({"nodes": [NODE], "pods": on("n1", 2)}, 1, 2, id="by kind, the kind left out"),
        pytest.param({"nodes": [a_node("n1")]}, 1, 0, id="by kind, with the kind"),
        pytest.param({"kind": "List", "items": [a_node("n1"), *on("n1", 2)]}, 1, 2, id="a List"),
        pytest.param({"kind": "NodeList", "apiVersion": "v1", "items": [NODE]}, 1, 0, id="a typed list"),
        pytest.param({"kind": "List", "items": None}, 0, 0, id="a List of nothing"),
        pytest.param(
            {"kind": "List", "items": [{"apiVersion": "v1", "kind": "Secret"}, {"kind": {}}, a_node("n1")]},
            1,
            0,
            id="a List with other kinds",
        ),
    ],
)
def test_forms(raw: Any, nodes: int, pods: int) -> None:
    """Lists by kind, or a List, as kubectl prints it."""
    assert (nodes, pods, []) == _read(raw)


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        pytest.param(3, "cluster", id="no object"),
        pytest.param({"node": []}, "cluster.node", id="an unknown list"),
        pytest.param({"nodes": {}}, "cluster.nodes", id="no list"),
        pytest.param({"nodes": [NODE, 3]}, "cluster.nodes[1]", id="an item that is no object"),
        pytest.param({"nodes": [None]}, "cluster.nodes[0]", id="null"),
        pytest.param({"nodes": [{"metadata": {"name": 3}}]}, "cluster.nodes[0].metadata.name", id="a number"),
        pytest.param(
            {"pods": [{"metadata": {"name": 3}}]}, "cluster.pods[0].metadata.name", id="a pod called 3"
        ),
        pytest.param(
            {"replicaSets": [{}]}, "cluster.replicaSets[0].metadata.name", id="an owner without a name"
        ),
        pytest.param({"nodes": [NODE, NODE]}, "cluster.nodes[1].metadata.name", id="a name twice"),
        pytest.param(
            {"nodes": [NODE, {"metadata": {"name": "n1", "namespace": [1]}}]},
            "cluster.nodes[1].metadata.name",
            id="a name twice, with a namespace that a node has not",
        ),
        pytest.param({"nodes": [a_pod()]}, "cluster.nodes[0].kind", id="a pod among nodes"),
        pytest.param({"nodes": [{"kind": []}]}, "cluster.nodes[0].kind", id="a kind that is none"),
        pytest.param(
            {"nodes": [NODE | {"spec": {"taints": 3}}]}, "cluster.nodes[0].spec.taints", id="a broken node"
        ),
        pytest.param({"kind": "Pod", "items": []}, "cluster.kind", id="an object that is no List"),
        pytest.param({"kind": 3, "items": []}, "cluster.kind", id="a List whose kind is a number"),
        pytest.param({"items": []}, "cluster.kind", id="a List without its kind"),
        pytest.param({"kind": "List", "items": 3}, "cluster.items", id="items that are no list"),
    ],
)
def test_errors(raw: Any, path: str) -> None:
    """Errors are reported with their path in the request."""
    assert [path] == _read(raw)[2]


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({}, id="no metadata"),
        pytest.param({"metadata": None}, id="null"),
        pytest.param({"metadata": {"creationTimestamp": None}}, id="no name, as Go writes it"),
        pytest.param({"metadata": {"name": ""}}, id="an empty name"),
    ],
)
def test_nameless(metadata: dict[str, Any]) -> None:
    """Nothing refers to pods and services by name: those without one count, 2 pods and 2 services."""
    pods = [metadata | {"spec": {"nodeName": "n1"}} for _ in range(2)]
    services = [metadata | {"spec": {"selector": {"a": "b"}}} for _ in range(2)]

    assert (1, 2, []) == _read({"nodes": [NODE], "pods": pods, "services": services})


def test_same_names_elsewhere() -> None:
    """Names need differ within a namespace only; no namespace is the default one."""
    pods = [a_pod(namespace=namespace, spec={"nodeName": "n1"}) for namespace in ("a", "b", "default", "")]

    assert (1, 3, ["cluster.pods[3].metadata.name"]) == _read({"nodes": [NODE], "pods": pods})


def test_errors_end() -> None:
    """A hostile request is not read to its end."""
    assert len(_read({"nodes": [3] * 100_000})[2]) == MOST_ERRORS
    assert MAX_ERRORS <= len(_read({"nodes": [{}] * 100_000})[2]) < MAX_ERRORS + 10

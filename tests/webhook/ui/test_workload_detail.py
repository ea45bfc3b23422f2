"""One workload of the cluster, as the page shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from policies.model.workload_ref import WorkloadRef
from tests.builders import a_pod, a_replica_set, a_workload
from tests.webhook.ui.pages import DEPLOYMENT, a_client, a_cluster, a_page_cluster
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import ProblemsError
from webhook.ui.workload_detail import find_object, workload_detail

WEB = WorkloadRef("shop", "Deployment", "web")


def _detail(cluster: PageCluster, key: WorkloadRef = WEB) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(workload_detail(cluster, key, find_object(cluster, key)))
    return found


def test_a_workload() -> None:
    """Its manifest as YAML, its pods, and why one of them is pending."""
    found = _detail(a_page_cluster())

    assert DEPLOYMENT == yaml.safe_load(found["manifest"])
    assert [("web-1", "na", "aaa"), ("web-2", "nb", "aaa")] == [
        (pod["name"], pod["node"], pod["revision"]) for pod in found["pods"]
    ]
    assert not found["explain"]["fits"]
    assert [] == found["problems"] == found["notes"]


def test_what_the_server_writes_is_left_out() -> None:
    """Status, managed fields and kubectl's copy are nothing to edit."""
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "a"}
    own = a_workload(annotations=annotations, managedFields=[], resourceVersion="1") | {"status": {}}
    shown = yaml.safe_load(_detail(a_page_cluster(*a_cluster()[:3], own))["manifest"])

    assert "status" not in shown
    assert {"name": "web", "namespace": "shop", "annotations": {"team": "a"}} == shown["metadata"]


def test_a_deployment_that_the_snapshot_lacks() -> None:
    """It is made from its ReplicaSet with most replicas, and that is said."""
    old = a_replica_set(DEPLOYMENT, "bbb", number=2)
    old["spec"]["replicas"] = 0
    cluster = a_page_cluster(*(obj for obj in a_cluster() if obj is not DEPLOYMENT), old)
    found = _detail(cluster)

    spec, wanted = yaml.safe_load(found["manifest"])["spec"], DEPLOYMENT["spec"]
    assert (4, wanted["selector"]) == (spec["replicas"], spec["selector"])
    assert wanted["template"]["metadata"]["labels"] == spec["template"]["metadata"]["labels"]
    assert ["Deployment" in note and "web-aaa" in note for note in found["notes"]] == [True]


def test_an_owner_of_unknown_kind() -> None:
    """Its ReplicaSet is shown in its place."""
    replica_set = a_replica_set(DEPLOYMENT, "aaa")
    replica_set["metadata"]["ownerReferences"][0] |= {"apiVersion": "example.com/v1", "kind": "Canary"}
    cluster = a_page_cluster(*a_cluster()[:3], replica_set)
    found = _detail(cluster, WorkloadRef("shop", "Canary", "web"))

    assert "ReplicaSet" == yaml.safe_load(found["manifest"])["kind"]
    assert len(found["notes"]) == 1


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        pytest.param("web-3", 0, id="pending: skew 2 in two zones, the third is cordoned"),
        pytest.param("web-1", 1, id="running: its own zone has none but it"),
    ],
)
def test_a_pod(name: str, nodes: int) -> None:
    """A pod is explained as if it were scheduled now."""
    cluster = a_page_cluster()
    found = _detail(cluster, WorkloadRef("shop", "Pod", name))

    assert nodes == found["explain"]["feasibleNodes"]
    assert ("v1", "Pod") == tuple(yaml.safe_load(found["manifest"])[key] for key in ("apiVersion", "kind"))
    assert 3 == cluster.index.pod_count


@pytest.mark.parametrize("node", [pytest.param("na", id="bound"), pytest.param("", id="pending")])
def test_a_workload_of_which_only_pods_were_read(node: str) -> None:
    """One of its pods stands in for it, and that is said."""
    pod = a_pod(name="agent-1", owner=("apps/v1", "DaemonSet", "agent"), spec={"nodeName": node})
    found = _detail(a_page_cluster(*a_cluster(), pod), WorkloadRef("shop", "DaemonSet", "agent"))

    assert "agent-1" == yaml.safe_load(found["manifest"])["metadata"]["name"]
    assert [True] == ["agent-1" in note for note in found["notes"]]
    assert ([("agent-1", "na")] if node else []) == [(each["name"], each["node"]) for each in found["pods"]]


def test_what_the_api_server_would_refuse() -> None:
    """An invalid object is shown with its problems by line, and not explained."""
    broken = a_workload(spec={"topologySpreadConstraints": [{"maxSkew": 1}]})
    found = _detail(a_page_cluster(*a_cluster()[:3], broken))

    assert found["explain"] is None
    lines = found["manifest"].splitlines()
    assert {"maxSkew: 1"} == {lines[problem["line"] - 1].strip("- ") for problem in found["problems"]}


def test_a_live_workload() -> None:
    """It is fetched from the API server, which has more than was read; what is gone since is not made up."""
    fetched: list[WorkloadRef] = []

    def fetch(key: WorkloadRef) -> Mapping[str, Any] | None:
        fetched.append(key)
        return {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": 9}} if key == WEB else None

    cluster = a_page_cluster(*a_cluster(), fetch=fetch)

    assert 9 == yaml.safe_load(_detail(cluster)["manifest"])["spec"]["replicas"]
    with pytest.raises(ProblemsError) as raised:
        find_object(cluster, WorkloadRef("shop", "StatefulSet", "db"))
    assert raised.value.missing


def test_names_with_anything_in_them() -> None:
    """A snapshot may have names that no API server takes; they are found all the same."""
    name = "a</script>/../b?c=d#\u202e"
    client = a_client(*a_cluster()[:3], a_workload(name=name))
    answer = client.get(
        f"/api/workload?{urlencode({'kind': 'Deployment', 'namespace': 'shop', 'name': name})}"
    )

    assert 200 == answer.status_code
    assert name == yaml.safe_load((answer.json or {})["manifest"])["metadata"]["name"]

"""A small cluster behind the page's application, and a client that has its token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Thread
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from policies.config.context import AdmissionContext
from policies.model.workload_kinds import WorkloadKinds
from policies.model.workload_ref import WorkloadRef
from policies.scheduler.index import ClusterIndex
from tests.builders import a_constraint, a_node, a_pod, a_replica_set, a_workload
from webhook.listener import open_listener
from webhook.ui.app import create_page
from webhook.ui.cluster import ClusterObjects, PageCluster
from webhook.ui.embedded import BuiltFile
from webhook.ui.readings import PageState, Readings
from webhook.ui.server import LoopbackServer, PageAccess

TOKEN, PORT = "a-token", 4242
HOST = f"127.0.0.1:{PORT}"
FILES = {"index.html": BuiltFile(b"<!doctype html>", b"", "text/html; charset=utf-8")}

DEPLOYMENT = a_workload(spec={"topologySpreadConstraints": [a_constraint()]})
DEPLOYMENT["spec"]["replicas"] = 4
REPLICA_SET = a_replica_set(DEPLOYMENT, "aaa")
REPLICA_SET["spec"]["replicas"] = 4
_OWNER = ("apps/v1", "ReplicaSet", REPLICA_SET["metadata"]["name"])
_LABELS = REPLICA_SET["spec"]["template"]["metadata"]["labels"]


def a_replica(name: str, node: str = "") -> dict[str, Any]:
    """Return a pod of the Deployment, pending without a node."""
    spec = {"topologySpreadConstraints": [a_constraint()], **({"nodeName": node} if node else {})}
    pod = a_pod(name=name, labels=_LABELS, owner=_OWNER, spec=spec)
    condition = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}
    status: dict[str, Any] = {"phase": "Running"} if node else {"phase": "Pending", "conditions": [condition]}
    return pod | {"status": status}


def a_cluster() -> list[dict[str, Any]]:
    """Return three zones of one node, of which the last is cordoned; a pod of a Deployment is pending."""
    nodes = [a_node(f"n{zone}", zone, unschedulable=zone == "c") for zone in "abc"]
    pods = [
        a_replica("web-1", "na"),
        a_replica("web-2", "nb"),
        a_replica("web-3"),
        a_pod(name="bare", labels={"app": "tool"}),
    ]
    pods[-1]["spec"]["nodeName"] = "na"
    return [*nodes, *pods, DEPLOYMENT, REPLICA_SET]


def a_page_cluster(
    *objects: dict[str, Any], fetch: Callable[[WorkloadRef], Mapping[str, Any] | None] | None = None
) -> PageCluster:
    """Return a cluster of some objects, by default of ``a_cluster``."""
    index, kept = ClusterIndex(), ClusterObjects(WorkloadKinds())
    for obj in objects or a_cluster():
        kept(obj)
        assert not index.apply(obj)
    return PageCluster(
        context=AdmissionContext(policies=(), cluster=index),
        index=index,
        objects=kept,
        live=fetch is not None,
        name="cluster.json",
        read_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
        fetch=fetch,
    )


class PageClient:
    """Sends requests as the page does."""

    def __init__(
        self, state: PageState, files: Mapping[str, BuiltFile] = FILES, readings: Readings | None = None
    ) -> None:
        self.state = state
        self.raw: FlaskClient = create_page(
            readings or Readings(state), files, PageAccess(PORT, TOKEN)
        ).test_client()

    def get(self, path: str, **headers: str) -> TestResponse:
        """Send a request without a body."""
        return self.raw.get(path, headers={**_headers(), **headers})

    def post(self, path: str, body: Any, **headers: str) -> TestResponse:
        """Send a request with a body of JSON."""
        return self.raw.post(path, json=body, headers={**_headers(), **headers})


def _headers() -> dict[str, str]:
    return {"Host": HOST, "Authorization": f"Bearer {TOKEN}"}


def a_client(*objects: dict[str, Any]) -> PageClient:
    """Return a client of a page about some objects."""
    return PageClient(PageState.of(a_page_cluster(*objects)))


@contextmanager
def running(state: PageState) -> Iterator[int]:
    """Serve a page on a port of its own for as long as the block runs."""
    with open_listener("127.0.0.1:0") as listener:
        port = listener.getsockname()[1]
        access = PageAccess(port, TOKEN)
        server = LoopbackServer(listener, create_page(Readings(state), FILES, access), access.bears_token)
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield port
        finally:
            server.shutdown()
            thread.join()
            state.end()

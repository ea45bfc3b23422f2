"""Audit requests: what is read, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from planning.audit.run import AuditRun
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from tests.builders import a_constraint, a_node, a_pod, a_workload
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index
from webhook.requests.audit import audit_request
from webhook.requests.frame import RequestError

NODES = [a_node("n1", "a"), a_node("n2", "b")]
WEB = a_workload("StatefulSet", spec={"topologySpreadConstraints": [a_constraint()]})
PENDING = a_pod(name="web-9", owner=("apps/v1", "StatefulSet", "web"))
ITEMS = [*NODES, *on("n1", 3), WEB, PENDING]


def _audit(request: object, *own: dict[str, Any], after: int = 100, **options: Any) -> AuditRun:
    """Return the answer to a request, of a server whose time is over after some workloads."""
    workloads = ClusterWorkloads(WorkloadKinds(), **options)
    for obj in own:
        workloads(obj)
    asked = iter(range(after))
    return audit_request(
        request if isinstance(request, bytes) else orjson.dumps(request),
        AdmissionContext(policies=(), cluster=an_index(own) if own else None),
        workloads if own else None,
        now=datetime(2026, 7, 1, tzinfo=UTC),
        tool_version="1",
        stop=lambda: next(asked, None) is None,
    )


def _found(run: AuditRun) -> list[tuple[str, str, int]]:
    return [(each.kind, each.name, each.pending) for each in run.workloads]


@pytest.mark.parametrize("request_", [{}, {"cluster": None, "top": None, "namespace": None, "selector": ""}])
def test_own_cluster(request_: dict[str, Any]) -> None:
    """Without a cluster in the request, the server's own is audited."""
    run = _audit(request_, *ITEMS)

    assert [("StatefulSet", "web", 1)] == _found(run)
    assert (2, 3, 1, 0) == (run.cluster.nodes, run.cluster.pods, run.with_problems, run.left)


def test_given_cluster() -> None:
    """A List has workloads of kinds that a scheduler does not look at, too, and pods that wait."""
    deployment = a_workload("Deployment", name="api")
    run = _audit({"cluster": {"kind": "List", "items": [*ITEMS, deployment]}})

    assert {("StatefulSet", "web", 1), ("Deployment", "api", 0)} == set(_found(run))


def test_lists_of_a_cluster() -> None:
    """Workloads of a cluster by kind may leave out their kinds."""
    web = {name: value for name, value in WEB.items() if name not in ("apiVersion", "kind")}

    assert [("StatefulSet", "web", 0)] == _found(_audit({"cluster": {"nodes": NODES, "statefulSets": [web]}}))


def test_pending_pods_by_status() -> None:
    """Where pods without a node are not watched, the controller counts them."""
    run = _audit({}, *ITEMS[:-1], WEB | {"status": {"replicas": 5}}, bound_only=True, unread=("not all",))

    assert [("StatefulSet", "web", 2)] == _found(run)
    assert ("not all",) == run.cluster.unread


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        ({"namespace": "shop"}, 1),
        ({"namespace": "other"}, 0),
        ({"selector": "team!=a"}, 1),
        ({"selector": "team=a"}, 0),
    ],
)
def test_scope(request_: dict[str, Any], count: int) -> None:
    """Workloads are chosen by namespace and labels, in either cluster."""
    runs = [_audit(request_, *ITEMS), _audit(request_ | {"cluster": {"kind": "List", "items": ITEMS}})]

    assert [count, count] == [run.total for run in runs]
    assert (request_.get("namespace", ""), request_.get("selector", "")) == (
        runs[0].cluster.namespace,
        runs[0].cluster.selector,
    )


def test_time_is_over() -> None:
    """An answer has what was found until then, and says how much was not looked at."""
    others = [a_workload("StatefulSet", name=f"web-{number}") for number in range(4)]
    run = _audit({}, *ITEMS, *others, after=2)

    assert (2, 3) == (run.total, run.left)


def test_top() -> None:
    """An answer has the riskiest workloads alone."""
    run = _audit({"top": 1}, *ITEMS, a_workload("StatefulSet", name="z"))

    assert (1, 2) == (len(run.workloads), run.total)


@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        pytest.param({"top": 0}, ["top"], id="top 0"),
        pytest.param({"top": "1", "cluster": {}}, ["top"], id="a text"),
        pytest.param({"selector": "a b", "cluster": {}}, ["selector"], id="no selector"),
        pytest.param(
            {"namespace": 1, "more": 2, "cluster": {}}, ["more", "namespace"], id="unknown, wrong type"
        ),
        pytest.param({"cluster": {"nodes": [{}]}}, ["cluster.nodes[0].metadata.name"], id="a broken cluster"),
    ],
)
def test_refused(request_: dict[str, Any], fields: list[str]) -> None:
    """Every error of a request is found, with its path."""
    with pytest.raises(RequestError) as refused:
        _audit(request_)

    assert fields == [str(error.path) for error in refused.value.errors]

"""Requests and their placements: errors of every part at once."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from policies.config.context import AdmissionContext
from tests.builders import a_constraint, a_node, a_pod, a_workload
from tests.planning.verdicts import an_index
from tests.webhook.requests.bodies import a_body
from webhook.requests.frame import RequestError
from webhook.requests.score import place_request

SERVER = AdmissionContext(policies=())


def _paths(server: AdmissionContext = SERVER, **fields: Any) -> list[str]:
    with pytest.raises(RequestError) as caught:
        place_request(a_body(**fields), server)
    return [str(error.path) for error in caught.value.errors]


def test_own_cluster() -> None:
    """A request with its own cluster needs none of the server."""
    assert [False, True] == place_request(a_body(), SERVER).result.feasible.tolist()


def test_servers_cluster() -> None:
    """Without one, the server's is meant."""
    server = AdmissionContext(policies=(), cluster=an_index(a_node("n1", "a")))

    assert ("n1",) == place_request(a_body(cluster=None), server).result.names


def test_workload() -> None:
    """A workload is judged by the pod that its controller would make."""
    workload = a_workload(spec={"topologySpreadConstraints": [a_constraint()]})

    assert [False, True] == place_request(a_body(pod=workload), SERVER).result.feasible.tolist()


def test_no_cluster() -> None:
    """Without any cluster the request is refused, with whatever else is wrong with its pod."""
    broken = a_pod(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})

    assert ["cluster"] == _paths(cluster=None)
    assert ["cluster", "pod.spec.topologySpreadConstraints[0].maxSkew"] == _paths(cluster=None, pod=broken)
    assert ["x"] == _paths(x=1, cluster=None, pod=broken)


@pytest.mark.parametrize(
    ("pod", "path"),
    [
        pytest.param({"kind": "Deployment"}, "pod.kind", id="no apiVersion"),
        pytest.param({"apiVersion": "v1", "kind": "Secret"}, "pod.kind", id="holds no pod"),
        pytest.param({"apiVersion": [], "kind": {}}, "pod.kind", id="rubbish"),
        pytest.param(a_pod(spec={"containers": 3}), "pod.spec.containers", id="containers that are none"),
        pytest.param(
            a_workload(spec={"nodeSelector": 3}), "pod.spec.template.spec.nodeSelector", id="in a template"
        ),
    ],
)
def test_errors_of_the_pod(pod: dict[str, Any], path: str) -> None:
    """Errors of the pod are reported with their path in the request."""
    assert [path] == _paths(pod=pod)


@pytest.mark.parametrize("named", [{}, {"kind": "Pod"}], ids=["neither", "kind alone"])
def test_a_pod_may_leave_out_what_it_is(named: dict[str, str]) -> None:
    """As the objects of the cluster may: what is no workload is a pod."""
    pod = {**named, "metadata": {"name": "x"}, "spec": {"containers": [{"name": "c"}]}}
    body = orjson.dumps({"pod": pod, "cluster": {}})

    assert place_request(body, SERVER).workload.kind.is_pod


def test_pods_that_never_reach_a_scheduler() -> None:
    """A repeated constraint is judged as kube-scheduler would; with another mistake both are told."""
    twice = {"topologySpreadConstraints": [a_constraint(), a_constraint()]}
    wrong = {"topologySpreadConstraints": [a_constraint(), a_constraint(maxSkew=0)]}
    where = "pod.spec.topologySpreadConstraints"

    assert [False, True] == place_request(a_body(pod=a_pod(spec=twice)), SERVER).result.feasible.tolist()
    assert [f"{where}[0].{{topologyKey, whenUnsatisfiable}}", f"{where}[1].maxSkew"] == _paths(
        pod=a_pod(spec=wrong)
    )

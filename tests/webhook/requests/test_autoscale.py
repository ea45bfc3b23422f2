"""The field of simulate requests that lets Cluster Autoscaler add nodes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from planning.explain.explain import Explained
from planning.what_if import simulate_json
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from policies.scheduler.rejections import EXAMPLES
from tests.builders import a_constraint, a_node, a_workload
from webhook.requests.frame import RequestError
from webhook.requests.placement import GROUP_COST, MOST_WORK, POD_COST
from webhook.requests.score import explain_request
from webhook.requests.simulate import simulate_request

ZONE = "topology.kubernetes.io/zone"
SERVER = AdmissionContext(policies=())
GROUPS = {
    "apiVersion": "evenkeel.dev/v1alpha1",
    "kind": "NodeGroups",
    "groups": [
        {"name": zone, "zone": zone, "maxSize": 9, "size": 0, "allocatable": {"cpu": "4", "memory": "8Gi"}}
        for zone in "ab"
    ],
}
NODE_POOL = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"}}


def _request(**fields: Any) -> dict[str, Any]:
    web = a_workload("Deployment", spec={"topologySpreadConstraints": [a_constraint(topologyKey=ZONE)]})
    web["spec"]["replicas"] = 6
    container = web["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "3", "memory": "1Gi"}}
    return {"workload": web, "cluster": {"nodes": [a_node("n1", "a"), a_node("n2", "b")]}, **fields}


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = orjson.loads(
        simulate_json.render(simulate_request(orjson.dumps(request), SERVER, UNREAD_PODS))
    )
    return answer


@pytest.mark.parametrize("autoscale", [[GROUPS], "deduced"], ids=["documents", "deduced"])
def test_pending_replicas_get_nodes(autoscale: object) -> None:
    """The replicas that had no room get it on nodes of groups; without the field they stay pending."""
    answer = _answer(_request(autoscale=autoscale))
    zones = [node["zone"] for node in answer["autoscaled"]["nodes"]]

    assert answer["pending"] == 0
    assert {"a": 2, "b": 2} == {zone: zones.count(zone) for zone in zones}
    assert {"pending": 4, "autoscaled": None}.items() <= _answer(_request()).items()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"autoscale": "all"}, ["autoscale"], id="neither documents nor deduced"),
        pytest.param({"autoscale": []}, ["autoscale"], id="no document"),
        pytest.param({"autoscale": [3, {}]}, ["autoscale[0]", "autoscale[1]"], id="no objects"),
        pytest.param({"autoscale": [GROUPS, GROUPS]}, ["autoscale[1].kind"], id="two documents"),
        pytest.param(
            {"autoscale": [{**GROUPS, "groups": [{"name": "a", "maxSize": -1}]}]},
            ["autoscale[0].groups[0].allocatable", "autoscale[0].groups[0].maxSize"],
            id="all errors of a document",
        ),
        pytest.param(
            {"autoscale": "deduced", "cluster": {"nodes": []}}, ["autoscale"], id="no nodes to deduce from"
        ),
        pytest.param({"autoscale": [NODE_POOL]}, ["autoscale"], id="no instance type is known"),
        pytest.param({"autoscale": [GROUPS, NODE_POOL]}, ["autoscale[1].kind"], id="both autoscalers"),
    ],
)
def test_what_is_wrong(fields: dict[str, Any], expected: list[str]) -> None:
    """Every mistake is told at its place, at once."""
    with pytest.raises(RequestError) as caught:
        _answer(_request(**fields))

    assert expected == sorted(str(error.path) for error in caught.value.errors)


def _explain(**fields: Any) -> Explained:
    request = _request(**fields)
    request["pod"] = request.pop("workload")
    return explain_request(orjson.dumps(request), SERVER, UNREAD_PODS, None, EXAMPLES)


def test_explain() -> None:
    """The nodes for the first replica that does not fit; none without the field."""
    scaled = _explain(autoscale=[GROUPS]).autoscaled
    assert scaled is not None

    assert ["a-new-1"] == [node.name for node in scaled.scaled.nodes]
    assert scaled.step.node == "a-new-1"
    assert _explain().autoscaled is None


def test_what_is_wrong_with_an_explanation() -> None:
    """The field and the pod are told of at once."""
    with pytest.raises(RequestError) as caught:
        _explain(
            autoscale=[{"kind": "NodeClaim", "apiVersion": "karpenter.sh/v1"}], workload={"kind": "Shop"}
        )

    assert ["autoscale[0].kind", "pod.kind"] == [str(error.path) for error in caught.value.errors]


def test_fewer_pods_the_more_groups() -> None:
    """The bound on the cost of a request includes its node groups."""
    most = MOST_WORK // (2 + POD_COST + 2 * GROUP_COST)
    with pytest.raises(RequestError) as caught:
        _answer(_request(autoscale=[GROUPS], replicas=most + 1))

    assert "2 nodes and 2 node groups" in caught.value.message

"""The contract of ``/v1/simulate``, which programs from outside speak: requests, and their whole answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson
import pytest

from planning.what_if import simulate_json
from policies.config.context import AdmissionContext
from policies.model.topology_keys import ZONE
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import a_constraint, a_node, a_pod, a_workload
from webhook.requests.simulate import simulate_request

_OWNER: Final = ("apps/v1", "ReplicaSet", "web-1")


def _spread(kind: str = "DoNotSchedule") -> dict[str, Any]:
    return {"topologySpreadConstraints": [a_constraint(topologyKey=ZONE, whenUnsatisfiable=kind)]}


def _running(name: str, node: str, **spec: Any) -> dict[str, Any]:
    return a_pod(name=name, spec={"nodeName": node, **_spread(), **spec}, owner=_OWNER)


def _deployment(cpu: str = "100m", kind: str = "DoNotSchedule") -> dict[str, Any]:
    web = a_workload("Deployment", spec=_spread(kind))
    web["spec"]["replicas"] = 4
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return web


_NODES: Final = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]
_CLUSTER: Final = {"nodes": _NODES, "pods": [_running("p", "n1"), _running("q", "n2")]}
_QUEUED: Final = [a_pod(name=f"new-{number}", spec=_spread()) for number in range(3)]
_GROUPS: Final = {
    "apiVersion": "evenkeel.dev/v1alpha1",
    "kind": "NodeGroups",
    "groups": [
        {"name": zone, "zone": zone, "maxSize": 2, "size": 0, "allocatable": {"cpu": "4", "memory": "8Gi"}}
        for zone in "abc"
    ],
}
_ACTIONS: Final = [
    {"lose": {"topologyKey": ZONE, "value": "a"}},
    {"taint": {"node": "n2", "key": "team", "effect": "NoSchedule"}},
    {"add": {"count": 2, "like": "n2", "withoutTaints": ["team"]}},
    {"cordon": "n2"},
    {"drain": "n3"},
]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        pytest.param(
            "queue",
            {"queue": [*_QUEUED, a_pod(name="nowhere", spec={"nodeSelector": {ZONE: "d"}})]},
            id="pods one by one, of which some fit nowhere",
        ),
        pytest.param(
            "replicas", {"workload": _deployment(), "replicas": 3}, id="replicas beside those that run"
        ),
        pytest.param("missing", {"workload": _deployment()}, id="the replicas that are missing"),
        pytest.param(
            "seed",
            {"workload": _deployment(kind="ScheduleAnyway"), "replicas": 3, "seed": 7, "nodesToScore": 50},
            id="ties at random, and some nodes alone",
        ),
        pytest.param(
            "actions",
            {"queue": [a_pod(name="new", spec=_spread())], "actions": _ACTIONS},
            id="what happens to nodes first",
        ),
        pytest.param(
            "autoscale",
            {"workload": _deployment(cpu="3"), "replicas": 4, "autoscale": [_GROUPS]},
            id="nodes that an autoscaler adds",
        ),
        pytest.param(
            "release",
            {
                "queue": [a_pod(name="new", spec={"priority": 5})],
                "kubernetesVersion": "1.33",
                "defaults": {"defaultingType": "List", "defaultConstraints": []},
            },
            id="a release and defaults",
        ),
    ],
)
def test_answers(name: str, asked: dict[str, Any], golden: Callable[[str, str], str]) -> None:
    """Each answer is whole; read the golden file before agreeing to a difference."""
    body = orjson.dumps({"cluster": _CLUSTER, **asked})
    found = simulate_request(body, AdmissionContext(policies=()), UNREAD_PODS)
    answer = orjson.loads(simulate_json.render(found))
    text = orjson.dumps(answer, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()

    assert golden(f"simulate_{name}.json", text) == text

"""Simulate requests: what they say and what is wrong with them."""

from __future__ import annotations

from typing import Any, Final

import orjson
import pytest

from planning.simulation.events import NodeEvent
from planning.simulation.limits import MOST_PODS
from planning.simulation.simulated_queue import SimulationSettings
from planning.what_if import simulate_json
from policies.config.context import AdmissionContext
from policies.manifests.wire import dumps
from policies.model.topology_keys import ZONE
from policies.pods.known_pods import UNREAD_PODS
from policies.scheduler.evaluate import ADAPTIVE
from tests.builders import a_node, a_pod, a_workload
from tests.planning.verdicts import an_index
from webhook.requests.frame import RequestError, read_request
from webhook.requests.simulate import (
    SimulateRequest,
    simulate_request,
)

#: A server without anything.
SERVER: Final = AdmissionContext(policies=())


def _answer(request: dict[str, Any], server: AdmissionContext = SERVER) -> dict[str, Any]:
    answer: dict[str, Any] = orjson.loads(
        simulate_json.render(simulate_request(orjson.dumps(request), server, UNREAD_PODS))
    )
    return answer


#: A cluster with two zones, and a pod that is complete.
CLUSTER: Final = {"nodes": [a_node("n1", "a"), a_node("n2", "b")]}


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param({}, ["queue"], id="nothing to schedule"),
        pytest.param(
            {"queue": [a_pod()], "workload": a_workload(), "replicas": 1},
            ["workload", "replicas"],
            id="both",
        ),
        pytest.param({"queue": {}}, ["queue"], id="a queue that is no list"),
        pytest.param({"queue": [3, None]}, ["queue[0]", "queue[1]"], id="pods that are none"),
        pytest.param({"queue": [], "seed": 1.5}, ["seed"], id="a seed that is no integer"),
        pytest.param({"workload": {}, "replicas": True}, ["replicas", "workload"], id="an empty workload"),
        pytest.param({"queue": [], "replicas": -1, "seed": -1}, ["replicas", "seed"], id="numbers"),
        pytest.param({"queue": [], "replicas": 0}, ["replicas"], id="replicas of a queue"),
        pytest.param(
            {"workload": a_workload("Deployment"), "replicas": MOST_PODS + 1}, ["replicas"], id="too many"
        ),
        pytest.param(
            {"workload": a_workload("DaemonSet"), "replicas": 2}, ["workload.kind"], id="one pod a node"
        ),
        pytest.param({"queue": [], "runs": 0, "nodesToScore": 0}, ["runs", "nodesToScore"], id="too small"),
        pytest.param({"queue": [], "nodesToScore": "all"}, ["nodesToScore"], id="an unknown percentage"),
        pytest.param({"queue": [a_pod()] * 9, "runs": 10**6}, ["queue"], id="too many runs"),
        pytest.param({"queue": [], "action": []}, ["action"], id="an unknown field"),
        pytest.param({"queue": [], "actions": [{"drain": 3}]}, ["actions[0].drain"], id="a broken action"),
        pytest.param(
            {
                "queue": [],
                "actions": [
                    {"lose": {"topologyKey": "zone", "value": "x"}},
                    {"add": {"like": "n9"}},
                    {"drain": "n8"},
                ],
            },
            ["actions[0].lose.value", "actions[1].add.like", "actions[2].drain"],
            id="what the cluster does not have",
        ),
        pytest.param(
            {"queue": [], "rollout": True, "scale": 1, "scaleDown": True},
            ["rollout", "scale", "scaleDown"],
            id="what a scenario says",
        ),
        pytest.param(
            {"queue": [], "cluster": {"nodes": [{}]}}, ["cluster.nodes[0].metadata.name"], id="cluster"
        ),
    ],
)
def test_what_is_wrong(request_: dict[str, Any], expected: list[str]) -> None:
    """Every mistake is told at its place, at once."""
    with pytest.raises(RequestError) as caught:
        _answer({"cluster": CLUSTER} | request_)

    assert sorted(expected) == sorted(str(error.path) for error in caught.value.errors)


def test_no_cluster() -> None:
    """Where no cluster is connected, the request must bring one; an empty one is one."""
    with pytest.raises(RequestError) as caught:
        _answer({"queue": []})

    assert ["cluster"] == [str(error.path) for error in caught.value.errors]
    wanted_from = {"origin": "manifest", "source": ""}
    expected = {"wanted": 2, "wantedFrom": wanted_from, "placed": 0}
    assert expected == _answer({"workload": _two_replicas(), "cluster": {}})["replicas"]


def test_ties() -> None:
    """The first by name is taken, or with a seed any of the best: the same for the same seed."""
    request = {"workload": _two_replicas(), "replicas": 20, "cluster": CLUSTER}
    first, seeded = _answer(request), [_answer(request | {"seed": 7}) for _ in range(2)]
    nodes = [[step["node"] for step in answer["steps"]] for answer in (first, *seeded)]

    assert nodes[1] == nodes[2] != nodes[0]
    assert all(step["node"] == step["tied"][0] for step in first["steps"])
    assert all(step["node"] in step["tied"] for step in seeded[0]["steps"])


def test_nodes_to_score() -> None:
    """Where the scheduler looks at some nodes alone, so does the simulation, or says that it does not."""
    cluster = {"nodes": [a_node(f"n{number:03}", "abc"[number % 3]) for number in range(150)]}
    request = {"workload": _two_replicas(), "cluster": cluster}
    chosen: list[dict[str, Any]] = [{}, {"nodesToScore": "adaptive"}, {"nodesToScore": 80}]
    every, some, half = (_answer(request | fields) for fields in chosen)

    assert [150, 100, 120] == [answer["nodesToFind"] for answer in (every, some, half)]
    assert [150, 100, 120] == [answer["steps"][0]["feasible"] for answer in (every, some, half)]
    assert [1, 0, 0] == [
        sum("percentageOfNodesToScore" in entry for entry in answer["notLookedAt"])
        for answer in (every, some, half)
    ]


def test_runs() -> None:
    """With runs there is a distribution, always of random choices."""
    answer = _answer({"workload": _two_replicas(), "replicas": 1, "cluster": CLUSTER, "runs": 5})

    assert (0, 5, [{"pods": 0, "runs": 5}]) == (
        answer["seed"],
        answer["runs"]["done"],
        answer["runs"]["pending"],
    )


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"replicas": 5, "seed": 3, "runs": 2, "nodes_to_score": "adaptive"}, id="replicas"),
        pytest.param({"nodes_to_score": 30, "actions": [NodeEvent(drain="n1")]}, id="actions"),
    ],
)
def test_a_request_is_read_as_it_was_made(fields: dict[str, Any]) -> None:
    """A request of a command is read by the server as it was made."""
    request = SimulateRequest(workload=_two_replicas(), **fields)

    assert request == read_request(SimulateRequest, dumps(request))


@pytest.mark.parametrize(("given", "used"), [(None, None), ("adaptive", ADAPTIVE), (30, 30)])
def test_settings(given: Any, used: int | None) -> None:
    """The percentage of nodes is a number, of which one means that it depends on their number."""
    expected = SimulationSettings(seed=3, runs=2, percentage=used)

    assert expected == SimulateRequest(seed=3, runs=2, nodes_to_score=given).settings


def test_actions() -> None:
    """They happen before the pods are scheduled, and are told of; the cluster's own pods are known."""
    pods = [a_pod(name=name, spec={"nodeName": "n1"}, owner=("apps/v1", "ReplicaSet", name)) for name in "pq"]
    request = {
        "queue": [a_pod(name="new")],
        "cluster": CLUSTER | {"pods": pods},
        "actions": [{"lose": {"topologyKey": "zone", "value": "a"}}],
    }
    answer, without = _answer(request), _answer(request | {"actions": None})
    server = AdmissionContext(policies=(), cluster=an_index(*CLUSTER["nodes"], *pods))
    unknown = _answer({name: value for name, value in request.items() if name != "cluster"}, server)

    assert (None, "n2") == (without["whatIf"], without["steps"][0]["node"])
    assert ["n2", "n2"] == [entry["node"] for entry in answer["whatIf"]["displaced"]]
    assert "n2" == answer["steps"][0]["node"]
    assert [True, False] == [each["whatIf"]["podsKnown"] for each in (answer, unknown)]
    assert [0, 2] == [each["whatIf"]["notTried"] for each in (answer, unknown)]


@pytest.mark.parametrize(
    ("new", "old", "classes"),
    [
        pytest.param({"priority": 5}, {}, [], id="a priority"),
        pytest.param({"priorityClassName": "high"}, {}, [{"value": 5}], id="a class that is named"),
        pytest.param({}, {}, [{"value": 5, "globalDefault": True}], id="a default class alone"),
        pytest.param({}, {"priority": -5}, [], id="victims below 0"),
    ],
)
def test_evictions(new: Any, old: Any, classes: list[Any]) -> None:
    """A victim's replacement is known by the pods of the request's own cluster, and goes where it fits."""
    containers = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    spec = {"nodeName": "n1", "containers": containers, **old}
    running = a_pod(name="old", spec=spec, owner=("apps/v1", "ReplicaSet", "old"))
    pod = a_pod(name="new", spec={"nodeSelector": {ZONE: "a"}, "containers": containers, **new})
    named = [{"metadata": {"name": "high"}, **each} for each in classes]
    answer = _answer({"queue": [pod], "cluster": CLUSTER | {"pods": [running], "priorityClasses": named}})
    (step,), (evicted,) = answer["steps"], answer["evicted"]

    assert ("n1", ["shop/old"]) == (step["node"], step["evicted"])
    assert ("n1", "n2", "shop/new") == (evicted["lostNode"], evicted["node"], evicted["evictedFor"])


def test_actions_within_the_work_of_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of other workloads are scheduled again as long as a request may take."""
    monkeypatch.setattr("webhook.requests.placement.MOST_WORK", 1_003)
    pods = [a_pod(name=name, spec={"nodeName": "n1"}, owner=("apps/v1", "ReplicaSet", name)) for name in "pq"]
    answer = _answer({"queue": [], "cluster": CLUSTER | {"pods": pods}, "actions": [{"drain": "n1"}]})

    assert (1, 1) == (answer["whatIf"]["recovered"], answer["whatIf"]["notTried"])


def _two_replicas() -> dict[str, Any]:
    workload = a_workload("Deployment")
    return workload | {"spec": workload["spec"] | {"replicas": 2}}

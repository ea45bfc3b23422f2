"""Advise requests: what is read, answered and refused."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from planning.advise.advise import Advice
from policies.config.context import AdmissionContext
from policies.model.constraint import WhenUnsatisfiable
from policies.model.topology_keys import HOSTNAME
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import a_constraint, a_pod, a_workload
from tests.planning.goals import TEMPTING, THREE
from webhook.requests.advise import advise_request
from webhook.requests.frame import RequestError

AMOUNTS = {"cpu": "4", "memory": "8Gi"}
SERVER = AdmissionContext(policies=())


def _deployment(replicas: int = 3, **spec: Any) -> dict[str, Any]:
    obj = a_workload(spec=spec)
    obj["spec"]["replicas"] = replicas
    return obj


def _request(**fields: Any) -> dict[str, Any]:
    return {"workload": _deployment(), "loseAtMost": "1/3", "cluster": {"nodes": THREE}} | fields


def _advise(**fields: Any) -> Advice:
    return advise_request(orjson.dumps(_request(**fields)), SERVER, UNREAD_PODS, None)


def test_what_is_left_out() -> None:
    """The zone, and the workload's own number of replicas."""
    advice = _advise(workload=_deployment(8), cluster={"nodes": TEMPTING})

    assert (8, 8) == advice.goal.replicas[:2]
    assert advice.chosen is not None
    assert [WhenUnsatisfiable.SCHEDULE_ANYWAY] == [each.when_unsatisfiable for each in advice.chosen.wanted]


def test_what_is_given() -> None:
    """The whole goal, and the nodes that an autoscaler may add."""
    replicas = {"least": 3, "most": 4}
    hosts = _advise(topologyKey="hostname", oneANode=True, enforce=True, replicas=replicas)
    zones = _advise(cluster={"nodes": THREE[:2]}, nodes={"c": 1}, replicas=replicas)

    assert (HOSTNAME, True, True, (3, 4)) == (
        hosts.goal.key,
        hosts.goal.one_a_node,
        hosts.goal.enforced,
        hosts.goal.replicas[:2],
    )
    assert (True, 1) == (zones.is_met, zones.trial.added)


def _groups(**most: int) -> list[dict[str, Any]]:
    entries = [
        {"name": f"web-{zone}", "zone": zone, "size": 0, "maxSize": size, "allocatable": AMOUNTS}
        for zone, size in most.items()
    ]
    return [{"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroups", "groups": entries}]


@pytest.mark.parametrize(
    ("autoscale", "met", "added"),
    [
        pytest.param(_groups(c=1), True, 1, id="a group in the third zone"),
        pytest.param(_groups(c=0), False, 0, id="a group that is as large as it may be"),
        pytest.param(_groups(a=5), False, 0, id="a group in a zone that has a node"),
    ],
)
def test_node_groups(autoscale: list[dict[str, Any]], added: int, *, met: bool) -> None:
    """Nodes that may come are those of node groups, where they are given."""
    advice = _advise(cluster={"nodes": THREE[:2]}, autoscale=autoscale)

    assert (met, added) == (advice.is_met, advice.trial.added)


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        pytest.param({"loseAtMost": None}, ["loseAtMost"], id="no goal"),
        pytest.param(
            {"loseAtMost": None, "oneANode": True, "enforce": True}, ["enforce"], id="nothing to enforce"
        ),
        pytest.param(
            {"loseAtMost": 3, "oneANode": True, "enforce": True},
            ["loseAtMost"],
            id="what to enforce is no text",
        ),
        pytest.param({"loseAtMost": "4/3"}, ["loseAtMost"], id="no share"),
        pytest.param({"loseAtMost": 3}, ["loseAtMost"], id="no text"),
        pytest.param({"topologyKey": 3, "oneANode": 1}, ["oneANode", "topologyKey"], id="wrong types"),
        pytest.param({"topologyKey": "rack"}, ["topologyKey"], id="a key that no node has"),
        pytest.param({"replicas": {"least": 3}}, ["replicas.most"], id="half a range"),
        pytest.param({"replicas": {"least": 3, "most": 2}}, ["replicas.most"], id="no range"),
        pytest.param({"replicas": {"least": 1, "most": 1_000}}, ["replicas"], id="too much work"),
        pytest.param({"nodes": {"a": -1}}, ["nodes[a]"], id="no number of nodes"),
        pytest.param({"nodes": {"a": 1}, "autoscale": "deduced"}, ["autoscale"], id="both kinds of nodes"),
        pytest.param({"autoscale": [{"kind": "Node"}]}, ["autoscale[0].kind"], id="no node groups"),
        pytest.param(
            {"autoscale": "deduced", "topologyKey": "rack"},
            ["autoscale"],
            id="groups in no domain of the goal",
        ),
        pytest.param({"nodes": {"a": 5_000, "b": 1}}, ["nodes"], id="too many nodes"),
        pytest.param({"workload": None}, ["workload"], id="no workload"),
        pytest.param({"workload": a_pod()}, ["workload"], id="a Pod"),
        pytest.param({"cluster": None}, ["cluster"], id="no cluster"),
        pytest.param({"x": 1}, ["x"], id="an unknown field"),
        pytest.param(
            {"workload": _deployment(topologySpreadConstraints=[a_constraint(maxSkew=0)])},
            ["workload.spec.template.spec.topologySpreadConstraints[0].maxSkew"],
            id="what Kubernetes would refuse",
        ),
    ],
)
def test_what_is_refused(fields: dict[str, Any], paths: list[str]) -> None:
    """Every error has its field."""
    with pytest.raises(RequestError) as caught:
        _advise(**fields)

    assert paths == sorted(str(error.path) for error in caught.value.errors)

"""A verdict as JSON."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from planning.explain import score_json
from tests.builders import HOSTNAME, ZONE, a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.planning.verdicts import a_placement, on

NODES = [
    a_node("n1", "a"),
    a_node("n2", "a", taints=[{"key": "gpu", "value": "x", "effect": "NoSchedule"}], unschedulable=True),
    a_node("n3", "b"),
    a_node("n4"),
]
#: The pod's own constraints: two more pods in zone a than in zone b.
HARD = a_constraint()
OWNED = a_replica_set(a_workload(), "5d9")
SOFT = a_constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway")


def _rendered(*constraints: dict[str, Any], nodes: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    pod = a_pod(spec={"topologySpreadConstraints": list(constraints)})
    placement = a_placement(pod, *(NODES if nodes is None else nodes), *on("n1", 2))
    answer: dict[str, Any] = orjson.loads(score_json.render(placement))
    return answer


def _node(answer: dict[str, Any], name: str) -> dict[str, Any]:
    return next(node for node in answer["nodes"] if node["name"] == name)


def test_constraints() -> None:
    """A constraint has every field, the hard one a minimum and the soft one a weight; domains are sorted."""
    hard, soft = _rendered(HARD, SOFT)["constraints"]

    assert hard == {
        "origin": "pod",
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "maxSkew": 1,
        "minDomains": 1,
        "nodeAffinityPolicy": "Honor",
        "nodeTaintsPolicy": "Ignore",
        "selector": "app=web",
        "selfMatch": True,
        "globalMinimum": 0,
        "weight": None,
        "domains": [
            {"value": "a", "matching": 2, "nodes": 2},
            {"value": "b", "matching": 0, "nodes": 1},
        ],
    }
    assert soft["globalMinimum"] is None
    assert pytest.approx(1.0986, abs=1e-4) == soft["weight"]
    assert ["n1", "n2", "n3", "n4"] == [domain["value"] for domain in soft["domains"]]


@pytest.mark.parametrize(
    ("selector", "expected"), [(None, None), ({}, ""), ({"matchLabels": {"app": "web"}}, "app=web")]
)
def test_selectors(selector: Any, expected: str | None) -> None:
    """No selector is null, an empty one an empty text."""
    (constraint,) = _rendered(a_constraint(labelSelector=selector))["constraints"]

    assert expected == constraint["selector"]


def test_domains_that_do_not_exist() -> None:
    """A domain without an eligible node is left out, its node is checked all the same."""
    answer = _rendered(a_constraint(nodeTaintsPolicy="Honor"), nodes=[NODES[1], NODES[2]])

    assert [{"value": "b", "matching": 0, "nodes": 1}] == answer["constraints"][0]["domains"]
    assert ("a", 0, 1) == tuple(
        _node(answer, "n2")["checks"][0][key] for key in ("domain", "matching", "skew")
    )


def test_rejections() -> None:
    """Every plugin that refuses is told, in the order in which the scheduler asks them."""
    told = _node(_rendered(HARD), "n2")["rejections"]

    assert ["NodeUnschedulable", "TaintToleration", "PodTopologySpread"] == [
        entry["plugin"] for entry in told
    ]
    assert told[2] == {
        "plugin": "PodTopologySpread",
        "reason": "node(s) didn't match pod topology spread constraints",
        "code": "Unschedulable",
    }


def test_checks() -> None:
    """Hard constraints alone are checked, by position; without the key there is no domain and no skew."""
    answer = _rendered(SOFT, HARD)

    assert _node(answer, "n1")["checks"] == [
        {
            "constraint": 1,
            "domain": "a",
            "matching": 2,
            "selfMatch": 1,
            "globalMinimum": 0,
            "skew": 3,
            "maxSkew": 1,
            "satisfied": False,
        }
    ]
    (lacking,) = _node(answer, "n4")["checks"]
    assert (None, 0, None, False) == tuple(
        lacking[key] for key in ("domain", "matching", "skew", "satisfied")
    )
    assert _node(answer, "n3")["checks"][0]["satisfied"]


def test_scores() -> None:
    """Feasible nodes alone have scores."""
    answer = _rendered(HARD, SOFT)

    assert {"n1": (None, None), "n2": (None, None), "n3": (0, 100), "n4": (None, None)} == {
        node["name"]: (node["rawScore"], node["score"]) for node in answer["nodes"]
    }
    assert (1, "") == (answer["feasibleNodes"], answer["message"])


def test_no_scores() -> None:
    """Where nothing is scored, feasible nodes have no scores either."""
    answer = _rendered(HARD)

    assert ("Success", "Skip") == (answer["preFilter"], answer["preScore"])
    assert (True, None, None) == tuple(_node(answer, "n3")[key] for key in ("feasible", "rawScore", "score"))


def test_no_nodes() -> None:
    """A cluster without nodes has an answer, too."""
    answer = _rendered(HARD, SOFT, nodes=[])

    assert [] == answer["nodes"]
    assert "no nodes available to schedule pods" == answer["message"]


def test_keys() -> None:
    """The answer has these keys and no others, in this order."""
    answer = _rendered(HARD)

    assert [
        "kubernetesVersion",
        "judgedAs",
        "dropped",
        "revision",
        "preFilter",
        "preScore",
        "constraints",
        "nodes",
        "feasibleNodes",
        "best",
        "message",
        "condition",
        "preemption",
        "profile",
        "notModeled",
    ] == list(answer)
    assert [
        "name",
        "feasible",
        "rejections",
        "checks",
        "rawScore",
        "score",
        "plugins",
        "total",
    ] == list(answer["nodes"][0])


@pytest.mark.parametrize(
    ("obj", "cluster", "expected"),
    [
        pytest.param(a_workload(), [], {"hash": None, "new": True}, id="a new one"),
        pytest.param(
            a_workload(),
            [a_replica_set(a_workload(), "5d9")],
            {"hash": "5d9", "new": False},
            id="one that is there",
        ),
        pytest.param(a_pod(), [], None, id="a pod has none"),
    ],
)
def test_revision(
    obj: dict[str, Any], cluster: list[dict[str, Any]], expected: dict[str, Any] | None
) -> None:
    """A program learns which revision was judged."""
    assert expected == orjson.loads(score_json.render(a_placement(obj, *NODES, *cluster)))["revision"]

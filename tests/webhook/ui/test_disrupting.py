"""The whole cluster, what if: the answer says where each pod goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.webhook.cli.in_process import evenkeel
from tests.webhook.ui.pages import PageClient, a_client, a_cluster

ZONE = "topology.kubernetes.io/zone"
#: Positions of nodes and of the Deployment; where pods are that get no node.
NA, NB, NC, WEB, BARE, PENDING, FINAL = 0, 1, 2, 0, -1, -1, -2


def lose(zone: str, **more: Any) -> dict[str, Any]:
    """Return the action of a lost zone."""
    return {"lose": {"topologyKey": "zone", "value": zone, **more}}


def disrupt(*actions: dict[str, Any], client: PageClient | None = None) -> Any:
    """Return the answer on actions."""
    answer = (client or a_client()).post("/api/disrupt", {"actions": list(actions)})
    assert 200 == answer.status_code, answer.json
    return answer.json


def _running(found: dict[str, Any]) -> int:
    """Return how many pods of a workload run in the end."""
    left: int = found["runningBefore"] - found["lost"] - found["evicted"] + found["recovered"]
    return left


@pytest.mark.parametrize("zone", ["a", "b", "c"])
@pytest.mark.parametrize("option", ["", "--unreachable"])
def test_a_lost_zone_is_that_of_the_command(tmp_path: Path, zone: str, option: str) -> None:
    """Workloads lose and keep as many pods as what-if --lose says."""
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": a_cluster()}))
    words = ["what-if", "--lose", f"zone={zone}", "--cluster", str(cluster), "-o", "json"]
    words += filter(None, [option])
    outcome = json.loads(evenkeel(*words, folder=tmp_path).stdout)
    told = {
        each["name"]: (each["lost"], each["after"]) for each in outcome["workloads"] if each["kind"] != "Pod"
    }

    found = disrupt(lose(zone, unreachable=bool(option)))
    assert told == {each["name"]: (each["lost"], _running(each)) for each in found["result"]["workloads"]}


@pytest.mark.parametrize(
    ("actions", "moved", "verdict"),
    [
        pytest.param(
            [lose("a")],
            {(WEB, NA, PENDING), (BARE, NA, FINAL)},
            "does not survive the loss of a",
            id="a zone",
        ),
        pytest.param(
            [{"drain": "na"}],
            {(WEB, NA, PENDING), (BARE, NA, FINAL)},
            "not survive the drain of na",
            id="drain",
        ),
        pytest.param([{"cordon": "na"}], set(), "No pod loses its node by the cordon of na.", id="cordon"),
        pytest.param(
            [{"taint": {"node": "nb", "key": "gone", "effect": "NoExecute"}}],
            {(WEB, NB, PENDING)},
            "not survive the taint gone:NoExecute of nb",
            id="taint",
        ),
        pytest.param(
            [{"add": {"like": "nb"}}, {"drain": "nb"}],
            {(WEB, NB, 3)},
            "survives the addition of 1 node like nb, then the drain of nb",
            id="an added node takes the pod",
        ),
    ],
)
def test_where_pods_go(actions: list[dict[str, Any]], moved: set[tuple[int, int, int]], verdict: str) -> None:
    """Each pod that loses its node goes to another, stays pending, or is not replaced."""
    found = disrupt(*actions)
    columns = found["moved"]

    assert moved == set(zip(columns["workload"], columns["origin"], columns["node"], strict=True))
    assert verdict in found["verdict"]
    assert len(found["damages"]) == len(found["result"]["workloads"])


def test_the_worst_has_the_smallest_rank() -> None:
    """More pods that stay pending, then fewer, then none."""
    ranks = [disrupt(*actions)["rank"] for actions in ([lose("a"), lose("b")], [lose("a")], [lose("c")])]

    assert sorted(ranks) == ranks
    assert ranks[0] != ranks[1] != ranks[2]


def test_a_cluster_is_as_it_was_afterwards() -> None:
    """A domain lost for one answer is back for the next."""
    client = a_client()
    before = disrupt(lose("a"), client=client)
    disrupt({"drain": "nb"}, client=client)

    assert before == disrupt(lose("a"), client=client)


@pytest.mark.parametrize(
    ("actions", "field"),
    [
        pytest.param([lose("x")], "actions[0].lose.value", id="no such zone"),
        pytest.param([{"drain": "na"}, {"drain": "x"}], "actions[1].drain", id="no such node"),
        pytest.param([], "actions", id="nothing happens"),
    ],
)
def test_what_the_cluster_does_not_have(actions: list[dict[str, Any]], field: str) -> None:
    """It is named, and nothing is answered."""
    answer = a_client().post("/api/disrupt", {"actions": actions})

    assert 400 == answer.status_code
    assert [field] == [problem["field"] for problem in (answer.json or {})["problems"]]

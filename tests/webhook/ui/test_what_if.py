"""What if, on the page: the answer is that of the command, and says where each pod goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.webhook.cli.in_process import evenkeel
from tests.webhook.ui.pages import DEPLOYMENT, PageClient, a_client, a_cluster

#: Positions of nodes and of the Deployment; where pods are that get no node.
NA, NB, NC, WEB, BARE, PENDING, GONE = 0, 1, 2, 0, -1, -1, -2
WORKLOADS = [{"kind": "Deployment", "namespace": "shop", "name": "web"}]


def lose(zone: str, **more: Any) -> dict[str, Any]:
    """Return the event of a lost zone."""
    return {"lose": {"topologyKey": "zone", "value": zone, **more}}


def what_if(*events: dict[str, Any], client: PageClient | None = None, **more: Any) -> Any:
    """Return the answer on events."""
    answer = (client or a_client()).post("/api/what-if", {"events": list(events), **more})
    assert 200 == answer.status_code, answer.json
    return answer.json


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """The file of the cluster of the page."""
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": a_cluster()}))
    return file


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        pytest.param("--lose zone=a", {"events": [lose("a")]}, id="a lost zone"),
        pytest.param("--drain na", {"events": [{"drain": "na"}]}, id="a drain"),
        pytest.param("--lose-each zone", {"each": "zone"}, id="each zone"),
        pytest.param("--lose-each zone --unreachable", {"each": "zone", "unreachable": True}, id="an outage"),
        pytest.param("--uncordon nc", {"events": [{"uncordon": "nc"}]}, id="an uncordoned node"),
        pytest.param(
            "deploy/web -n shop --replicas 6",
            {"events": [{"scale": {**WORKLOADS[0], "to": 6}}], "workloads": WORKLOADS},
            id="a scale",
        ),
        pytest.param(
            "deploy/web -n shop --restart",
            {"events": [{"restart": WORKLOADS[0]}], "workloads": WORKLOADS},
            id="a restart",
        ),
    ],
)
def test_an_answer_is_that_of_the_command(cluster: Path, words: str, asked: dict[str, Any]) -> None:
    """Verdict and workloads are those of what-if, number by number."""
    done = evenkeel("what-if", *words.split(), "--cluster", str(cluster), "-o", "json", folder=cluster.parent)
    printed, found = json.loads(done.stdout), what_if(**{"events": [], **asked})["outcome"]

    for member in ("verdict", "workloads", "others", "nodes"):
        assert printed[member] == found[member]
    assert [each["verdict"] for each in printed["outcomes"]] == [
        each["verdict"] for each in found["outcomes"]
    ]


@pytest.mark.parametrize(
    ("events", "moved"),
    [
        pytest.param([lose("a")], {(WEB, NA, PENDING), (BARE, NA, GONE)}, id="a zone"),
        pytest.param([{"cordon": "na"}], set(), id="cordon"),
        pytest.param(
            [{"taint": {"node": "nb", "key": "gone", "effect": "NoExecute"}}],
            {(WEB, NB, PENDING)},
            id="taint",
        ),
        pytest.param(
            [{"add": {"like": "nb"}}, {"drain": "nb"}], {(WEB, NB, 3)}, id="an added node takes the pod"
        ),
    ],
)
def test_where_pods_go(events: list[dict[str, Any]], moved: set[tuple[int, int, int]]) -> None:
    """Each pod that loses its node goes to another, stays pending, or is not replaced."""
    (columns,) = what_if(*events)["moved"]

    assert moved == set(zip(columns["workload"], columns["origin"], columns["node"], strict=True))


def test_each_loss_says_where_pods_go() -> None:
    """As the loss alone does."""
    each = what_if(each="zone")
    for outcome, moved in zip(each["outcome"]["outcomes"], each["moved"], strict=True):
        (event,) = outcome["scenario"]["events"]
        assert [moved] == what_if(lose(event["lose"]["value"]))["moved"]


def test_an_edited_manifest_replaces_the_pods_that_run() -> None:
    """Its rollout is played with what waits, and the steps of its pods are named."""
    edited = json.dumps(DEPLOYMENT).replace("web:1", "web:2")
    found = what_if(manifest=edited, workloads=WORKLOADS)
    (web,) = found["outcome"]["workloads"]
    pods = [found["outcome"]["steps"][at]["pod"] for at in found["own"]["steps"]]

    assert "changed" == web["change"]
    assert ["web-3"] == found["own"]["waiting"]
    assert {"shop/web-3", "shop/web-next-1"} <= set(pods)
    assert len(found["outcome"]["steps"]) == len(pods)


def test_steps_of_others_are_not_its_own() -> None:
    """Of a loss the pod without a controller is another's."""
    found = what_if(lose("a"), workloads=WORKLOADS)
    steps = found["outcome"]["steps"]
    pods = {steps[at]["pod"] for at in found["own"]["steps"]}

    assert {"shop/web-1"} == pods
    assert "shop/bare" in {step["pod"] for step in steps}


def test_a_cluster_is_as_it_was_afterwards() -> None:
    """A domain lost for one answer is back for the next."""
    client = a_client()
    before = what_if(lose("a"), client=client)
    what_if({"drain": "nb"}, client=client)

    assert before == what_if(lose("a"), client=client)


@pytest.mark.parametrize(
    ("body", "field", "line"),
    [
        pytest.param({"events": [lose("x")]}, "events[0].lose.value", 0, id="no such zone"),
        pytest.param({"events": [{"drain": "na"}, {"drain": "x"}]}, "events[1].drain", 0, id="no such node"),
        pytest.param({"each": "nothing"}, "each", 0, id="no such key"),
        pytest.param({"manifest": "  "}, "manifest", 0, id="an empty manifest"),
        pytest.param({"manifest": "apiVersion: v1\nkind: [\n"}, "", 2, id="no YAML"),
    ],
)
def test_what_is_wrong_is_named(body: dict[str, Any], field: str, line: int) -> None:
    """By the field of the request, or by the line of the manifest; nothing is answered."""
    answer = a_client().post("/api/what-if", body)

    assert 400 == answer.status_code, answer.json
    assert [(field, line)] == [
        (problem["field"], problem["line"]) for problem in (answer.json or {})["problems"]
    ]

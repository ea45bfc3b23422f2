"""Every kind of what-if shows the numbers of the command that the page names for it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_page import SHOP, outcome_of, shows
from tests.webhook.cli.in_process import evenkeel
from tests.webhook.ui.pages import a_cluster

_ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
def shop(serve: Callable[..., str]) -> str:
    """The address of the page of the example cluster, to whose node groups an autoscaler may add nodes."""
    return serve(SHOP, "--autoscale", "deduced")


@pytest.mark.parametrize(
    ("workload", "changes"),
    [
        pytest.param("shop/web", [("replicas", "12")], id="3 more replicas"),
        pytest.param("shop/web", [("replicas", "6")], id="3 replicas fewer"),
        pytest.param("shop/web", [("replicas", "0")], id="no replicas"),
        pytest.param("search/indexer", [("replicas", "14")], id="some stay pending"),
        pytest.param("shop/web", [("do", f"lose:{_ZONE}:a")], id="a lost zone"),
        pytest.param("shop/web", [("do", f"outage:{_ZONE}:a")], id="an unreachable zone"),
        pytest.param("shop/web", [("do", "drain:node-a1")], id="a drained node"),
        pytest.param("shop/cart", [("do", "cordon:node-a1")], id="a cordoned node"),
        pytest.param("shop/web", [("do", "taint:node-a1:team:data:NoSchedule")], id="a taint"),
        pytest.param("shop/web", [("do", "taint:node-a1:team:data:NoExecute")], id="a taint that evicts"),
        pytest.param("search/indexer", [("do", "add:node-c1:2")], id="added nodes"),
        pytest.param(
            "search/indexer", [("do", "cordon:node-c1"), ("do", "uncordon:node-c1")], id="an uncordoned node"
        ),
        pytest.param(
            "search/indexer",
            [
                ("do", "taint:node-a1:team:data:NoSchedule"),
                ("do", "untaint:node-a1:team"),
                ("do", "taint:node-c1:team:data:NoSchedule"),
                ("do", "add:node-c1:1:team"),
            ],
            id="a removed taint, and an added node without one",
        ),
        pytest.param(
            "shop/checkout",
            [("do", f"lose:{_ZONE}:c"), ("do", "drain:node-b1"), ("replicas", "5")],
            id="a lost zone, a drained node and more replicas",
        ),
        pytest.param("search/indexer", [("replicas", "14"), ("new-nodes", "yes")], id="nodes that come"),
        pytest.param(
            "shop/web",
            [("do", f"lose:{_ZONE}:a"), ("new-nodes", "yes")],
            id="nodes that come for a lost zone",
        ),
        pytest.param("shop/web", [("replicas", "10"), ("new-nodes", "yes")], id="no node that comes"),
    ],
)
def test_a_what_if_is_that_of_its_command(
    page: Page, shop: str, workload: str, changes: list[tuple[str, str]]
) -> None:
    """Verdict and numbers, and the pods of each domain, are those of its JSON."""
    page.goto(f"{shop}#/workload/Deployment/{workload}?{urlencode([('tab', 'what-if'), *changes])}")
    expect(page.get_by_test_id("outcome")).to_be_visible()
    words = shlex.split(str(page.get_by_test_id("command").text_content()))
    done = evenkeel(*words[1:], "-o", "json", folder=SHOP.parent)
    answer = json.loads(done.stdout)

    shows(page, answer, workload.partition("/")[2])
    if "new-nodes" in dict(changes):
        coming = answer["nodes"]["added"]
        expect(page.get_by_test_id("new-nodes-text")).to_contain_text(
            f"{len(coming)} node" if coming else "No node comes"
        )
        assert bool(coming) is page.get_by_text("dashed: nodes that come").is_visible()


def test_nodes_come_by_a_switch(page: Page, shop: str) -> None:
    """Replicas that fit nowhere get nodes once a person lets them come, and lose them again."""
    page.goto(f"{shop}#/workload/Deployment/search/indexer?tab=what-if&replicas=30")
    pending = outcome_of(page, "pending")
    expect(pending).not_to_have_text("0")
    page.get_by_test_id("new-nodes").check()
    expect(page.get_by_test_id("new-nodes-text")).to_be_visible()
    expect(pending).to_have_text("0")
    assert "new-nodes=yes" in page.url
    page.get_by_test_id("reset").click()

    expect(page.get_by_test_id("new-nodes")).not_to_be_checked()
    expect(page.get_by_test_id("new-nodes-text")).to_be_hidden()


def test_nodes_come_after_a_loss_of_the_whole_cluster(page: Page, shop: str) -> None:
    """As many as in the answer of the command that the page names."""
    page.goto(f"{shop}#/cluster?{urlencode([('do', f'lose:{_ZONE}:b')])}")
    expect(page.get_by_test_id("new-nodes-text")).to_be_visible()
    words = shlex.split(str(page.get_by_test_id("cluster-command").text_content()))
    answer = json.loads(evenkeel(*words[1:], "-o", "json", folder=SHOP.parent).stdout)

    expect(page.get_by_test_id("new-nodes-text")).to_contain_text(f"{len(answer['nodes']['added'])} node")
    assert "deduced" in words


def test_a_suggested_change_of_the_cluster_is_tried(
    page: Page, serve: Callable[[Path], str], tmp_path: Path
) -> None:
    """The end of a cordon, on the button of its suggestion: a pod that is pending gets the node."""
    cluster = tmp_path / "cordoned.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": a_cluster()}))
    page.goto(f"{serve(cluster)}#/workload/Deployment/shop/web")
    suggestion = page.get_by_test_id("suggestions").get_by_role("listitem").filter(has_text="uncordon nc")
    suggestion.get_by_role("button", name="Try it").click()

    expect(page.get_by_test_id("actions")).to_contain_text("Uncordon nc")
    expect(page.get_by_test_id("command")).to_contain_text("--uncordon nc")
    expect(outcome_of(page, "after")).to_have_text("3")

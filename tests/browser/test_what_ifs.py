"""Every kind of what-if shows the numbers of the command that the page names for it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_page import SHOP, counts
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
        pytest.param("shop/web", [], id="as it is"),
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
        pytest.param("shop/web", [("new-nodes", "yes")], id="no node that comes"),
    ],
)
def test_a_what_if_is_that_of_its_command(
    page: Page, shop: str, workload: str, changes: list[tuple[str, str]]
) -> None:
    """Replicas with a node and without, and the pods of each domain, are those of its JSON."""
    page.goto(f"{shop}#/workload/Deployment/{workload}?{urlencode([('tab', 'what-if'), *changes])}")
    expect(page.get_by_test_id("after").get_by_test_id("outcome-facts")).to_be_visible()
    words = shlex.split(str(page.get_by_test_id("command").text_content()))
    done = evenkeel(*words[1:], "-o", "json", folder=SHOP.parent)
    answer = json.loads(done.stdout)

    after = page.get_by_test_id("after")
    ends = answer["ends"]
    assert str(ends["running"]) == after.get_by_test_id("fact-running").locator("dd").inner_text()
    assert str(ends["pending"]) == after.get_by_test_id("fact-pending").locator("dd").inner_text()
    if "new-nodes" in dict(changes):
        coming = len(answer["autoscaled"]["nodes"])
        assert str(coming) == after.get_by_test_id("fact-new-nodes").locator("dd").inner_text()
        assert (
            answer["newNodes"]
            == after.get_by_test_id("new-nodes-text").get_by_role("listitem").all_inner_texts()
        )
        assert (coming > 0) is page.get_by_text("dashed: nodes that come").is_visible()
    # Where replicas are scheduled besides, the end is after these.
    stages = answer["whatIf"]["domains"] if answer["whatIf"] else []
    expected = {each["constraint"]: each["recovered"] for each in stages}
    expected |= {each["constraint"]: each["after"] for each in answer["domains"]}
    for constraint, domains in expected.items():
        shown = counts(after.get_by_test_id(f"outcome-{constraint}"), 1)
        assert domains == {domain: shown[domain] for domain in domains}
    # Old words would be answered with a note on the new ones.
    assert b"renamed" not in done.stderr
    assert b" is now " not in done.stderr


def test_nodes_come_by_a_switch(page: Page, shop: str) -> None:
    """Replicas that fit nowhere get nodes once a person lets them come, and lose them again."""
    page.goto(f"{shop}#/workload/Deployment/search/indexer?tab=what-if&replicas=30")
    pending = page.get_by_test_id("after").get_by_test_id("fact-pending").locator("dd")
    expect(pending).not_to_have_text("0")
    page.get_by_test_id("new-nodes").check()
    expect(page.get_by_test_id("fact-new-nodes")).to_be_visible()
    expect(pending).to_have_text("0")
    assert "new-nodes=yes" in page.url
    page.get_by_test_id("reset").click()

    expect(page.get_by_test_id("new-nodes")).not_to_be_checked()
    expect(page.get_by_test_id("fact-new-nodes")).to_be_hidden()


def test_nodes_come_after_a_loss_of_the_whole_cluster(page: Page, shop: str) -> None:
    """The sentences under the verdict are those of the command that the page names."""
    page.goto(f"{shop}#/cluster?{urlencode([('do', f'lose:{_ZONE}:b')])}")
    shown = page.get_by_test_id("new-nodes-text").get_by_role("listitem")
    expect(shown.first).to_be_visible()
    arguments = f"survive {_ZONE}=b --all --cluster shop.json --autoscale deduced -o json".split()
    done = evenkeel(*arguments, folder=SHOP.parent)

    assert json.loads(done.stdout)["losses"][0]["result"]["newNodes"] == shown.all_inner_texts()
    expect(page.get_by_text("--autoscale deduced").first).to_be_attached()


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
    expect(page.get_by_test_id("after").get_by_test_id("fact-running").locator("dd")).to_have_text("4")

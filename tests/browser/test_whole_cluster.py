"""The whole cluster, what if: the map, the tray and the ranking say what survive --all says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.conftest import PATIENCE_MS
from tests.browser.test_page import SHOP, answer
from tests.planning.simulation.survive.cluster_losses import NODES, pods_with_volumes
from tests.webhook.ui.pages import a_cluster

ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
def shop(serve: Callable[[Path], str]) -> str:
    """The address of the page of the example cluster."""
    return serve(SHOP)


def lose(page: Page, zone: str) -> None:
    """Lose a zone as a person does: by its name at the map."""
    page.get_by_test_id("map-rows").get_by_role("button", name=zone, exact=True).click()
    page.get_by_test_id("domain-panel").get_by_test_id("act-lose").click()


@pytest.mark.parametrize("zone", ["a", "b", "c"])
def test_a_lost_zone_does_what_the_command_says(page: Page, shop: str, zone: str) -> None:
    """Verdict, numbers, the tray, and each workload in the command's order with its pods."""
    survival = answer("survive", f"{ZONE}={zone}", "--all")
    (loss,) = survival["losses"]
    result = loss["result"]
    page.goto(shop)
    lose(page, zone)

    expect(page.get_by_test_id("cluster-verdict")).to_contain_text(survival["verdict"])
    for fact, number in (
        ("nodes", loss["nodes"]),
        ("pods", loss["pods"]),
        ("recovered", result["recovered"]),
        ("stuck", result["pending"]),
    ):
        expect(page.get_by_test_id(f"fact-{fact}").locator("dd")).to_have_text(str(number))
    shown = [
        [row.locator("a").inner_text(), *map(int, row.locator("td.number").all_inner_texts())]
        for row in page.get_by_test_id("damage").all()
    ]
    assert shown == [
        [
            f"{each['kind']} {each['namespace']}/{each['name']}",
            each["runningBefore"],
            each["runningRightAfter"],
            each["runningInTheEnd"],
        ]
        for each in result["workloads"]
    ]
    stuck = [int(text) for text in page.get_by_test_id("stuck").locator("strong").all_inner_texts()]
    assert result["pending"] == sum(stuck)


def test_pods_that_wait_for_a_lost_volume(page: Page, serve: Callable[[Path], str], tmp_path: Path) -> None:
    """The tray names the volumes of the command's answer, and no other."""
    cluster = tmp_path / "cluster.json"
    items = [*NODES, *pods_with_volumes()]
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (loss,) = answer("survive", f"{ZONE}=a", "--all", cluster=cluster)["losses"]
    lost = [volume for each in loss["result"]["workloads"] for volume in each["lostVolumes"]]
    assert ["v-0"] == [each["volume"] for each in lost]
    page.goto(serve(cluster))
    lose(page, "a")

    shown = page.get_by_test_id("tray").get_by_test_id("lost-volumes").get_by_role("listitem")
    expect(shown).to_have_count(len(lost))
    expect(shown).to_contain_text("v-0, of claim data-0")


@pytest.mark.parametrize(
    ("button", "words"),
    [
        ("drain", "the drain of"),
        ("cordon", "the cordon of"),
        ("taint", "NoExecute of"),
        ("add", "addition of"),
    ],
)
def test_a_node_of_the_map(page: Page, shop: str, button: str, words: str) -> None:
    """The arrow keys and Enter open a node, and its buttons say what if."""
    page.goto(shop)
    page.get_by_test_id("cluster-map").press("Home")
    page.keyboard.press("Enter")
    page.get_by_test_id("node-panel").get_by_test_id(f"act-{button}").click()

    expect(page.get_by_test_id("cluster-verdict")).to_contain_text(words)
    expect(page.get_by_test_id("change-cluster")).to_be_focused()
    expect(page.get_by_test_id("node-panel")).to_have_count(0)


def test_it_is_undone_and_sent(page: Page, browser: Browser, shop: str) -> None:
    """Back takes the last action back; the address restores all of them."""
    page.goto(shop)
    lose(page, "a")
    lose(page, "b")
    expect(page.get_by_test_id("cluster-verdict")).to_contain_text("then the loss of b")
    with page.context.expect_page() as opened:
        page.evaluate("open(location.href)")
    opened.value.set_default_timeout(PATIENCE_MS)
    expect(opened.value.get_by_test_id("cluster-verdict")).to_contain_text("then the loss of b")
    page.go_back()

    expect(page.get_by_test_id("cluster-verdict")).to_contain_text("the loss of a (")
    page.get_by_test_id("reset-cluster").click()
    expect(page.get_by_test_id("cluster-verdict")).to_have_count(0)
    expect(page.get_by_test_id("tray")).to_have_count(0)


def test_what_is_gone_is_said_at_once_and_the_rest_can_be_cancelled(page: Page, shop: str) -> None:
    """The answer does not come: nodes and pods of the zone are known from the map."""
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route("**/api/disrupt", hold)
    page.goto(shop)
    lose(page, "b")

    expect(page.get_by_test_id("gone-now")).to_contain_text("4 nodes with 23 pods of 9 workloads")
    page.get_by_test_id("cancel").click()
    expect(page.get_by_test_id("disruption")).to_contain_text("Cancelled")
    expect(page.get_by_test_id("gone-now")).to_have_count(0)
    page.unroute("**/api/disrupt")


def test_an_error_leaves_no_other_answer(page: Page, shop: str) -> None:
    """Verdict, tray and ranking of an earlier action are gone."""
    page.goto(shop)
    lose(page, "a")
    expect(page.get_by_test_id("damaged")).to_be_visible()
    refused = json.dumps({"error": "the answer takes too long", "problems": []})[:-1]
    # A status of its own would be an error on the console, which the test would fail for.
    page.route("**/api/disrupt", lambda route: route.fulfill(status=200, body=refused))
    lose(page, "c")

    expect(page.get_by_test_id("error")).to_be_visible()
    for part in ("cluster-verdict", "damaged", "tray"):
        expect(page.get_by_test_id(part)).to_have_count(0)


def test_the_landing_says_what_is_wrong(page: Page, shop: str) -> None:
    """Pods without a node, and each risk of the audit with its workloads; each a link to them."""
    problems = [
        {problem["risk"] for problem in each["problems"] if problem["severity"] != "note"}
        for each in answer("audit")["workloads"]
    ]
    page.goto(shop)
    landing = page.get_by_test_id("landing")
    expect(landing).not_to_contain_text("audited so far")

    expect(page.get_by_test_id("landing-stuck")).to_contain_text("1 pod without a node")
    for risk in set().union(*problems):
        held = sum(risk in each for each in problems)
        expect(page.get_by_test_id(f"landing-{risk}")).to_contain_text(f"{held} workload")
    risk = min(set().union(*problems))
    page.get_by_test_id(f"landing-{risk}").click()
    expect(page.get_by_test_id("workload")).to_have_count(sum(risk in each for each in problems))


def test_the_landing_says_what_each_zone_would_cost(page: Page, shop: str) -> None:
    """The verdict of the command on each zone, what does not survive first; each a link to it on the map."""
    zones = [each["domain"] for each in answer("survive", "zone", "--all")["losses"]]
    verdicts = {zone: answer("survive", f"zone={zone}", "--all")["verdict"] for zone in zones}
    page.goto(shop)
    losses = page.get_by_test_id("landing-loss")
    expect(losses).to_have_count(len(zones))

    shown = losses.all_inner_texts()
    assert sorted(verdicts.values()) == sorted(shown)
    assert shown == sorted(shown, key=lambda text: "does not survive" not in text)
    losses.first.click()
    expect(page.get_by_test_id("cluster-verdict")).to_contain_text(shown[0])


def test_a_rack_that_takes_nothing_is_named_beside_zones(page: Page, shop: str) -> None:
    """No zone is closed, a rack is: its link shows the map by racks, and opens it."""
    page.goto(shop)
    page.get_by_test_id("landing-closed").click()

    expect(page.get_by_test_id("rows")).to_have_value("example.com/rack")
    expect(page.get_by_test_id("domain-panel")).to_contain_text("c1")


def test_a_zone_that_takes_nothing_is_named(page: Page, serve: Callable[[Path], str], tmp_path: Path) -> None:
    """Its only node is cordoned; the link opens it."""
    cluster = tmp_path / "cordoned.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": a_cluster()}))
    page.goto(serve(cluster))

    expect(page.get_by_test_id("landing")).to_contain_text("zone c: of 1 node 1 cordoned")
    page.get_by_test_id("landing-closed").click()
    expect(page.get_by_test_id("domain-panel")).to_contain_text("zone c")


def test_two_scenarios_stand_side_by_side(page: Page, shop: str) -> None:
    """One is named and kept, another made: each has its command's numbers, and the difference is said."""
    losses = [answer("survive", f"{ZONE}={zone}", "--all")["losses"][0] for zone in "ca"]
    page.goto(shop)
    lose(page, "c")
    expect(page.get_by_test_id("cluster-verdict")).to_be_visible()
    page.get_by_test_id("scenario-name").fill("without c")
    page.get_by_test_id("keep-scenario").click()
    expect(page.get_by_test_id("kept-scenario")).to_contain_text("without c is kept")
    lose(page, "a")

    for side, loss in zip(("kept", "shown"), losses, strict=True):
        shown = page.get_by_test_id(f"scenario-{side}")
        stuck = shown.get_by_test_id("fact-stuck").locator("dd")
        expect(stuck).to_have_text(str(loss["result"]["pending"]))
        expect(shown.get_by_test_id("fact-nodes").locator("dd")).to_have_text(str(loss["nodes"]))
    hit = {
        f"{found['namespace']}/{found['name']}" for loss in losses for found in loss["result"]["workloads"]
    }
    expect(page.get_by_test_id("compared-workload")).to_have_count(len(hit))
    expect(page.get_by_test_id("difference")).not_to_be_empty()
    page.reload()
    expect(page.get_by_test_id("scenario-kept")).to_contain_text("without c")
    page.get_by_test_id("swap-scenarios").click()
    expect(page.get_by_test_id("scenario-shown").get_by_test_id("fact-stuck").locator("dd")).to_have_text(
        str(losses[0]["result"]["pending"])
    )
    page.get_by_test_id("forget-scenario").click()

    expect(page.get_by_test_id("scenarios")).to_have_count(0)
    expect(page.get_by_test_id("cluster-verdict")).to_have_count(1)


@pytest.mark.parametrize(
    ("button", "words"),
    [
        ("act-uncordon", "the end of the cordon of nc"),
        ("act-new", "the addition of 1 node like nc without the taint team"),
        ("act-untaint", "the removal of the taint team:NoSchedule of nc"),
    ],
)
def test_a_node_is_freed(
    page: Page, serve: Callable[[Path], str], tmp_path: Path, button: str, words: str
) -> None:
    """A node that is cordoned and tainted has buttons that say what if it were not."""
    cluster = tmp_path / "cordoned.json"
    objects = a_cluster()
    objects[2]["spec"]["taints"] = [{"key": "team", "effect": "NoSchedule"}]
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    page.goto(serve(cluster))
    page.get_by_test_id("cluster-map").press("End")
    page.keyboard.press("Enter")
    page.get_by_test_id("node-panel").get_by_test_id(button).click()

    expect(page.get_by_test_id("cluster-verdict")).to_contain_text(words)

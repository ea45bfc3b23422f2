"""The whole cluster, what if: the map, the tray and the workloads say what what-if says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from planning.text.outcome import as_sentence
from tests.browser.conftest import PATIENCE_MS
from tests.browser.test_page import SHOP, answer
from tests.planning.losses import NODES, pods_with_volumes
from tests.webhook.ui.pages import a_cluster

ZONE = "topology.kubernetes.io/zone"
NUMBERS = ("wanted", "before", "lowest", "after", "pending")


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
    """Verdict, the pods that fit nowhere, and each workload in the command's order with its pods."""
    lost = answer("what-if", "--lose", f"{ZONE}={zone}")
    page.goto(shop)
    lose(page, zone)

    expect(page.get_by_test_id("verdict")).to_contain_text(as_sentence(lost["verdict"]["sentence"]))
    expect(page.get_by_test_id("workload-outcome")).to_have_count(len(lost["workloads"]))
    shown = [
        [
            row.locator("a").inner_text(),
            *(row.locator(f"[data-number={name}]").inner_text() for name in NUMBERS),
        ]
        for row in page.get_by_test_id("workload-outcome").all()
    ]
    assert shown == [
        [
            f"{each['kind']} {each['namespace']}/{each['name']}",
            *("–" if each[name] is None else str(each[name]) for name in NUMBERS),  # noqa: RUF001
        ]
        for each in lost["workloads"]
    ]
    stuck = [int(text) for text in page.get_by_test_id("stuck").locator("strong").all_inner_texts()]
    assert sum(each["pending"] for each in lost["workloads"]) == sum(stuck)


def test_pods_that_wait_for_a_lost_volume(page: Page, serve: Callable[[Path], str], tmp_path: Path) -> None:
    """They fit nowhere, with the reason of the command's answer."""
    cluster = tmp_path / "cluster.json"
    items = [*NODES, *pods_with_volumes()]
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    lost = answer("what-if", "--lose", f"{ZONE}=a", cluster=cluster)
    messages = {verdict["message"] for each in lost["workloads"] for verdict in each["verdicts"]} - {""}
    assert messages
    page.goto(serve(cluster))
    lose(page, "a")

    for message in messages:
        expect(page.get_by_test_id("tray")).to_contain_text(message)


@pytest.mark.parametrize(
    ("button", "words"),
    [
        ("drain", "Drain node-a1"),
        ("cordon", "Cordon node-a1"),
        ("taint", "Taint node-a1"),
        ("add", "Add 1 node like node-a1"),
    ],
)
def test_a_node_of_the_map(page: Page, shop: str, button: str, words: str) -> None:
    """The arrow keys and Enter open a node, and its buttons say what if."""
    page.goto(shop)
    page.get_by_test_id("cluster-map").press("Home")
    page.keyboard.press("Enter")
    page.get_by_test_id("node-panel").get_by_test_id(f"act-{button}").click()

    expect(page.get_by_test_id("actions")).to_contain_text(words)
    expect(page.get_by_test_id("verdict")).not_to_be_empty()
    expect(page.get_by_test_id("change-cluster")).to_be_focused()
    expect(page.get_by_test_id("node-panel")).to_have_count(0)


def test_it_is_undone_and_sent(page: Page, browser: Browser, shop: str) -> None:
    """Back takes the last action back; the address restores all of them."""
    page.goto(shop)
    lose(page, "a")
    lose(page, "b")
    expect(page.get_by_test_id("actions").locator("li")).to_have_count(2)
    with page.context.expect_page() as opened:
        page.evaluate("open(location.href)")
    opened.value.set_default_timeout(PATIENCE_MS)
    expect(opened.value.get_by_test_id("actions")).to_contain_text("Lose zone=b")
    page.go_back()

    expect(page.get_by_test_id("actions").locator("li")).to_have_count(1)
    expect(page.get_by_test_id("actions")).to_contain_text("Lose zone=a")
    page.get_by_test_id("reset-cluster").click()
    expect(page.get_by_test_id("landing")).to_be_visible()
    expect(page.get_by_test_id("tray")).to_have_count(0)


def test_what_is_gone_is_said_at_once_and_the_rest_can_be_cancelled(page: Page, shop: str) -> None:
    """The answer does not come: nodes and pods of the zone are known from the map."""
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route("**/api/what-if", hold)
    page.goto(shop)
    lose(page, "b")

    expect(page.get_by_test_id("gone-now")).to_contain_text("4 nodes with 23 pods of 9 workloads")
    page.get_by_test_id("cancel").click()
    expect(page.get_by_test_id("disruption")).to_contain_text("Cancelled")
    expect(page.get_by_test_id("gone-now")).to_have_count(0)
    page.unroute("**/api/what-if")


def test_an_error_leaves_no_other_answer(page: Page, shop: str) -> None:
    """Verdict, tray and workloads of an earlier action are gone."""
    page.goto(shop)
    lose(page, "a")
    expect(page.get_by_test_id("workloads")).to_be_visible()
    refused = json.dumps({"error": "the answer takes too long", "problems": []})[:-1]
    # A status of its own would be an error on the console, which the test would fail for.
    page.route("**/api/what-if", lambda route: route.fulfill(status=200, body=refused))
    lose(page, "c")

    expect(page.get_by_test_id("error")).to_be_visible()
    for part in ("verdict", "workloads", "tray"):
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
    """The matrix is that of the command, cell by cell; each zone is a link to its loss on the map."""
    each = answer("what-if", "--lose-each", "zone")
    losses = {loss["scenario"]["events"][0]["lose"]["value"]: loss for loss in each["outcomes"]}
    page.goto(shop)
    expect(page.get_by_test_id("verdict")).to_contain_text(as_sentence(each["verdict"]["sentence"]))
    expect(page.get_by_test_id("landing-loss")).to_have_count(len(losses))

    for row, found in zip(page.get_by_test_id("matrix-row").all(), each["workloads"], strict=True):
        cells = row.locator("td").all_inner_texts()[1:]
        for zone, text in zip(sorted(losses), cells, strict=True):
            own = [one for one in losses[zone]["workloads"] if one["name"] == found["name"]]
            numbers = list(dict.fromkeys(str(one[name]) for one in own for name in ("lowest", "after")))
            assert text.startswith(" → ".join(numbers) if own else "none")
    page.get_by_test_id("landing-loss").first.click()
    sentence = as_sentence(losses[min(losses)]["verdict"]["sentence"])
    expect(page.get_by_test_id("verdict")).to_contain_text(sentence)
    expect(page.get_by_test_id("workload-outcome").first).to_be_visible()


def test_a_cell_of_the_landing_is_the_workload_in_that_loss(page: Page, shop: str) -> None:
    """It opens with the loss, and says what becomes of it there."""
    page.goto(shop)
    page.get_by_test_id("matrix-row").filter(has_text="api").get_by_role("link", name="0 → 4").click()

    expect(page.get_by_test_id("workload-title")).to_contain_text("api")
    expect(page.get_by_test_id("actions")).to_contain_text("Lose zone=b")
    alone = answer("what-if", "deploy/api", "-n", "payments", "--lose", "zone=b")
    expect(page.get_by_test_id("verdict")).to_contain_text(as_sentence(alone["verdict"]["sentence"]))


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
    """One is named and kept, another made: each has its command's verdict, and the difference is said."""
    losses = [answer("what-if", "--lose", f"{ZONE}={zone}") for zone in "ca"]
    page.goto(shop)
    lose(page, "c")
    expect(page.get_by_test_id("workloads")).to_be_visible()
    page.get_by_test_id("scenario-name").fill("without c")
    page.get_by_test_id("keep-scenario").click()
    expect(page.get_by_test_id("kept-scenario")).to_contain_text("without c is kept")
    lose(page, "a")

    for side, loss in zip(("kept", "shown"), losses, strict=True):
        verdict = page.get_by_test_id(f"scenario-{side}").get_by_test_id("verdict")
        expect(verdict).to_contain_text(as_sentence(loss["verdict"]["sentence"]))
    hit = {f"{found['namespace']}/{found['name']}" for loss in losses for found in loss["workloads"]}
    expect(page.get_by_test_id("compared-workload")).to_have_count(len(hit))
    expect(page.get_by_test_id("difference")).not_to_be_empty()
    page.reload()
    expect(page.get_by_test_id("scenario-kept")).to_contain_text("without c")
    page.get_by_test_id("swap-scenarios").click()
    expect(page.get_by_test_id("scenario-shown").get_by_test_id("verdict")).to_contain_text(
        as_sentence(losses[0]["verdict"]["sentence"])
    )
    page.get_by_test_id("forget-scenario").click()

    expect(page.get_by_test_id("scenarios")).to_have_count(0)
    expect(page.get_by_test_id("verdict")).to_have_count(1)


@pytest.mark.parametrize(
    ("button", "words"),
    [
        ("act-uncordon", "Uncordon nc"),
        ("act-new", "Add 1 node like nc without the taint team"),
        ("act-untaint", "Remove from nc the taint team:NoSchedule"),
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

    expect(page.get_by_test_id("actions")).to_contain_text(words)
    expect(page.get_by_test_id("verdict")).not_to_be_empty()

"""The page is used on small screens and large clusters: what is looked for is in view, whole, and named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.test_page import SHOP, open_workload
from tests.builders import a_constraint, a_node, a_pod, a_workload
from tests.webhook.ui.pages import a_cluster


@pytest.fixture
def shop(serve: Callable[[Path], str]) -> str:
    """The address of the page of the example cluster."""
    return serve(SHOP)


def write(path: Path, objects: list[dict[str, Any]]) -> Path:
    """Write a snapshot."""
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return path


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three zones of 400 nodes, and a zone without a name of one."""
    nodes = [a_node(f"{zone}-{number}", zone) for zone in "abc" for number in range(400)]
    pod = a_pod(name="bare", labels={"app": "tool"})
    pod["spec"]["nodeName"] = "a-0"
    return write(tmp_path_factory.mktemp("wide") / "wide.json", [*nodes, a_node("nameless", ""), pod])


def test_a_scrolled_map_says_where_it_is(page: Page, serve: Callable[[Path], str], wide: Path) -> None:
    """Every row can be jumped to, and the one in view is marked."""
    page.goto(serve(wide))
    rows = page.get_by_test_id("map-rows").get_by_role("button")
    expect(rows).to_have_text(["(empty)", "a", "b", "c"])
    rows.nth(3).click()

    expect(rows.nth(3)).to_have_attribute("aria-current", "true")
    expect(page.get_by_test_id("map-rows").locator("[aria-current=true]")).to_have_count(1)


def in_view(page: Page, part: Locator) -> bool:
    """Return whether a part of the page is within the window from top to bottom."""
    box, window = part.bounding_box(), page.viewport_size
    return bool(box and window) and box["y"] >= 0 and box["y"] + box["height"] <= window["height"]  # type: ignore[index]


@pytest.mark.parametrize(("width", "height", "numbers"), [(1024, 768, "verdict"), (390, 844, "glance")])
def test_numbers_are_in_view_while_the_slider_is_moved(
    page: Page, shop: str, width: int, height: int, numbers: str
) -> None:
    """Controls fill the first screen of a phone: the numbers stay at its top."""
    page.set_viewport_size({"width": width, "height": height})
    open_workload(page, shop, "web", "what-if")
    slider = page.get_by_test_id("replicas")
    slider.scroll_into_view_if_needed()
    slider.press("ArrowRight")

    shown = page.get_by_test_id(numbers)
    expect(shown).to_contain_text("10")
    assert in_view(page, slider)
    assert in_view(page, shown)


def test_an_open_constraint_is_not_cut(page: Page, shop: str) -> None:
    """The form scrolls with the page, and in no window of its own."""
    page.set_viewport_size({"width": 1440, "height": 700})
    open_workload(page, shop, "web", "what-if")
    page.get_by_text("Constraint", exact=True).click()
    expect(page.get_by_test_id("max-skew-0")).to_be_visible()

    cut = "controls => controls.scrollHeight > controls.clientHeight + 1"
    assert not page.locator(".controls").evaluate(cut)


@pytest.mark.parametrize("width", [1440, 390])
def test_numbers_are_never_cut(page: Page, serve: Callable[[Path], str], tmp_path: Path, width: int) -> None:
    """Large numbers of replicas, and what is missing, are read whole in the list."""
    large = a_workload(
        name="large", labels={"app": "large"}, spec={"topologySpreadConstraints": [a_constraint()]}
    )
    large["spec"]["replicas"] = 150_000
    cluster = write(tmp_path / "large.json", [*a_cluster(), large])
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(serve(cluster))
    page.get_by_test_id("nav-workloads").click()
    expect(page.locator("[data-name$='/large']")).to_be_visible()

    cut = """cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth + 1)
        .map(cell => cell.innerText)"""
    assert [] == page.locator(".w-pods, .skew-words, .w-risk .badge, .w-room").evaluate_all(cut)


def test_the_focus_returns_from_a_node(page: Page, shop: str) -> None:
    """Escape closes the node, and the arrow keys move on in the map."""
    page.goto(shop)
    node_map = page.get_by_test_id("cluster-map")
    node_map.focus()
    node_map.press("Enter")
    expect(page.get_by_test_id("node-panel")).to_be_visible()
    page.keyboard.press("Escape")

    expect(page.get_by_test_id("node-panel")).to_have_count(0)
    expect(node_map).to_be_focused()


def test_the_hint_of_a_pod_goes_with_what_it_is_of(page: Page, shop: str) -> None:
    """Other rows move everything below the pointer: the hint would be of another node."""
    page.goto(shop)
    node_map = page.get_by_test_id("cluster-map")
    node_map.hover(position={"x": 200, "y": 30})
    expect(page.locator(".tip")).to_be_visible()
    page.get_by_test_id("rows").select_option("kubernetes.io/hostname")

    expect(page.locator(".tip")).to_have_count(0)


def test_a_picture_of_the_map_says_what_it_shows(page: Page, shop: str) -> None:
    """It has a title, cluster and release, and what each color stands for."""
    page.goto(shop)
    page.get_by_test_id("save-map").click()
    with page.expect_download() as download:
        page.get_by_test_id("save-svg").click()
    picture = Path(download.value.path()).read_text("utf-8")

    for words in (
        "Pods by topology.kubernetes.io/zone",
        "shop.json",
        "Kubernetes 1.",
        "shop/web 9",
        "all other",
    ):
        assert words in picture, words


def test_pending_pods_have_a_sentence(page: Page, shop: str) -> None:
    """It says who holds the minimum, why no node there takes the pod, and whom that stops."""
    page.goto(shop)
    page.get_by_test_id("nav-pending").click()

    sentence = page.get_by_test_id("pending-group").first.locator("strong").first
    expect(sentence).to_contain_text("have none of these pods and do not take one (2 tainted")
    expect(sentence).to_contain_text("may not take a second (maxSkew 1).")


def test_a_link_says_where_it_opens(page: Page, shop: str) -> None:
    """It is of this machine, and has the token: who wants to send something sends a file."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_workload(page, shop, "web")
    page.get_by_test_id("copy-link").click()

    expect(page.get_by_test_id("link-note")).to_contain_text("on this machine")
    expect(page.get_by_test_id("link-note")).to_contain_text("save the view")


@pytest.mark.parametrize(
    ("text", "node", "highlighted"),
    [
        pytest.param("node-b2", "node-b2", [], id="a node"),
        pytest.param("web-07f9c4d7f9-00003", "node-b1", [re.compile("web")], id="a pod"),
    ],
)
def test_what_an_alert_names_is_found(
    page: Page, address: str, text: str, node: str, highlighted: list[re.Pattern[str]]
) -> None:
    """From any view a node is found, and a pod on its node with its workload highlighted on the map."""
    page.goto(address)
    page.get_by_test_id("nav-workloads").click()
    page.get_by_test_id("search").fill(text)
    page.get_by_test_id("found").get_by_role("option").filter(has_text=node).first.click()

    title = page.get_by_test_id("node-panel").get_by_role("heading").first
    expect(title).to_have_text(node)
    expect(page.locator(".legend [aria-pressed=true]")).to_have_text(highlighted)
    page.reload()
    expect(title).to_have_text(node)
    page.go_back()
    expect(page.get_by_test_id("workloads")).to_be_visible()


def test_a_workload_is_found_by_the_keyboard(page: Page, address: str) -> None:
    """On the map it is highlighted, elsewhere it opens, and what waits opens its workload."""
    page.goto(address)
    page.get_by_test_id("search").fill("ledger")
    page.get_by_test_id("search").press("Enter")
    expect(page.locator(".legend [aria-pressed=true]")).to_contain_text("ledger")
    page.get_by_test_id("nav-pending").click()
    page.get_by_test_id("search").fill("shop cart")
    page.get_by_test_id("search").press("Enter")

    expect(page.get_by_test_id("workload-title")).to_contain_text("cart")


def test_pending_pods_are_filtered(page: Page, serve: Callable[[Path], str], tmp_path: Path) -> None:
    """By workload or pod, and what is left is counted."""
    page.goto(serve(write(tmp_path / "waiting.json", [*a_cluster(), a_pod(name="single")])))
    page.get_by_test_id("nav-pending").click()
    groups = page.get_by_test_id("pending-group")
    expect(groups).to_have_count(2)
    page.get_by_test_id("filter-pending").fill("web-3")
    expect(groups).to_have_count(1)
    page.get_by_test_id("filter-pending").fill("nowhere")

    expect(groups).to_have_count(0)
    expect(page.get_by_text("No pending pod is left by this filter.")).to_be_visible()


def test_a_file_is_asked_for_once(page: Page, address: str) -> None:
    """A snapshot does not change by itself: no minute of looking at it sends a request."""
    asked: list[str] = []
    page.clock.install()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    expect(page.get_by_test_id("refresh")).to_be_visible()
    page.get_by_test_id("landing-loss").first.wait_for()
    page.wait_for_load_state("networkidle")
    before = len(asked)
    page.clock.run_for(60_000)
    page.wait_for_load_state("networkidle")

    assert [] == asked[before:]
    assert 1 == sum("/api/reading" in url for url in asked)

"""What a person takes along: any view as one file, and a state that others open over their own cluster."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect


def saved(page: Page, folder: Path, *, menu: str = "", item: str) -> Path:
    """Save a view as a file."""
    if menu:
        page.get_by_test_id(menu).click()
    with page.expect_download() as download:
        page.get_by_test_id(item).click()
    file = folder / "view.html"
    download.value.save_as(file)
    return file


class View(NamedTuple):
    """A view: its address, what it waits for, the menu and the item that save it, and words of the file."""

    fragment: str
    awaited: str
    menu: str
    item: str
    words: str


_TWO = "#/cluster?do=lose:topology.kubernetes.io%2Fzone:b&kept-name=Drill&kept=drain:node-a1"
_NODES = "#/workload/Deployment/search/indexer?tab=nodes"


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(
            View("#/cluster", "landing-loss", "save-map", "save-map-html", "does not survive"), id="landing"
        ),
        pytest.param(View(_TWO, "difference", "save-map", "save-map-html", "Drill"), id="two scenarios"),
        pytest.param(View("#/workloads", "save-view", "", "save-view", "catalog"), id="workloads"),
        pytest.param(
            View("#/pending", "first-fix", "", "save-view", "10 → 11 replicas fit"), id="pending pods"
        ),
        pytest.param(View(_NODES, "verdicts", "save", "save-report", "node-c3"), id="nodes"),
    ],
)
def test_any_view_is_one_file(page: Page, address: str, tmp_path: Path, view: View) -> None:
    """It opens from the disk with cluster and time, sends no request, and has no more than it showed."""
    page.goto(f"{address}{view.fragment}")
    page.get_by_test_id(view.awaited).first.wait_for()
    if view.awaited == "landing-loss":
        expect(page.get_by_test_id("landing-loss")).to_have_count(3)
    file = saved(page, tmp_path, menu=view.menu, item=view.item)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())

    expect(page.get_by_test_id("report-about")).to_contain_text("Cluster shop.json")
    expect(page.locator("main")).to_contain_text(view.words)
    expect(page.get_by_test_id("error")).to_have_count(0)
    assert all(url.startswith(("file:", "blob:", "data:")) for url in requests), requests
    page.get_by_test_id("nav-workloads").click()
    page.get_by_test_id("nav-pending").click()
    if "pending" not in view.fragment:
        expect(page.get_by_test_id("error")).to_contain_text("does not have that")


def test_what_was_sent_opens_over_ones_own_cluster(page: Page, address: str, tmp_path: Path) -> None:
    """A saved file and a link show the same of this cluster; what it does not have is named."""
    page.goto(f"{address}#/cluster?do=drain:node-a1&highlight=Deployment%2Fshop%2Fgone")
    expect(page.get_by_test_id("missing")).to_contain_text("shop/gone")
    page.get_by_test_id("cluster-verdict").wait_for()
    file = saved(page, tmp_path, menu="save-map", item="save-map-html")
    page.goto(address)
    page.get_by_test_id("nav-workloads").click()
    page.get_by_test_id("open-manifest").locator("summary").click()
    page.get_by_test_id("chosen").set_input_files(file)
    expect(page.get_by_test_id("cluster-verdict")).to_contain_text("the drain of node-a1")
    page.get_by_test_id("nav-workloads").click()
    page.get_by_test_id("open-manifest").locator("summary").click()
    page.get_by_test_id("pasted").fill("http://127.0.0.1:1/?token=other#/cluster?do=cordon:node-b1")
    page.get_by_test_id("open-pasted").click()

    expect(page.get_by_test_id("cluster-verdict")).to_contain_text("the cordon of node-b1")

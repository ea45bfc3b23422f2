"""Saved views: any view as one file, and a state that others open over their own cluster."""

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
            View("#/cluster", "landing-loss", "save-map", "save-map-html", "may not be lost"), id="landing"
        ),
        pytest.param(View(_TWO, "difference", "save-map", "save-map-html", "Drill"), id="two scenarios"),
        pytest.param(View("#/workloads", "save", "save", "save-view", "catalog"), id="workloads"),
        pytest.param(
            View("#/pending", "first-fix", "save", "save-view", "10 → 11 replicas fit"), id="pending pods"
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
    page.get_by_test_id("verdict").wait_for()
    file = saved(page, tmp_path, menu="save-map", item="save-map-html")
    page.goto(address)
    page.get_by_test_id("nav-workloads").click()
    page.get_by_test_id("open-manifest").locator("summary").click()
    page.get_by_test_id("chosen").set_input_files(file)
    expect(page.get_by_test_id("actions")).to_contain_text("Drain node-a1")
    page.get_by_test_id("nav-workloads").click()
    page.get_by_test_id("open-manifest").locator("summary").click()
    page.get_by_test_id("pasted").fill("http://127.0.0.1:1/?token=other#/cluster?do=cordon:node-b1")
    page.get_by_test_id("open-pasted").click()

    expect(page.get_by_test_id("actions")).to_contain_text("Cordon node-b1")


class Drawn(NamedTuple):
    """A view that is pictured: what it waits for, the menu and its item, and words of the picture."""

    fragment: str
    awaited: str
    menu: str
    item: str
    words: tuple[str, ...]


_WEB = "#/workload/Deployment/shop/web"
_TIME = "Cluster shop.json of 20"


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(
            Drawn(
                "#/workloads",
                "save",
                "save",
                "save",
                ("Workloads", "with a risk", "✕ maxSkew violated", "zone 5 of 1"),
            ),
            id="workloads",
        ),
        pytest.param(
            Drawn(
                "#/workloads?filter=cart", "save", "save", "save", ("Filter: cart", "Deployment shop/cart")
            ),
            id="workloads, filtered",
        ),
        pytest.param(
            Drawn(
                "#/pending",
                "pending-group",
                "save",
                "save",
                ("1 pod without a node", "✕ 1 pod", "search/indexer"),
            ),
            id="pending pods",
        ),
        pytest.param(
            Drawn(
                _NODES,
                "verdicts",
                "save",
                "save",
                ("0 of 12 nodes take", "✕ refuses", "maxSkew 1", "node-c3"),
            ),
            id="nodes",
        ),
        pytest.param(
            Drawn(
                f"{_WEB}?tab=rollout",
                "skew-chart",
                "save",
                "save",
                ("shop/web restarts and all 9 run", "skew 3, above maxSkew 1", "skew by step"),
            ),
            id="rollout",
        ),
        pytest.param(
            Drawn(f"{_WEB}?tab=what-if&replicas=12", "outcome", "save", "save", ("12 replicas", "shop/web")),
            id="what if",
        ),
        pytest.param(
            Drawn("#/cluster", "landing-loss", "save-map", "save", ("Pods by topology.kubernetes.io/zone",)),
            id="map",
        ),
        pytest.param(
            Drawn(
                _TWO,
                "difference",
                "save-map",
                "save",
                ("What if: Lose zone=b", "search/indexer stays 4 short"),
            ),
            id="map of a what-if",
        ),
        pytest.param(
            Drawn(
                _TWO,
                "difference",
                "save-map",
                "both",
                ("Two scenarios", "Drill: ", "is worse", "pods pending"),
            ),
            id="two scenarios",
        ),
    ],
)
def test_any_view_is_a_picture(page: Page, address: str, tmp_path: Path, view: Drawn) -> None:
    """SVG with title, what happens, cluster, time, verdict and legend; PNG of the same."""
    page.goto(f"{address}{view.fragment}")
    page.get_by_test_id(view.awaited).first.wait_for()
    end = "-both" if view.item == "both" else ""
    svg = saved(page, tmp_path, menu=view.menu, item=f"save-svg{end}").read_text()
    png = saved(page, tmp_path, menu=view.menu, item=f"save-png{end}").read_bytes()

    assert [] == [words for words in (*view.words, _TIME) if words not in svg]
    assert png.startswith(b"\x89PNG")

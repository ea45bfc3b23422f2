"""The findings of axe-core, the field's judge of accessibility, on the page and in its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.test_reports import written

SHOP = Path(__file__).parents[2] / "docs" / "examples" / "shop.json"
#: The text of the editor takes the focus; axe does not count what is editable.
OPTIONS = {"resultTypes": ["violations"], "rules": {"scrollable-region-focusable": {"enabled": False}}}

#: How wide the page is that can be scrolled.
WIDTH = "document.documentElement.scrollWidth"


def shown_views(page: Page) -> Iterator[str]:
    """Show each view, and give its name once it has what it waits for."""
    for view, awaited in (
        ("nav-cluster", "cluster-map"),
        ("as-table", "nodes-table"),
        ("nav-pending", "pending-group"),
        ("nav-workloads", "workload"),
    ):
        page.get_by_test_id(view).click()
        page.get_by_test_id(awaited).first.wait_for()
        yield view
    page.get_by_test_id("search").fill("web")
    page.get_by_test_id("found").get_by_text("on node").first.wait_for()
    yield "search"
    page.get_by_test_id("search").press("Escape")
    page.get_by_test_id("nav-cluster").click()
    page.get_by_test_id("map-rows").get_by_role("button").first.click()
    page.get_by_test_id("domain-panel").wait_for()
    yield "domain"
    page.get_by_test_id("act-lose").click()
    page.get_by_test_id("workloads").wait_for()
    page.get_by_test_id("change-cluster").click()
    yield "what if of the cluster"
    page.get_by_test_id("keep-scenario").click()
    page.get_by_test_id("map-rows").get_by_role("button").last.click()
    page.get_by_test_id("act-lose").click()
    page.get_by_test_id("difference").wait_for()
    yield "two scenarios"
    page.get_by_test_id("cluster-map").press("Enter")
    page.get_by_test_id("node-panel").get_by_role("meter").first.wait_for()
    yield "node"
    page.get_by_test_id("nav-workloads").click()
    page.locator("[data-testid=workload][data-name$='/indexer']").click()
    for tab, awaited in (
        ("spread", "apply-0"),
        ("nodes", "verdicts"),
        ("what-if", "outcome"),
        ("rollout", "workload-map"),
        ("manifest", "editor"),
    ):
        page.get_by_test_id(f"tab-{tab}").click()
        page.get_by_test_id(awaited).first.wait_for()
        yield tab


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        pytest.param("light", 1280, id="light"),
        pytest.param("dark", 1280, id="dark"),
        pytest.param("light", 390, id="light, 390 pixels"),
        pytest.param("dark", 390, id="dark, 390 pixels"),
    ],
)
def test_no_view_breaks_a_rule(page: Page, serve: Callable[[Path], str], scheme: str, width: int) -> None:
    """Names, roles, order of headings, contrast: in light and in dark, on a screen and on a telephone."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(serve(SHOP))
    for view in shown_views(page):
        page.wait_for_load_state("networkidle")
        found = Axe().run(page, options=OPTIONS)
        assert 0 == found.violations_count, f"{view}: {found.generate_report()}"
        assert page.evaluate(WIDTH) <= width, f"{view} scrolls to the side"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    ("command", "awaited"),
    [
        pytest.param("audit --cluster shop.json", "workload", id="audit"),
        pytest.param("what-if --lose-each zone --cluster shop.json", "matrix", id="each zone"),
        pytest.param("what-if --lose zone=b --cluster shop.json", "workloads", id="one zone"),
        pytest.param("explain deploy/indexer -n search --cluster shop.json", "report-about", id="explain"),
        pytest.param("what-if deploy/web -n shop --restart --cluster shop.json", "outcome", id="rollout"),
        pytest.param("what-if deploy/web -n shop --lose zone=b --cluster shop.json", "outcome", id="what-if"),
        pytest.param("plan web-next.yaml --from web.yaml --cluster cluster.yaml", "report-about", id="plan"),
        pytest.param("lint cart.yaml", "lint-summary", id="lint"),
    ],
)
def test_no_file_breaks_a_rule(page: Page, tmp_path: Path, command: str, awaited: str, width: int) -> None:
    """Files of -o html are read by others, on whatever they have."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(written(tmp_path, command).as_uri())
    page.get_by_test_id(awaited).first.wait_for()
    found = Axe().run(page, options=OPTIONS)

    assert 0 == found.violations_count, found.generate_report()
    assert page.evaluate(WIDTH) <= width

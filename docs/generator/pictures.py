"""Takes the pictures of the page for the documentation: ``make pictures``, which needs chromium.

They are no generated files that ``make check`` compares: fonts and chromium's releases change single pixels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from playwright.sync_api import Page, expect

from tests.browser.chromium import launched, served_page

_DOCS: Final = Path(__file__).parents[1]
IMAGES: Final = _DOCS / "images"
CLUSTER: Final = _DOCS / "examples" / "shop.json"
_SIZE: Final = {"width": 1280, "height": 800}


def main() -> None:
    """Write every picture anew."""
    with served_page(CLUSTER) as address, launched() as browser:
        page = browser.new_page(viewport=_SIZE)  # type: ignore[arg-type]
        page.goto(address)
        expect(page.get_by_test_id("landing")).not_to_contain_text("so far")
        _take(page, "page-cluster.png", "cluster-map")
        page.get_by_test_id("nav-pending").click()
        _take(page, "page-pending.png", "first-fix")
        page.get_by_test_id("nav-cluster").click()
        # Nothing moves while a picture is taken.
        page.emulate_media(reduced_motion="reduce")
        page.get_by_test_id("map-rows").get_by_role("button", name="b", exact=True).click()
        page.get_by_test_id("act-lose").click()
        _take(page, "page-lost-zone.png", "workloads")
        page.get_by_test_id("nav-workloads").click()
        _take(page, "page-workloads.png", "workload")
        page.locator("[data-name='Deployment/search/indexer']").click()
        _take(page, "page-explain.png", "suggestions")
        page.get_by_test_id("nav-workloads").click()
        page.locator("[data-name='Deployment/shop/web']").click()
        page.get_by_test_id("tab-what-if").click()
        page.get_by_test_id("target").fill("a")
        page.get_by_test_id("add-action").click()
        _take(page, "page-what-if.png", "outcome")
        page.emulate_media(color_scheme="dark")
        page.get_by_test_id("tab-rollout").click()
        page.get_by_test_id("step").press("End")
        _take(page, "page-rollout.png", "skew-chart")


def _take(page: Page, name: str, awaited: str) -> None:
    page.get_by_test_id(awaited).first.wait_for()
    page.wait_for_load_state("networkidle")
    page.screenshot(path=IMAGES / name, animations="disabled")


if __name__ == "__main__":
    main()

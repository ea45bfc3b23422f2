"""The texts beside the numbers are true: the pods that run, that would run, and that are not known."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.conftest import PATIENCE_MS
from tests.browser.test_page import SHOP, answer, counts, open_workload
from tests.webhook.ui.pages import a_cluster

_RUN = "from webhook.cli.start import run; run()"


@pytest.fixture
def shop(serve: Callable[[Path], str]) -> str:
    """The address of the page of the example cluster."""
    return serve(SHOP)


@pytest.fixture(scope="module")
def stuck(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Deployment of 4 replicas: two run in two zones, one waits, and the third zone is cordoned."""
    cluster = tmp_path_factory.mktemp("stuck") / "stuck.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": a_cluster()}))
    return cluster


def edit_max_skew(page: Page, value: str) -> None:
    """Edit maxSkew of the first constraint in the form of What if."""
    form = page.get_by_text("Constraint", exact=True)
    if not page.get_by_test_id("max-skew-0").is_visible():
        form.click()
    page.get_by_test_id("max-skew-0").fill(value)
    page.get_by_test_id("max-skew-0").press("Enter")
    expect(page.get_by_test_id("edited")).to_be_visible()


def test_nothing_old_stays_after_an_error(page: Page, shop: str) -> None:
    """A request that fails leaves no numbers of another one beside the new action."""
    refused = json.dumps({"error": "the answer takes more than 30 s of processor time", "problems": []})
    open_workload(page, shop, "web", "what-if")
    expect(page.get_by_test_id("fact-running")).to_contain_text("9")

    def refuse(route: Route) -> None:
        # A status of its own would be an error on the console, which the test would fail for.
        route.fulfill(status=200, body=refused[:-1], content_type="application/json")

    page.route("**/api/simulate", refuse)
    page.get_by_test_id("target").fill("a")
    page.get_by_test_id("add-action").click()

    expect(page.get_by_test_id("error")).to_be_visible()
    expect(page.get_by_test_id("after").get_by_test_id("outcome-facts")).to_have_count(0)
    expect(page.get_by_test_id("now-placed")).to_have_text("9")


def test_now_is_what_runs_and_an_edited_copy_replaces_it(page: Page, shop: str) -> None:
    """The copy has other limits; Now has those of the cluster, and After no more pods than replicas."""
    explained = answer("explain", "deploy/web", "-n", "shop")["constraints"][0]
    open_workload(page, shop, "web", "what-if")
    edit_max_skew(page, "7")

    before = page.get_by_test_id("before").get_by_test_id("outcome-0")
    expect(before).to_contain_text("of 1")
    assert {domain["value"]: domain["matching"] for domain in explained["domains"]} == counts(before, 0)
    after = page.get_by_test_id("after")
    expect(after.get_by_test_id("fact-running")).to_contain_text("9")
    assert 9 == sum(counts(after.get_by_test_id("outcome-0"), 1).values())


def test_a_copy_without_sense_has_no_numbers(browser: Browser, shop: str) -> None:
    """What is no manifest has none, least of all those of the original."""
    # A tab that is not watched: the browser logs the status of the refusal.
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    open_workload(page, shop, "web", "manifest")
    page.get_by_role("textbox", name="Manifest, YAML").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("a: [\n")
    page.get_by_test_id("tab-spread").click()

    expect(page.get_by_test_id("error")).to_be_visible()
    expect(page.locator("#panel")).to_contain_text("Correct the manifest first")
    expect(page.get_by_test_id("fact-feasible")).to_have_count(0)
    page.close()


def test_a_rollout_begins_with_what_runs(page: Page, serve: Callable[[Path], str], stuck: Path) -> None:
    """Two old pods have a node, and one waits, as in the answer."""
    rolled = answer("simulate", "deploy/web", "-n", "shop", "--rollout", cluster=stuck)
    open_workload(page, serve(stuck), "web", "rollout")
    frame = page.get_by_test_id("frame")
    expect(frame).to_be_visible()

    assert counts_old(frame) == rolled["domains"][0]["before"]
    skew = rolled["rollout"]["likely"]["skews"][0]
    expect(page.get_by_test_id("end-skew-0")).to_contain_text(str(skew))


def counts_old(frame: Locator) -> dict[str, int]:
    """Return the old pods of each domain of a frame."""
    rows = frame.locator("tbody tr").all()
    return {row.locator("th").inner_text(): int(row.locator("td").first.inner_text()) for row in rows}


def test_pods_that_wait_are_not_called_even(page: Page, serve: Callable[[Path], str], stuck: Path) -> None:
    """A workload with a pending pod is found by it, whatever it waits for."""
    page.goto(serve(stuck))
    page.get_by_test_id("nav-workloads").click()
    expect(page.get_by_test_id("workload")).to_have_count(1)
    page.get_by_test_id("risk-without-node").click()

    expect(page.get_by_test_id("workload")).to_have_count(1)
    assert "Even" not in page.get_by_test_id("workloads").inner_text()


def test_a_new_tab_is_given_the_token(page: Page, shop: str) -> None:
    """A middle click and a copied address open what they name."""
    page.goto(shop)
    page.get_by_test_id("nav-workloads").click()
    link = page.locator("[data-testid=workload][data-name$='/web']")
    with page.context.expect_page() as opened:
        link.click(button="middle")
    opened.value.set_default_timeout(PATIENCE_MS)

    expect(opened.value.get_by_test_id("workload-title")).to_contain_text("web", timeout=PATIENCE_MS)
    assert "token" not in opened.value.url


def test_a_stranger_is_not_given_the_token(page: Page, browser: Browser, shop: str) -> None:
    """Another profile of the browser, without a tab of the page, opens nothing."""
    page.goto(shop)
    expect(page.get_by_test_id("size")).to_be_visible(timeout=PATIENCE_MS)
    other = browser.new_page()
    other.goto(page.url)

    expect(other.get_by_test_id("error").first).to_contain_text("no valid token", timeout=PATIENCE_MS)
    other.close()


def test_back_undoes_what_was_done(page: Page, shop: str) -> None:
    """A lost zone, and an edit before it, go one by one; the workload stays."""
    open_workload(page, shop, "web", "what-if")
    edit_max_skew(page, "7")
    page.get_by_test_id("target").fill("a")
    page.get_by_test_id("add-action").click()
    expect(page.get_by_test_id("actions")).to_be_visible()
    page.go_back()
    expect(page.get_by_test_id("actions")).to_have_count(0)
    expect(page.get_by_test_id("edited")).to_be_visible()
    page.go_back()

    expect(page.get_by_test_id("edited")).to_have_count(0)
    expect(page.get_by_test_id("replicas")).to_be_visible()


def test_a_view_is_saved_as_a_report(page: Page, shop: str, tmp_path: Path) -> None:
    """The file names workload, action, cluster, time, verdict and command, and opens from the disk."""
    open_workload(page, shop, "web", "what-if")
    page.get_by_test_id("target").fill("a")
    page.get_by_test_id("add-action").click()
    page.get_by_test_id("save").click()
    with page.expect_download() as download:
        page.get_by_test_id("save-report").click()
    report = tmp_path / "report.html"
    download.value.save_as(report)
    page.goto(report.as_uri())

    expect(page.get_by_test_id("report-title")).to_contain_text("Deployment shop/web")
    about = page.get_by_test_id("report-about")
    for words in ("zone=a is lost", "9 of 9 replicas have a node", "shop.json", "--lose"):
        expect(about).to_contain_text(words)


@pytest.mark.parametrize("option", ["--lose=zone=a", "--drain=node-a1", "--rollout", "--replicas=3"])
def test_a_report_ends_as_the_command_does(page: Page, tmp_path: Path, option: str) -> None:
    """Replicas with a node and without are those of the JSON."""
    option, _, value = option.partition("=")
    words = ["simulate", "deploy/web", "-n", "shop", option, *filter(None, [value])]
    ends = answer(*words)["ends"]
    report = tmp_path / "report.html"
    with report.open("wb") as file:
        command = [sys.executable, "-c", _RUN, *words, "--cluster", str(SHOP), "-o", "html"]
        subprocess.run(command, stdout=file, check=False)
    page.goto(report.as_uri())

    expect(page.get_by_test_id("fact-running").locator("dd")).to_have_text(str(ends["running"]))
    expect(page.get_by_test_id("fact-pending").locator("dd")).to_have_text(str(ends["pending"]))
    expect(page.get_by_test_id("report-verdict")).not_to_be_empty()

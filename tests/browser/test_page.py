"""The page shows what the commands say, and reacts to what a person does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from planning.text.outcome import as_sentence
from tests.waiting import eventually
from tests.webhook.cli.in_process import evenkeel

ROOT = Path(__file__).parents[2]
#: Three zones with trouble of each kind.
SHOP = ROOT / "docs" / "examples" / "shop.json"


def answer(*words: str, cluster: Path = SHOP) -> Any:
    """Return the JSON answer of a command."""
    return json.loads(evenkeel(*words, "--cluster", str(cluster), "-o", "json", folder=ROOT).stdout)


def open_workload(page: Page, address: str, target: str, tab: str = "spread") -> None:
    """Open the page of a workload as a person does: by the list of workloads."""
    page.goto(address)
    page.get_by_test_id("nav-workloads").click()
    page.locator(f"[data-testid=workload][data-name$='/{target}']").click()
    page.get_by_test_id(f"tab-{tab}").click()


def counts(table: Locator, column: int) -> dict[str, int]:
    """Return a column of numbers of a table of domains, by domain."""
    return {
        str(row.get_attribute("data-domain")): int(
            str(row.locator("td").nth(column).text_content()).split()[0]
        )
        for row in table.get_by_test_id("domain").all()
    }


@pytest.fixture
def shop(serve: Callable[[Path], str]) -> str:
    """The address of the page of the example cluster."""
    return serve(SHOP)


def test_the_demo_cluster_is_shown_and_the_token_leaves_the_address(page: Page, address: str) -> None:
    """An address that a person copies, or sends in a screenshot, opens nothing."""
    page.goto(address)

    expect(page.get_by_test_id("size")).to_contain_text("12 nodes")
    expect(page.get_by_test_id("cluster-map")).to_be_visible()
    assert "token" not in page.url


def test_workloads_come_by_risk(page: Page, shop: str) -> None:
    """They are those of the audit, in its order."""
    audited = answer("audit")["workloads"]
    page.goto(shop)
    page.get_by_test_id("nav-workloads").click()
    expect(page.get_by_test_id("workload")).to_have_count(len(audited))

    shown = [str(entry.get_attribute("data-name")) for entry in page.get_by_test_id("workload").all()]
    assert [entry["name"] for entry in audited] == [name.rpartition("/")[2] for name in shown]


def test_domains_of_a_workload_are_those_of_explain(page: Page, shop: str) -> None:
    """The numbers of pods agree with the command, constraint by constraint."""
    explained = answer("explain", "deploy/web", "-n", "shop")
    open_workload(page, shop, "web")

    for at, constraint in enumerate(explained["constraints"]):
        shown = counts(page.get_by_test_id(f"constraint-{at}"), 0)
        assert {domain["value"]: domain["matching"] for domain in constraint["domains"]} == shown


def outcome_of(page: Page, name: str) -> Locator:
    """Return a number of the only workload of an outcome."""
    return page.get_by_test_id("outcome").locator(f"[data-number={name}]").first


def shows(page: Page, answered: Any, name: str = "web") -> None:
    """Expect the verdict and the numbers of a workload to be those of the answer of a command."""
    found = next(each for each in answered["workloads"] if each["name"] == name)
    row = page.get_by_test_id("workload-outcome").first
    expect(page.get_by_test_id("verdict")).to_contain_text(as_sentence(answered["verdict"]["sentence"]))
    for number in ("wanted", "before", "lowest", "after", "pending"):
        expect(row.locator(f"[data-number={number}]")).to_have_text(str(found[number]))
    for at, constraint in enumerate(found["constraints"]):
        shown = counts(page.get_by_test_id(f"outcome-{at}"), 1)
        assert constraint["after"] == {domain: shown[domain] for domain in constraint["after"]}


def test_more_replicas(page: Page, shop: str) -> None:
    """The slider, moved by keys, gives what what-if --replicas gives."""
    open_workload(page, shop, "web", "what-if")
    slider = page.get_by_test_id("replicas")
    for _ in range(3):
        slider.press("ArrowRight")

    expect(page.get_by_test_id("replicas-number")).to_have_value("12")
    expect(outcome_of(page, "wanted")).to_have_text("12")
    shows(page, answer("what-if", "deploy/web", "-n", "shop", "--replicas", "12"))


def test_fewer_replicas_while_nodes_change(page: Page, shop: str) -> None:
    """It is scaled first, and then a zone is lost, as the command that is named does it."""
    open_workload(page, shop, "web", "what-if")
    page.get_by_test_id("target").fill("a")
    page.get_by_test_id("add-action").click()
    page.get_by_test_id("replicas-number").fill("3")
    page.get_by_test_id("replicas-number").press("Enter")

    expect(outcome_of(page, "wanted")).to_have_text("3")
    lost = "topology.kubernetes.io/zone=a"
    shows(page, answer("what-if", "deploy/web", "-n", "shop", "--replicas", "3", "--lose", lost))


def test_a_suggestion_is_applied_to_a_copy(page: Page, shop: str) -> None:
    """The pod that was pending fits then, at as many nodes as explain promises."""
    promised = answer("explain", "deploy/indexer", "-n", "search")["changes"][0]
    open_workload(page, shop, "indexer")
    expect(page.get_by_test_id("fact-feasible")).to_contain_text("0 of 12")
    page.get_by_test_id("apply-0").click()

    expect(page.get_by_test_id("fact-feasible")).to_contain_text(f"{promised['feasibleNodes']} of 12")
    expect(page.get_by_test_id("edited")).to_be_visible()
    page.get_by_test_id("tab-manifest").click()
    expect(page.get_by_test_id("changes")).to_contain_text("nodeTaintsPolicy")


def test_pending_pods_have_a_reason(page: Page, shop: str) -> None:
    """The scheduler's message stands there, and the workload is a click away."""
    page.goto(shop)
    page.get_by_test_id("nav-pending").click()
    group = page.get_by_test_id("pending-group")

    expect(group).to_contain_text("didn't match pod topology spread constraints")
    group.get_by_role("link", name="indexer").first.click()
    expect(page.get_by_test_id("workload-title")).to_contain_text("indexer")


def test_a_rollout_is_played(page: Page, shop: str) -> None:
    """At the last step every pod is of the new revision."""
    open_workload(page, shop, "web", "rollout")
    step = page.get_by_test_id("step")
    step.focus()
    step.press("End")

    frame = page.get_by_test_id("frame")
    rows = [
        [cell.inner_text() for cell in row.locator("td").all()] for row in frame.locator("tbody tr").all()
    ]
    assert ["0"] * len(rows) == [old for old, *_ in rows]
    assert sum(int(new) for _, new, *_ in rows) == 9


def copied_link(page: Page) -> str:
    """Return the link that Copy link copies."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('')")
    page.get_by_test_id("copy-link").click()
    # What waits for a function takes a promise for true.
    eventually(lambda: page.evaluate("navigator.clipboard.readText()") != "")
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_a_link_that_is_copied_at_once_restores_the_state(page: Page, browser: Browser, shop: str) -> None:
    """Another tab shows the same what-if: what is typed is there before any answer."""
    open_workload(page, shop, "web", "what-if")
    page.get_by_test_id("replicas-number").press_sequentially("15")
    page.get_by_test_id("replicas-number").fill("15")
    other = browser.new_page()
    other.goto(copied_link(page))

    expect(other.get_by_test_id("replicas-number")).to_have_value("15")
    expect(outcome_of(other, "wanted")).to_have_text("15")
    other.close()


def test_a_link_has_the_suggestion_that_is_being_applied(page: Page, shop: str) -> None:
    """The server makes the edit; the link waits for it."""
    open_workload(page, shop, "indexer")
    page.get_by_test_id("apply-0").click()

    assert "nodeTaintsPolicy" in copied_link(page)


def test_what_is_typed_survives_answers_and_leaving_the_editor(page: Page, shop: str) -> None:
    """Every key counts, however fast, and a tab that is left at once keeps them."""
    typed = "# typed without a pause between the keys"
    open_workload(page, shop, "web", "manifest")
    page.get_by_role("textbox", name="Manifest, YAML").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type(f"{typed}\n")
    page.get_by_test_id("tab-what-if").click()
    page.get_by_test_id("tab-manifest").click()

    expect(page.get_by_test_id("changes")).to_contain_text(typed)


def test_a_dragged_slider_leaves_its_end_in_the_address(page: Page, shop: str) -> None:
    """Browsers ignore or refuse addresses that are written for each of hundreds of moves."""
    open_workload(page, shop, "web", "what-if")
    page.get_by_test_id("replicas").evaluate(
        """slider => {
            for (let move = 0; move <= 400; move += 1) {
                slider.value = String(move % 18);
                slider.dispatchEvent(new Event("input", { bubbles: true }));
            }
        }"""
    )

    expect(page).to_have_url(re.compile(f"replicas={400 % 18}$"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen(page: Page, shop: str, scheme: str) -> None:
    """At 360 pixels nothing is wider than the screen, in light and in dark."""
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": 360, "height": 740})
    for tab in ("spread", "what-if", "rollout", "manifest"):
        open_workload(page, shop, "cart", tab)
        page.wait_for_load_state("networkidle")
        assert 360 >= page.evaluate("document.documentElement.scrollWidth"), tab


def test_all_is_reached_by_keyboard(page: Page, shop: str) -> None:
    """From the top, Tab and Enter lead to a workload, and the focus can be seen."""
    page.goto(shop)
    expect(page.get_by_test_id("cluster-map")).to_be_visible()
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.testid") == "nav-workloads":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    page.keyboard.press("Enter")

    expect(page.get_by_test_id("workload").first).to_be_visible()
    assert "none" != outline


def test_hostile_names_stay_text(page: Page, serve: Callable[[Path], str], tmp_path: Path) -> None:
    """Names with markup, directions and every length are shown as they are, and run nothing."""
    name = "<img src=x onerror=window.hacked=1>"
    turned, long = "a\u202eb</script><script>window.hacked=1</script>", "n" * 253
    text = SHOP.read_text()
    for plain, hostile in (("node-a1", name), ("shop", turned), ("web-07f9c4d7f9", long)):
        text = text.replace(f'"{plain}"', json.dumps(hostile))
    cluster = tmp_path / "hostile.json"
    cluster.write_text(text)
    page.goto(serve(cluster))
    page.get_by_test_id("as-table").click()
    page.get_by_test_id("nav-workloads").click()
    page.get_by_test_id("workload").first.click()
    expect(page.get_by_test_id("workload-title")).to_be_visible()

    expect(page.locator("main")).to_contain_text(r"a\u202eb</script>")
    assert "\u202e" not in page.locator("main").inner_text()
    assert page.evaluate("window.hacked") is None


def test_pictures_are_saved(page: Page, shop: str) -> None:
    """SVG and PNG are what they are called."""
    open_workload(page, shop, "web")
    begins = {"SVG": b"<svg", "PNG": b"\x89PNG"}
    for kind, start in begins.items():
        page.get_by_test_id("save").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=kind).click()
        assert Path(download.value.path()).read_bytes().startswith(start)

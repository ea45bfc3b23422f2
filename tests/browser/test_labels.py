"""The texts beside the numbers are true: the pods that run, that would run, and that are not known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from planning.text.outcome import as_sentence
from tests.browser.conftest import PATIENCE_MS
from tests.browser.test_page import SHOP, answer, counts, open_workload, outcome_of
from tests.builders import a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.webhook.ui.pages import a_cluster


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
    expect(outcome_of(page, "after")).to_have_text("9")

    def refuse(route: Route) -> None:
        # A status of its own would be an error on the console, which the test would fail for.
        route.fulfill(status=200, body=refused[:-1], content_type="application/json")

    page.route("**/api/what-if", refuse)
    page.get_by_test_id("target").fill("a")
    page.get_by_test_id("add-action").click()

    expect(page.get_by_test_id("error")).to_be_visible()
    expect(page.get_by_test_id("outcome")).to_have_count(0)


@pytest.mark.parametrize("tab", ["spread", "what-if", "rollout"])
def test_every_tab_of_a_copy_has_one_verdict(page: Page, shop: str, tmp_path: Path, tab: str) -> None:
    """It is that of the command on the edited manifest, whose rollout replaces the pods that run."""
    open_workload(page, shop, "indexer", "what-if")
    edit_max_skew(page, "2")
    page.get_by_test_id("save").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Manifest (YAML)").click()
    download.value.save_as(tmp_path / "edited.yaml")
    found = answer("what-if", "-f", str(tmp_path / "edited.yaml"))
    page.get_by_test_id(f"tab-{tab}").click()

    expect(page.get_by_test_id("verdict")).to_have_count(1)
    expect(page.get_by_test_id("verdict")).to_contain_text(as_sentence(found["verdict"]["sentence"]))
    (indexer,) = found["workloads"]
    for number in ("wanted", "before", "after", "updated", "pending"):
        expect(outcome_of(page, number)).to_have_text(str(indexer[number]))
    for each in indexer["survival"]:
        left = page.locator(".if-it-goes").filter(has=page.get_by_title(each["topologyKey"], exact=True))
        expect(left.locator(".badge")).to_contain_text(f"{each['left']} left of 11")


def test_a_copy_keeps_its_before(page: Page, shop: str) -> None:
    """Before are the pods that run, and after no more than replicas."""
    explained = answer("explain", "deploy/web", "-n", "shop")["constraints"][0]
    open_workload(page, shop, "web", "what-if")
    edit_max_skew(page, "7")

    constraint = page.get_by_test_id("outcome-0")
    expect(constraint).to_contain_text("of 7")
    assert {domain["value"]: domain["matching"] for domain in explained["domains"]} == counts(constraint, 0)
    assert 9 == sum(counts(constraint, 1).values())


def test_a_copy_without_sense_has_no_numbers(browser: Browser, shop: str) -> None:
    """A manifest that cannot be parsed has no numbers, least of all those of the original."""
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
    (rolled,) = answer("what-if", "deploy/web", "-n", "shop", "--restart", cluster=stuck)["workloads"]
    open_workload(page, serve(stuck), "web", "rollout")
    frame = page.get_by_test_id("frame")
    expect(frame).to_be_visible()

    (constraint,) = rolled["constraints"]
    assert counts_old(frame) == constraint["before"]
    expect(page.get_by_test_id("map-ghosts")).to_contain_text("1 pod")
    page.get_by_role("button", name="To the end").click()
    expect(page.get_by_test_id("step-words")).to_contain_text(f"skew {constraint['skew']} of")


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


def test_changes_are_listed_and_taken_back(page: Page, shop: str) -> None:
    """Each edit of the copy has a line with both values, and a button that takes it back."""
    open_workload(page, shop, "web", "what-if")
    edit_max_skew(page, "7")
    changes = page.get_by_test_id("change-list").get_by_role("listitem")
    expect(changes).to_have_text([re.compile("maxSkew 1 → 7")])
    page.get_by_test_id("max-skew-1").fill("5")
    page.get_by_test_id("max-skew-1").press("Enter")
    expect(changes).to_have_count(2)
    changes.first.get_by_role("button").click()
    expect(changes).to_have_text([re.compile(r"\[1\]\.maxSkew \d → 5")])
    page.get_by_test_id("undo").click()
    expect(changes).to_have_count(2)
    page.get_by_test_id("undo").click()
    expect(changes).to_have_text([re.compile("maxSkew 1 → 7")])
    page.get_by_test_id("undo").click()

    expect(page.get_by_test_id("edited")).to_have_count(0)


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
    for words in ("Lose zone=a", "All 9 pods of shop/web run again", "shop.json", "--lose"):
        expect(about).to_contain_text(words)


def written(path: Path, constraint: dict[str, Any], replicas: int, *zones: str) -> Path:
    """Write a snapshot of a node in each zone with a pod of Deployment web, all but the last zone's."""
    web = a_workload(spec={"topologySpreadConstraints": [constraint]})
    web["spec"]["replicas"] = replicas
    owned = a_replica_set(web, "aaa")
    owned["spec"]["replicas"] = replicas
    owner = ("apps/v1", "ReplicaSet", owned["metadata"]["name"])
    labels = owned["spec"]["template"]["metadata"]["labels"]
    nodes = [a_node(f"n{number}", zone) for number, zone in enumerate(zones)]
    pods = [
        a_pod(
            name=f"web-{number}",
            labels=labels,
            owner=owner,
            spec={"topologySpreadConstraints": [constraint], "nodeName": f"n{number}"},
        )
        for number in range(len(zones) - 1)
    ]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, web, owned, *pods]}))
    return path


def test_names_and_numbers_of_domains_are_words(
    page: Page, serve: Callable[[Path], str], tmp_path: Path
) -> None:
    """A domain of an empty name has one, and one node takes, not take, the pod."""
    cluster = written(tmp_path / "empty.json", a_constraint(), 2, "a", "")
    page.goto(f"{serve(cluster)}#/workload/Deployment/shop/web")

    row = page.get_by_test_id("constraint-0").locator("[data-domain='']")
    expect(row).to_contain_text("(empty)")
    expect(row).to_contain_text("1 node takes it")


def test_a_rollout_beyond_the_limit_blames_nobody(
    page: Page, serve: Callable[[Path], str], tmp_path: Path
) -> None:
    """It is no mistake of the manifest, and nothing that is well: what was not tried is not judged."""
    cluster = written(tmp_path / "many.json", a_constraint(), 150_000, "a", "b")
    page.goto(f"{serve(cluster)}#/workload/Deployment/shop/web?tab=rollout")

    verdict = page.get_by_test_id("verdict")
    expect(verdict).to_have_count(1)
    expect(verdict).to_have_class("notice unknown")


def test_chance_is_named(page: Page, shop: str) -> None:
    """As many ways as the command's answer has were played."""
    branches = answer("what-if", "deploy/web", "-n", "shop", "--replicas", "6")["branches"]
    assert branches["tried"] > 1
    page.goto(f"{shop}#/workload/Deployment/shop/web?tab=what-if&replicas=6")

    expect(page.get_by_test_id("ways")).to_contain_text(f"{branches['tried']} ways were played")


def test_the_schedulers_words_and_ours_are_told_apart(
    page: Page, serve: Callable[[Path], str], stuck: Path
) -> None:
    """The cluster's message about a pending pod is kube-scheduler's; the prediction is Evenkeel's."""
    page.goto(serve(stuck))
    page.get_by_test_id("nav-pending").click()

    group = page.get_by_test_id("pending-group")
    expect(group).to_contain_text("kube-scheduler's message: 0/3 nodes are available")
    expect(group).to_contain_text("Evenkeel expects: 0/3 nodes are available: ")


def test_a_picture_of_a_workload_says_what_happens(page: Page, shop: str) -> None:
    """It names workload, action, cluster, release and legend, and a lost domain is gone in it."""
    page.goto(f"{shop}#/workload/Deployment/shop/web?tab=what-if&do=lose%3Atopology.kubernetes.io/zone%3Aa")
    expect(page.get_by_test_id("outcome")).to_be_visible()
    page.get_by_test_id("save").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="SVG").click()
    picture = Path(download.value.path()).read_text("utf-8")

    for words in (
        "Deployment shop/web",
        "What if: Lose zone=a",
        "All 9 pods of shop/web run again",
        "shop.json",
        "Kubernetes 1.",
        "3 → gone",
        "wanted at most",
    ):
        assert words in picture, words

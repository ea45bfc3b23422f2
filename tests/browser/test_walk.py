"""The first minutes of somebody who has never seen the page: the walk of docs/ui.md, on the demo cluster."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import served_page
from tests.browser.conftest import DEMO
from tests.browser.test_page import answer, outcome_of

#: A manifest that the demo's cluster does not have.
OWN = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: mine, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: mine}}
  template:
    metadata: {labels: {app: mine}}
    spec:
      containers: [{name: c, image: "registry.example.com/mine:1"}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: mine}}
"""


def test_the_walk_of_the_guide(page: Page, address: str, tmp_path: Path) -> None:
    """From the problems of a cluster to a lost zone, the change that fixes a stuck pod, and a report."""
    page.goto(address)
    expect(page.get_by_test_id("landing-stuck")).to_contain_text("1 pod without a node")
    expect(page.get_by_test_id("landing-violated")).to_be_visible()
    page.get_by_test_id("landing-loss").first.click()
    expect(page.get_by_test_id("verdict")).to_contain_text("search/indexer stays 4 short")
    expect(page.get_by_test_id("workload-outcome").first).to_contain_text("indexer")

    page.get_by_test_id("nav-pending").click()
    page.get_by_test_id("first-fix").get_by_role("button", name="Apply to a copy").click()
    expect(outcome_of(page, "updated")).to_have_text("11")
    expect(outcome_of(page, "pending")).to_have_text("0")

    page.get_by_test_id("save").click()
    with page.expect_download() as download:
        page.get_by_test_id("save-report").click()
    report = tmp_path / "report.html"
    download.value.save_as(report)
    page.goto(report.as_uri())
    expect(page.get_by_test_id("report-title")).to_contain_text("search/indexer")
    expect(page.get_by_test_id("report-verdict")).to_contain_text("search/indexer rolls out and all 11 run")


def test_pods_that_wait_are_ghosts(page: Page, address: str) -> None:
    """One column has the pods without a node, before the change and not after it."""
    page.goto(f"{address}#/workload/Deployment/search/indexer")
    expect(page.get_by_test_id("constraint-0").get_by_test_id("ghosts")).to_have_attribute(
        "title", "No node: 1"
    )
    page.get_by_test_id("apply-0").click()
    page.get_by_test_id("tab-what-if").click()

    expect(page.get_by_test_id("outcome-0").get_by_test_id("columns")).to_be_visible()
    expect(page.get_by_test_id("outcome-0").get_by_test_id("ghosts")).to_have_count(0)


def test_pods_are_on_the_nodes(page: Page, address: str) -> None:
    """Spread, What if and Rollout have the workload's map: what waits is a ghost, and a node opens."""
    lost = answer("what-if", "deploy/indexer", "-n", "search", "--lose", "zone=b", cluster=DEMO)
    (pending,) = (each["pending"] for each in lost["workloads"] if each["name"] == "indexer")
    workload = f"{address}#/workload/Deployment/search/indexer"
    ghosts = page.get_by_test_id("workload-map").get_by_test_id("map-ghosts")
    page.goto(workload)
    expect(ghosts).to_have_text(re.compile("1 pod without a node"))
    page.goto(f"{workload}?tab=what-if&do=lose:topology.kubernetes.io%2Fzone:b")
    expect(ghosts).to_have_text(re.compile(f"{pending} pods without a node"))
    page.goto(f"{workload}?tab=rollout")
    page.get_by_test_id("step-on").click()
    expect(page.get_by_test_id("workload-map")).to_contain_text("old pods")
    page.get_by_test_id("workload-map").get_by_test_id("cluster-map").press("Enter")

    expect(page.get_by_test_id("node-panel").get_by_role("heading").first).to_have_text("node-a1")
    expect(page.locator(".legend [aria-pressed=true]")).to_contain_text("indexer")


@pytest.mark.parametrize("way", ["option", "file", "drop"])
def test_a_manifest_is_opened_as_a_file(page: Page, address: str, tmp_path: Path, way: str) -> None:
    """With -f, chosen, or dropped anywhere: its replicas are placed beside what runs."""
    mine = tmp_path / "mine.yaml"
    mine.write_text(OWN)
    with ExitStack() as running:
        if way == "option":
            page.goto(running.enter_context(served_page(DEMO, "-f", str(mine))))
            # It goes before its server, which it asks on and on.
            running.callback(page.close)
        else:
            page.goto(f"{address}#/workloads")
        if way == "file":
            page.get_by_test_id("open-manifest").locator("summary").click()
            page.get_by_test_id("chosen").set_input_files(mine)
        elif way == "drop":
            page.get_by_test_id("workloads").wait_for()
            page.evaluate(
                """text => {
                    const dropped = new DataTransfer();
                    dropped.items.add(new File([text], "mine.yaml"));
                    const event = new DragEvent("drop", {dataTransfer: dropped, bubbles: true});
                    document.body.dispatchEvent(event);
                }""",
                OWN,
            )

        expect(page.get_by_test_id("workload-title")).to_contain_text("mine")
        expect(page.get_by_test_id("edited")).to_contain_text("does not have this")
        expect(outcome_of(page, "after")).to_have_text("4")


def test_a_manifest_of_ones_own(page: Page, address: str, tmp_path: Path) -> None:
    """It is pasted, and its replicas go where the command puts them, also after the slider."""
    mine = tmp_path / "mine.yaml"
    mine.write_text(OWN)
    (scaled,) = answer("what-if", "deploy/mine", "-f", str(mine), "--replicas", "7", cluster=DEMO)[
        "workloads"
    ]
    page.goto(address)
    page.get_by_test_id("nav-workloads").click()
    page.get_by_test_id("open-manifest").locator("summary").click()
    page.get_by_test_id("pasted").fill("kind: [")
    page.get_by_test_id("open-pasted").click()
    expect(page.get_by_test_id("error")).to_contain_text("no manifest of one Pod or workload")
    page.get_by_test_id("pasted").fill(OWN)
    page.get_by_test_id("open-pasted").click()
    expect(page.get_by_test_id("edited")).to_contain_text("does not have this")
    expect(outcome_of(page, "after")).to_have_text("4")
    page.get_by_test_id("replicas-number").fill("7")

    expect(outcome_of(page, "after")).to_have_text(str(scaled["after"]))
    expect(outcome_of(page, "pending")).to_have_text(str(scaled["pending"]))
    page.reload()
    expect(outcome_of(page, "after")).to_have_text(str(scaled["after"]))

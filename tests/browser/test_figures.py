"""One number for one thing: skews, courses, domains and changes are the same in every view."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.test_labels import written
from tests.browser.test_page import SHOP, answer
from tests.builders import a_constraint, a_node, a_workload
from tests.webhook.cli.in_process import evenkeel

WEB = "#/workload/Deployment/shop/web"


def test_a_constraint_has_one_skew(page: Page, serve: Callable[[Path], str], tmp_path: Path) -> None:
    """3 zones, minDomains 4: the global minimum is 0, so that 1, 1, 1 pods are skew 1 in each view."""
    cluster = written(tmp_path / "few.json", a_constraint(minDomains=4), 3, "a", "b", "c", "c")
    (constraint,) = answer("explain", "deploy/web", "-n", "shop", cluster=cluster)["constraints"]
    (audited,) = answer("audit", cluster=cluster)["workloads"]
    assert (0, 1) == (constraint["globalMinimum"], audited["constraints"][0]["skew"])
    address = serve(cluster)

    page.goto(f"{address}#/workloads")
    expect(page.locator(".skew-words")).to_have_text("1 of 1")
    page.goto(f"{address}{WEB}?tab=what-if")
    expect(page.get_by_test_id("outcome-0")).to_contain_text("skew 1 of 1")
    page.goto(f"{address}{WEB}?tab=rollout")
    expect(page.get_by_test_id("step-words")).to_contain_text("skew 1 of 1")


def test_the_last_step_has_the_skew_of_the_end(page: Page, serve: Callable[[Path], str]) -> None:
    """The skew after the last step, and at the worst moment, is that of the command."""
    restarted = answer("what-if", "deploy/cart", "-n", "shop", "--restart")
    (constraint,) = restarted["workloads"][0]["constraints"]
    page.goto(f"{serve(SHOP)}#/workload/Deployment/shop/cart?tab=rollout")
    page.get_by_role("button", name="To the end").click()

    expect(page.get_by_test_id("step-words")).to_contain_text(f"skew {constraint['skew']} of")
    expect(page.get_by_test_id("skew-chart")).to_contain_text(f"largest {constraint['peak']} after")


def test_a_domain_is_listed_once(page: Page, serve: Callable[[Path], str], tmp_path: Path) -> None:
    """24 nodes with no pod are the worst and the best domains at once."""
    constraint = a_constraint(topologyKey="kubernetes.io/hostname")
    web = a_workload(spec={"topologySpreadConstraints": [constraint]})
    objects = [web, *(a_node(f"n{number:02}", "a") for number in range(24))]
    cluster = tmp_path / "wide.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    (found,) = answer("explain", "deploy/web", "-n", "shop", cluster=cluster)["constraints"]
    listed = Counter(domain["value"] for domain in found["domains"])
    assert 24 == found["domainCount"]
    assert {1} == set(listed.values())

    page.goto(f"{serve(cluster)}{WEB}")
    expect(page.get_by_test_id("constraint-0")).to_be_visible()
    rows = page.get_by_test_id("constraint-0").get_by_test_id("domain")
    shown = Counter(str(row.get_attribute("data-domain")) for row in rows.all())
    assert listed == shown


def test_a_constraint_that_changes_is_no_new_one(page: Page, tmp_path: Path) -> None:
    """The report of a plan has both values of maxSkew."""
    for name, max_skew in (("old", 1), ("new", 2)):
        web = a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=max_skew)]})
        (tmp_path / f"{name}.json").write_text(json.dumps(web))
    nodes = [a_node(f"n{zone}", zone) for zone in "ab"]
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    command = "plan new.json --from old.json --cluster cluster.json -o html"
    report = tmp_path / "plan.html"
    report.write_bytes(evenkeel(*command.split(), folder=tmp_path).stdout)
    page.goto(report.as_uri())

    planned = page.get_by_test_id("planned")
    expect(planned).to_contain_text("zone: maxSkew 1 → 2.")
    expect(planned).not_to_contain_text("zone: new")

"""Reports of ``-o html``, opened from the disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.webhook.cli.in_process import evenkeel

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def written(folder: Path, command: str) -> Path:
    """Return the file that a command writes."""
    report = folder / "report.html"
    evenkeel(*command.split(), "-o", f"html={report}", folder=EXAMPLES)
    return report


def printed(command: str) -> Any:
    """Return the answer of a command with -o json."""
    return json.loads(evenkeel(*command.split(), "-o", "json", folder=EXAMPLES).stdout)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        pytest.param("explain deploy/indexer -n search --cluster shop.json", "0 of 12", id="explain"),
        pytest.param("simulate deploy/web -n shop --pods 3 --cluster shop.json", "12", id="simulate"),
        pytest.param("audit --cluster shop.json", "cart", id="audit"),
        pytest.param("survive zone deploy/indexer -n search --cluster shop.json", "b", id="survive"),
        pytest.param("survive zone --all --cluster shop.json", "the worst is b", id="survive: each zone"),
        pytest.param("survive zone=b --all --cluster shop.json", "fit nowhere", id="survive: one zone"),
        pytest.param("plan web-next.yaml --from web.yaml --cluster cluster.yaml", "web", id="plan"),
        pytest.param("lint cart.yaml", "selector-misses-own-pod", id="lint"),
    ],
)
def test_a_report_needs_no_server(page: Page, tmp_path: Path, command: str, shown: str) -> None:
    """It is one file, which shows what the command found and asks nothing of any network."""
    report = written(tmp_path, command)
    page.goto(report.as_uri())

    expect(page.get_by_test_id("report-title")).to_be_visible()
    expect(page.locator("main")).to_contain_text(shown)
    # Beside it there is nothing that it could read.
    assert [report] == list(tmp_path.iterdir())


def test_the_file_of_survive_is_as_deep_as_the_page(page: Page, tmp_path: Path) -> None:
    """Each loss opens with the numbers of -o json; workloads and nodes open; what it lacks is said."""
    command = "survive zone --all --cluster shop.json"
    page.goto(written(tmp_path, command).as_uri())
    losses = {each["domain"]: each for each in printed(command)["losses"]}
    worst = losses["b"]

    expect(page.get_by_test_id("report-verdict")).to_contain_text("2 of 3 domains")
    expect(page.get_by_test_id("landing-loss")).to_have_count(len(losses))
    page.get_by_test_id("landing-loss").first.click()
    expect(page.get_by_test_id("fact-pods").locator("dd")).to_have_text(str(worst["pods"]))
    stuck = page.get_by_test_id("fact-stuck").locator("dd")
    expect(stuck).to_have_text(str(worst["result"]["pending"]))
    page.get_by_test_id("damaged").get_by_role("link").first.click()
    expect(page.get_by_test_id("constraint-0")).to_be_visible()
    expect(page.get_by_test_id("error")).to_have_count(0)
    page.get_by_role("tab", name="What if").click()
    expect(page.get_by_test_id("error").first).to_contain_text("does not have that")


def test_the_file_of_an_audit_opens_its_workloads(page: Page, tmp_path: Path) -> None:
    """The list is that of -o json, worst first; a row opens what evenkeel explain says of it."""
    command = "audit --cluster shop.json"
    page.goto(written(tmp_path, command).as_uri())
    names = [each["name"] for each in printed(command)["workloads"]]

    rows = page.get_by_test_id("workload")
    expect(rows).to_have_count(len(names))
    for row, name in zip(rows.all(), names, strict=True):
        expect(row).to_contain_text(name)
    rows.first.click()
    expect(page.get_by_test_id("constraint-0")).to_contain_text("zone")

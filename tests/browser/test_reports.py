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
        pytest.param("what-if deploy/web -n shop --replicas 12 --cluster shop.json", "12", id="what-if"),
        pytest.param("audit --cluster shop.json", "cart", id="audit"),
        pytest.param("what-if --lose-each zone --cluster shop.json", "may not be lost", id="each zone"),
        pytest.param("what-if --lose zone=b --cluster shop.json", "fit nowhere", id="one zone"),
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


def test_the_file_of_losses_has_the_matrix(page: Page, tmp_path: Path) -> None:
    """A column for each domain and a row for each workload of -o json, and no folder of the machine."""
    command = "what-if --lose-each zone --cluster shop.json"
    report = written(tmp_path, command)
    page.goto(report.as_uri())
    found = printed(command)

    expect(page.get_by_test_id("loss")).to_have_count(len(found["outcomes"]))
    expect(page.get_by_test_id("matrix-row")).to_have_count(len(found["workloads"]))
    assert str(EXAMPLES) not in report.read_text()
    assert str(tmp_path) not in report.read_text()


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

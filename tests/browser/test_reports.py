"""Reports of ``-o html``, opened from the disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
_RUN = "from webhook.cli.start import run; run()"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        pytest.param("explain deploy/indexer -n search --cluster shop.json", "0 of 12", id="explain"),
        pytest.param("simulate deploy/web -n shop --replicas 3 --cluster shop.json", "12", id="simulate"),
        pytest.param("audit --cluster shop.json", "cart", id="audit"),
        pytest.param("plan web-next.yaml --from web.yaml --cluster cluster.yaml", "web", id="plan"),
        pytest.param("lint cart.yaml", "selector-misses-own-pod", id="lint"),
    ],
)
def test_a_report_needs_no_server(page: Page, tmp_path: Path, command: str, shown: str) -> None:
    """It is one file, which shows what the command found and asks nothing of any network."""
    report = tmp_path / "report.html"
    words = [sys.executable, "-c", _RUN, *command.split(), "-o", "html"]
    with report.open("wb") as file:
        subprocess.run(words, cwd=EXAMPLES, stdout=file, check=False)
    page.goto(report.as_uri())

    expect(page.get_by_test_id("report-title")).to_be_visible()
    expect(page.locator("main")).to_contain_text(shown)
    # Beside it there is nothing that it could read.
    assert [report] == list(tmp_path.iterdir())

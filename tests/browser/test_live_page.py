"""A live cluster in the browser: what changed is counted and read again, and what was edited stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import served
from tests.webhook.kube.api_server import FakeApiServer, serving
from tests.webhook.loopback import write_kubeconfig
from tests.webhook.ui.pages import a_cluster, a_replica
from webhook.kube.watched_resources import EVERYTHING


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    """An API server with the objects of the page's small cluster."""
    kinds = {resource.kind for resource in EVERYTHING}
    with serving(FakeApiServer()) as state:
        for obj in a_cluster():
            if obj["kind"] in kinds:
                state.put(obj)
        yield state


@pytest.fixture
def live(server: FakeApiServer, tmp_path: Path) -> Iterator[str]:
    """The address of the page about it; a tab is asked for after it, and so goes first."""
    config = write_kubeconfig(tmp_path, server.url)
    with served("--live", cwd=tmp_path, KUBECONFIG=config) as address:
        yield address


def test_what_changed_is_read_when_the_button_is_clicked(
    server: FakeApiServer, live: str, page: Page
) -> None:
    """A what-if is kept, and answered for the cluster as it is then."""
    page.goto(f"{live}#/cluster?do=uncordon:nc")
    expect(page.get_by_test_id("verdict")).to_be_visible()
    server.put(a_replica("web-3", "nb"))
    expect(page.get_by_test_id("changed-since")).to_have_text("1 Pod changed since")
    page.get_by_test_id("refresh").click()

    expect(page.get_by_test_id("news")).to_contain_text("1 pod came to a node")
    expect(page.get_by_test_id("news")).to_contain_text("2 → 3 with a node, 1 → 0 pending")
    expect(page.get_by_test_id("changed-since")).to_have_count(0)
    expect(page.get_by_test_id("verdict")).to_be_visible()
    assert page.url.endswith("do=uncordon%3Anc") or page.url.endswith("do=uncordon:nc")


def test_changes_are_followed(server: FakeApiServer, live: str, page: Page) -> None:
    """With the box ticked no one needs to click; kinds that may not be watched are named."""
    page.goto(f"{live}#/workloads")
    page.get_by_test_id("follow").check()
    page.get_by_test_id("nav-workloads").focus()
    server.put(a_replica("web-3", "nb"))

    expect(page.get_by_test_id("news")).to_contain_text("1 pod came to a node")
    expect(page.get_by_test_id("follow")).to_be_checked()

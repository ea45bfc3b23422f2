"""The browser and the page that these tests share, and the line that says when there is no browser."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.chromium import launched, missing_chromium, served_page
from tests.run_notes import NOTES

ROOT = Path(__file__).parents[2]
#: The cluster of ``evenkeel ui --demo``, with a problem of each kind.
DEMO = ROOT / "webhook" / "demo" / "shop.json"
#: Milliseconds within which anything appears, on a busy machine.
PATIENCE_MS = 120_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless chromium, while these tests run: Playwright's event loop is in the way of other tests."""
    with launched() as started:
        yield started


@pytest.fixture(scope="package")
def window(browser: Browser) -> BrowserContext:
    """Return where all tabs open: to make another takes longer than most tests."""
    return browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)


@pytest.fixture
def page(window: BrowserContext) -> Iterator[Page]:
    """A tab that fails its test for an error on its console, an uncaught exception or a request elsewhere."""
    tab = window.new_page()
    tab.set_default_timeout(PATIENCE_MS)
    wrong: list[str] = []
    tab.on(
        "console",
        lambda message: (
            wrong.append(f"{message.text} {message.location}") if message.type == "error" else None
        ),
    )
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("request", lambda request: None if _is_local(request.url) else wrong.append(request.url))
    yield tab
    if not tab.is_closed():
        # The one thing that the page keeps is the theme.
        tab.evaluate("if (location.origin !== 'null') localStorage.clear()")
    window.clear_permissions()
    for opened in window.pages:
        opened.close()
    assert [] == wrong


def _is_local(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "file://", "data:", "blob:"))


@pytest.fixture(scope="package")
def serve() -> Iterator[Callable[..., str]]:
    """Return a function that serves the page of a snapshot, with options, and returns its address."""
    with ExitStack() as running:
        yield cache(lambda cluster, *options: running.enter_context(served_page(cluster, *options)))


@pytest.fixture
def address(serve: Callable[[Path], str]) -> str:
    """The address of the page of the demo's cluster."""
    return serve(DEMO)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave these tests out where there is no browser: one line tells it, not one a test."""
    if not missing_chromium(os.environ):
        return
    ours = [item for item in items if "browser" in getattr(item, "fixturenames", ())]
    items[:] = [item for item in items if item not in ours]
    config.hook.pytest_deselected(items=ours)
    if ours:
        config.stash[NOTES].append((missing_chromium(os.environ), True))

"""The browser and the page that these tests share, and the line that says when there is no browser."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.chromium import find_chromium, missing_chromium

ROOT = Path(__file__).parents[2]
#: The cluster of the demo, with a workload of every kind of trouble.
DEMO = ROOT / "webhook" / "demo" / "cluster.yaml"
#: Milliseconds within which anything appears, on a busy machine.
PATIENCE_MS = 20_000
_RUN = "from webhook.cli.start import run; run()"
#: Whether tests were left out because there is no browser.
_UNTESTED = pytest.StashKey[bool]()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless chromium, while these tests run: Playwright's event loop is in the way of other tests."""
    with sync_playwright() as playwright:
        # Containers rarely let chromium make its own sandbox; it shows our own pages alone.
        started = playwright.chromium.launch(executable_path=find_chromium(os.environ), args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab that fails its test for an error on its console, an uncaught exception or a request elsewhere."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE_MS)
    wrong: list[str] = []
    tab.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("request", lambda request: None if _is_local(request.url) else wrong.append(request.url))
    yield tab
    context.close()
    assert [] == wrong


def _is_local(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "file://", "data:", "blob:"))


@pytest.fixture(scope="package")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], str]]:
    """Return what starts ``evenkeel ui`` on a snapshot and returns the page's address."""
    with ExitStack() as running:
        started: dict[Path, str] = {}

        def start(cluster: Path) -> str:
            if cluster not in started:
                command = [sys.executable, "-c", _RUN, "ui", "--no-open", "--cluster", str(cluster)]
                process = running.enter_context(
                    subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
                )
                running.callback(process.terminate)
                assert process.stdout is not None
                started[cluster] = next(
                    word for line in process.stdout for word in line.split() if word.startswith("http://")
                )
            return started[cluster]

        yield start


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
    config.stash[_UNTESTED] = bool(ours)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say that the page was not tried in a browser."""
    if config.stash.get(_UNTESTED, False):
        terminalreporter.line(missing_chromium(os.environ), red=True, bold=True)

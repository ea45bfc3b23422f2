"""A real browser and ``evenkeel ui`` to open in it: for tests, benchmarks and the documentation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

#: The environment variable that names a chromium.
VARIABLE = "EVENKEEL_CHROMIUM"
#: How chromium is called by distributions and vendors.
NAMES = ("chromium", "chromium-browser", "google-chrome")
_ROOT = Path(__file__).parents[2]
_RUN = "from webhook.cli.start import run; run()"


def find_chromium(environment: Mapping[str, str]) -> str | None:
    """Return the path of a chromium; None if there is none."""
    named = environment.get(VARIABLE)
    if named is not None:
        return named if Path(named).exists() else None
    return next(filter(None, map(shutil.which, NAMES)), None)


def missing_chromium(environment: Mapping[str, str]) -> str:
    """Return the message where there is no chromium; empty if there is one."""
    if find_chromium(environment):
        return ""
    if VARIABLE in environment:
        why = f"{VARIABLE} names no file: {environment[VARIABLE]!r}"
    else:
        why = f"none of {', '.join(NAMES)} is on PATH, and {VARIABLE} names none"
    return f"The page was NOT tried in a browser: {why}."


@contextmanager
def launched() -> Iterator[Browser]:
    """Run a headless chromium."""
    with sync_playwright() as playwright:
        # Containers rarely let chromium make its own sandbox, and have little shared memory; it shows our own
        # pages alone.
        browser = playwright.chromium.launch(
            executable_path=find_chromium(os.environ), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@contextmanager
def served_page(cluster: Path, *options: str) -> Iterator[str]:
    """Run ``evenkeel ui`` on a snapshot; gives the address that it prints once the snapshot is read."""
    # The page shows the name as it is given, and pictures should not have a path of some machine.
    with served("--cluster", cluster.name, *options, cwd=cluster.parent) as address:
        yield address


@contextmanager
def served(*options: str, cwd: Path, **environment: str) -> Iterator[str]:
    """Run ``evenkeel ui`` with some options; gives its address."""
    command = [sys.executable, "-c", _RUN, "ui", "--no-open", *options]
    environment = os.environ | {"PYTHONPATH": str(_ROOT)} | environment
    with subprocess.Popen(command, cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            words = (word for line in process.stdout for word in line.split())
            yield next(word for word in words if word.startswith("http://"))
        finally:
            process.terminate()

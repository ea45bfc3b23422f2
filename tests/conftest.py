"""Settings of all tests."""

from __future__ import annotations

import gc
import json
import os
import signal
from collections.abc import Callable, Iterator
from random import randrange
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from tests.run_notes import NOTES

# Two busy cores say nothing about speed, so no example has a deadline, and none is made too slowly. In CI
# they are the same each time: a red run must be about the change; new examples are found at every other run.
settings.register_profile(
    "evenkeel",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    max_examples=50,
)
# Of `make test PROFILE=deep`: for what is rare.
settings.register_profile("deep", settings.get_profile("evenkeel"), max_examples=200, derandomize=False)
# Of `make quick`: enough to run every line of a property, too few to find what is rare.
settings.register_profile("quick", settings.get_profile("evenkeel"), max_examples=15)
settings.load_profile("evenkeel")

#: Folders whose tests share what takes long to make: a control plane, a browser, advice to show.
SHARING = ("tests/browser", "tests/e2e", "tests/planning/advise")
#: Folders whose tests are slow: they start programs, or evaluate CEL in Python.
SLOW = ("tests/browser", "tests/e2e", "tests/policies/emit")

# A shell starts background jobs with SIGINT ignored, and they start programs in the same way.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


def pytest_configure(config: pytest.Config) -> None:
    """Have room for what the run says at its end."""
    config.stash[NOTES] = []
    # Ids may hold sets, whose order is then the same in all workers, and another at every run.
    if config.getoption("numprocesses", None):
        os.environ.setdefault("PYTHONHASHSEED", str(randrange(2**32)))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """Keep Python from looking for garbage among the tests, which all stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _folder(nodeid: str, folders: tuple[str, ...]) -> str:
    """Return in which of some folders a test is, empty if in none."""
    return next((folder for folder in folders if nodeid.startswith(f"{folder}/")), "")


class _ByFile(LoadScopeScheduling):  # type: ignore[misc]  # It has no types.
    """Gives each worker whole files, whose tests share fixtures and caches, and some folders whole."""

    def _split_scope(self, nodeid: str) -> str:
        return _folder(nodeid, SHARING) or nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Spread the tests over the workers in their order, by file."""
    # Files with many tests are not those that take long.
    config.option.loadscopereorder = False
    return _ByFile(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow folders, and refuse ids that are others in each worker, which could not share the tests."""
    for item in items:
        if _folder(item.nodeid, SLOW):
            item.add_marker(pytest.mark.slow)
    if unstable := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"these ids hold an address: {', '.join(unstable)}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the notes of a worker to the process that reports."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["notes"] = session.config.stash[NOTES]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the notes of a worker: each of them collects every test, so all say what cannot be tested."""
    notes = node.config.stash[NOTES]
    notes += [note for note in getattr(node, "workeroutput", {}).get("notes", []) if note not in notes]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show the notes, above the line that closes the run."""
    for note, is_bad in config.stash[NOTES]:
        terminalreporter.line(note, red=is_bad, bold=is_bad)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], str]:
    """Return the content of a name's golden file, beside the test; with --update-golden write it first."""

    def expected(name: str, actual: str) -> str:
        path = request.path.parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(actual, encoding="utf-8")
        return path.read_text(encoding="utf-8")

    return expected


@pytest.fixture
def wording(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Return the wording that the golden file of the test's module, beside it, has for the test case."""

    def expected(actual: str) -> str:
        path = request.path.parent / "golden" / f"{request.path.stem}.json"
        case = request.node.name
        if request.config.getoption("--update-golden"):
            texts = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            texts[case] = actual
            path.parent.mkdir(exist_ok=True)
            path.write_text(
                json.dumps(texts, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
            )
        return str(json.loads(path.read_text(encoding="utf-8"))[case])

    return expected

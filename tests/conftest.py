"""Settings of all tests."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

import pytest
from hypothesis import settings

# Two busy cores say nothing about speed, so no example has a deadline. In CI the examples are the same each
# time: a red run must be about the change; new examples are found at every other run.
settings.register_profile("evenkeel", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("evenkeel")


# A shell starts background jobs with SIGINT ignored, and they start programs in the same way.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], str]:
    """Return what the golden file of a name, beside the test, holds; with --update-golden write it first."""

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

"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import settings

# Two busy cores say nothing about speed, so no example has a deadline. In CI the examples are the same each
# time: a red run must be about the change; new examples are found at every other run.
settings.register_profile("evenkeel", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("evenkeel")


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

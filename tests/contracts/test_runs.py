"""The notes at the end of a run of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.for_each import for_each

ROOT = Path(__file__).parents[2]
#: Tests that need a browser, and some that need none.
TESTS = ("tests/browser/test_saved_views.py", "tests/browser/test_chromium.py")


@pytest.mark.slow
def test_what_was_not_tried_is_said_once() -> None:
    """Workers collect the tests, another process reports: it says what they left out, then closes the run."""
    command = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", *TESTS]
    environment = os.environ | {"EVENKEEL_CHROMIUM": "/no/chromium"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert 0 == done.returncode
    assert 1 == done.stdout.count("/no/chromium")
    assert " passed" in done.stdout.splitlines()[-1]


def test_a_test_of_many_lists_all_failures() -> None:
    """Each says of which value it is, and nothing that passes is named."""

    @for_each(["a", "", "b", ""], name=lambda text: f"text {text!r}")
    def is_empty(text: str) -> None:
        assert "" == text

    with pytest.raises(ExceptionGroup, match="2 of 4 fail") as caught:
        is_empty()
    assert [["text 'a'"], ["text 'b'"]] == [error.__notes__ for error in caught.value.exceptions]

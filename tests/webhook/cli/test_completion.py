"""Completion, as the shells ask for it."""

from __future__ import annotations

import os
import subprocess
import sys

_CODE = "import sys; sys.argv[0] = 'evenkeel'; from webhook.cli.main import run; run()"


def test_commands_are_completed() -> None:
    """What the bash function asks is answered with the commands that fit."""
    environment = {
        **os.environ,
        "_EVENKEEL_COMPLETE": "bash_complete",
        "COMP_WORDS": "evenkeel s",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", _CODE], capture_output=True, text=True, check=False, env=environment
    )

    assert ["plain,score", "plain,serve"] == done.stdout.split()

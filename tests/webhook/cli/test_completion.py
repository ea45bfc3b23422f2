"""Completion, as the shells and kubectl ask for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from webhook.cli.completion import command

_CODE = "import sys; sys.argv[0] = 'evenkeel'; from webhook.cli.main import run; run()"


def _complete(words: str) -> list[str]:
    """Ask as the bash function does for the last of the words."""
    environment = {
        **os.environ,
        "_EVENKEEL_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    done = subprocess.run(
        [sys.executable, "-c", _CODE], capture_output=True, text=True, check=False, env=environment
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("evenkeel s", ["plain,score", "plain,serve", "plain,snapshot"], id="commands"),
        pytest.param(
            "evenkeel lint --fail", ["plain,--fail-on", "plain,--fail-on-skipped"], id="an option of lint"
        ),
        pytest.param("evenkeel fix --in", ["plain,--inject"], id="an option of fix"),
        pytest.param("evenkeel lint --fail-on n", ["plain,note", "plain,never"], id="a value"),
    ],
)
def test_what_fits_is_completed(words: str, expected: list[str]) -> None:
    """What the bash function asks is answered with what fits."""
    assert expected == _complete(words)


def test_kubectl_asks_the_script_of_the_help(tmp_path: Path) -> None:
    """The script that the help gives answers what kubectl asks of it: the words after the plugin's name."""
    (script,) = re.findall(r"<<'EOF'\n(.*?)EOF\n", command.epilog or "", re.DOTALL)
    file = tmp_path / "kubectl_complete-evenkeel"
    file.write_text(script)
    file.chmod(0o755)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

    def ask(*words: str) -> list[str]:
        done = subprocess.run(
            [file, *words], capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}
        )
        return done.stdout.split()

    assert ["lint"] == ask("li")
    assert ["--diff"] == ask("fix", "--di")
    assert {"lint", "fix", "serve"} <= set(ask(""))

"""The commands of the README's table, which run as they stand in the folder of the examples."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from docs.generator.terminal import EXAMPLES
from webhook.cli import main

README = (Path(__file__).parents[2] / "README.md").read_text()
#: The command of each row, by its question.
COMMANDS = dict(re.findall(r"^\| (.*\?.*) \| `evenkeel (.*)` \|$", README, re.MULTILINE))
#: Ends with its server.
SERVES = "ui --cluster cluster.yaml"


def test_every_row_is_read() -> None:
    """The table has a header, a line below it, and questions."""
    assert len(re.findall(r"^\| ", README, re.MULTILINE)) == len(COMMANDS) + 1
    assert SERVES in COMMANDS.values()


@pytest.mark.parametrize(
    "command",
    [command for command in COMMANDS.values() if command != SERVES],
    ids=lambda text: text.split()[0],
)
def test_a_command_answers(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With findings or without: it read what it was given."""
    monkeypatch.chdir(shutil.copytree(EXAMPLES, tmp_path / "examples"))
    done = CliRunner().invoke(
        main.command, shlex.split(command), standalone_mode=False, catch_exceptions=False
    )

    assert done.return_value in (None, 0, 1)
    assert done.stdout

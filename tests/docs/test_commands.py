"""Every command that README and guide show: it runs as it stands in the folder of the examples.

Blocks that show output are run by the generator. Commands that need a live cluster are read as far as their
options go; what they print there is tested end to end.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from docs.generator.terminal import EXAMPLES
from tests.docs.examples_repository import examples_repository
from webhook.cli import main

ROOT = Path(__file__).parents[2]
#: On standard input of commands that read it.
WEB = (EXAMPLES / "web.yaml").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "conformance/README.md"]
_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
#: A file that a command writes.
_WRITTEN = re.compile(r"(?:> ?|snapshot -o )(\S+)")
#: A command in a row of a table.
_ROW = re.compile(r"^\| .*\? \| `(evenkeel .*)` \|$", re.MULTILINE)
#: Commands that are about an installation, or serve until they are ended.
NEED_A_CLUSTER = frozenset({"certs", "doctor", "serve", "snapshot", "ui"})
#: Words of the shell itself.
_SHELL = frozenset({"|", "&&", ">", "<"})


def _shown() -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield page and text of each command without output, and the files that its block has written."""
    for page in PAGES:
        text = page.read_text()
        for block in _BLOCK.findall(text):
            commands = _COMMAND.findall(block)
            if not any(output.strip() for _, output in commands):
                written: set[str] = set()
                for command, _ in commands:
                    written |= set(_WRITTEN.findall(command))
                    yield page.name, command.replace("\\\n", " "), frozenset(written)
        yield from ((page.name, command, frozenset()) for command in _ROW.findall(text))


def _of_evenkeel(line: str) -> Iterator[list[str]]:
    """Yield the arguments of each ``evenkeel`` of a line; a pipeline may have several."""
    words = shlex.split(line, comments=True)
    part: list[str] = []
    for word in [*words, "|"]:
        if word in _SHELL:
            if part[:2] == ["kubectl", "evenkeel"]:
                part = part[1:]
            if part[:1] == ["evenkeel"]:
                yield part[1:]
            part = []
            if word in (">", "<"):
                return
        else:
            part.append(word)


def _commands() -> Iterator[tuple[str, str, bool]]:
    for page, line, written in _shown():
        for words in _of_evenkeel(line):
            named = {"-f", "--file", "--cluster", "--from"} & set(words)
            live = words[0] in NEED_A_CLUSTER or "--live" in words or bool(written & set(words))
            live = live or (words[0] in {"explain", "rebalance", "rollout", "scale", "survive"} and not named)
            yield page, shlex.join(words), live


COMMANDS = list(dict.fromkeys(_commands()))


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the examples in a Git repository."""
    return examples_repository(tmp_path_factory.mktemp("docs") / "examples")


@pytest.mark.parametrize(("page", "command", "live"), COMMANDS, ids=str)
def test_a_command_answers(
    page: str, command: str, examples: Path, monkeypatch: pytest.MonkeyPatch, *, live: bool
) -> None:
    """With findings or without, it read what it was given."""
    monkeypatch.chdir(examples)
    words = shlex.split(command)
    if live:
        _read_options(words)
        return
    done = CliRunner().invoke(main.command, words, standalone_mode=False, catch_exceptions=False, input=WEB)

    assert done.return_value in (None, 0, 1), done.output


def _read_options(words: list[str]) -> None:
    """Read the options of a command and of the one below it, without running either."""
    command: click.Command = main.command
    context = click.Context(command)
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        command, context = found, click.Context(found, info_name=name, parent=context)
        if isinstance(command, click.Group) and not words:
            return
    command.parse_args(context, words)

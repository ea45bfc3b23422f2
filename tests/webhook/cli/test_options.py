"""Options that several commands have mean the same in each, and examples use those that there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click
import orjson
import pytest
import yaml
from click.testing import CliRunner

from policies.manifests.errors import UsageError
from webhook.cli import main
from webhook.cli.command import Command


def _find(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words name, and the words behind it."""
    command: click.Command = main.command
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None
        command, words = found, words[1:]
    return command, words


def _options(command: click.Command) -> set[str]:
    given = (each for each in command.params if isinstance(each, click.Option) and not each.hidden)
    return {name for option in given for name in option.opts}


def _commands(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), name)
            assert found is not None
            yield from _commands(found)


def test_examples_use_what_the_help_shows() -> None:
    """Each line that a help shows to type has options that it shows, too."""
    lines = [
        shlex.split(part[part.index("evenkeel ") :])
        for command in _commands(main.command)
        if isinstance(command, Command)
        for line in (command.epilog or "").splitlines()
        for part in re.split(" [&|#]+ ", line)
        if re.search("(?:^| )evenkeel [a-z]+", part)
    ]
    for words in lines:
        command, rest = _find(words[1:])
        long = {word.partition("=")[0] for word in rest if word.startswith("--")}

        assert long <= _options(command), words

    assert len(lines) > 50


def test_an_answer_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file after the format gets the text that standard output would."""
    monkeypatch.chdir("docs/examples")
    words = ["audit", "--cluster", "cluster.yaml", "--fail-on", "never", "-o"]
    printed, written = (
        CliRunner().invoke(main.command, [*words, form], standalone_mode=False, catch_exceptions=False)
        for form in ("text", f"text={tmp_path / 'audit.txt'}")
    )

    assert "" == written.stdout
    assert printed.stdout == (tmp_path / "audit.txt").read_text() != ""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param(["audit", "-A", "--cluster", "cluster.yaml"], 0, "", id="all, as without it"),
        pytest.param(["what-if", "--drain", "n1", "-A", "--cluster", "cluster.yaml"], 0, "", id="a drain"),
        pytest.param(["audit", "-A", "-n", "shop"], 2, "may not be combined", id="one, too"),
        pytest.param(["audit", "-n", "shop", "-A"], 2, "may not be combined", id="before it"),
        pytest.param(["explain", "deploy/web", "-A"], 2, "an object has one namespace", id="an object"),
    ],
)
def test_all_namespaces(words: list[str], code: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands on all workloads take kubectl's flag; where an object is meant it is refused."""
    monkeypatch.chdir("docs/examples")
    run = partial(CliRunner().invoke, main.command, standalone_mode=False)
    done = run(words)

    if code:
        assert isinstance(done.exception, UsageError)
        assert said in str(done.exception)
    else:
        without = run([word for word in words if word != "-A"])

        assert without.stdout == done.stdout != ""


@pytest.mark.parametrize(
    "words",
    [
        ["lint", "web.yaml"],
        ["policy", "check", "builtin:default"],
        ["policy", "preview", "-f", "builtin:default", "--cluster", "cluster.yaml"],
        ["plan", "web.yaml", "--cluster", "cluster.yaml"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_yaml_is_the_json(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both formats have the same fields in the same order."""
    monkeypatch.chdir("docs/examples")
    as_json, as_yaml = (
        CliRunner().invoke(main.command, [*words, "-o", form], standalone_mode=False).stdout
        for form in ("json", "yaml")
    )
    expected = orjson.loads(as_json)

    assert expected == yaml.safe_load(as_yaml)
    assert list(expected) == list(yaml.safe_load(as_yaml))

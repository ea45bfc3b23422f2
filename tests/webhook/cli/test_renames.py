"""Old names of commands and options: each works, is shown nowhere, and stderr says the new one."""

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
from webhook.cli import main, renames
from webhook.cli.command import Command

ROWS = [pytest.param(*row, id=row[0]) for row in renames.rows()]


def _find(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words name, and the words behind it."""
    command: click.Command = main.command
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None
        command, words = found, words[1:]
    return command, words


def _options(command: click.Command, *, hidden: bool) -> set[str]:
    given = (each for each in command.params if isinstance(each, click.Option) and each.hidden is hidden)
    return {name for option in given for name in option.opts}


@pytest.mark.parametrize(("old", "new", "goes"), ROWS)
def test_new_names_exist(old: str, new: str, *, goes: bool) -> None:
    """The new name in a row is a command with these options, which its help shows."""
    command, words = _find(new.split()[1:])
    long = {word for word in words if word.startswith("--")}

    assert old != new
    assert goes is (not old.startswith("evenkeel simulate ") or "--name" in old)
    assert long <= _options(command, hidden=False)


@pytest.mark.parametrize("command", sorted({*renames.MOVED, *renames.SPLIT}))
def test_hidden_options_are_declared(command: str) -> None:
    """Each option of the tables is one of its command, and is hidden there."""
    found, _ = _find(command.split())
    hidden = {option.name for option in found.params if isinstance(option, click.Option) and option.hidden}

    assert {*renames.MOVED.get(command, ()), *renames.SPLIT.get(command, ())} <= hidden


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

        assert long <= _options(command, hidden=False), words

    assert len(lines) > 50


def test_texts_use_new_names() -> None:
    """No text of the packages tells a person to type an old name."""
    old = [
        re.compile(rf"\b{command} (?:-[^\"`|\n]* )?{option}(?![\w-])") for command, option in _old_options()
    ]
    texts = [
        path
        for folder in ("policies", "webhook", "certs")
        for path in Path(folder).rglob("*.py")
        if path.name != "renames.py"
    ]

    assert [] == [
        (str(path), found.group())
        for path in texts
        for form in old
        if (found := form.search(path.read_text(encoding="utf-8")))
    ]
    assert old


def _old_options() -> Iterator[tuple[str, str]]:
    """Yield each old option with its command."""
    for old, _, _ in renames.rows():
        words = old.split()[1:]
        yield from ((" ".join(words[:at]), word) for at, word in enumerate(words) if word.startswith("--"))


@pytest.mark.parametrize(
    ("words", "code", "note"),
    [
        (["diff", "--to", "1.36", "--from", "1.33", "--cluster", "cluster.yaml"], 0, "evenkeel upgrade"),
        (["score", "-f", "web.yaml", "--cluster", "cluster.yaml", "-o", "table"], 1, "-o text"),
        (["explain", "-f", "web.yaml", "--name", "web", "--cluster", "cluster.yaml"], 1, "-f FILE KIND/NAME"),
        (["lint", "--list-rules"], 0, "evenkeel rule"),
        (["lint", "--no-config", "web.yaml"], 0, "--config none"),
        (["lint", "--statistics", "web.yaml"], 0, "-o wide"),
    ],
)
def test_old_names_work(words: list[str], code: int, note: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They do what they did, and one line of stderr says how it is called now."""
    monkeypatch.chdir("docs/examples")
    done = CliRunner().invoke(main.command, words, standalone_mode=False, catch_exceptions=False)

    assert code == (done.return_value or 0)
    assert 1 == done.stderr.count("works in this release only")
    assert f"is now {note}" in done.stderr


def test_split_options_work_without_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """The options of ``simulate`` that have a command of their own stay."""
    monkeypatch.chdir("docs/examples")
    cluster = ["-f", "web.yaml", "--cluster", "cluster.yaml"]
    for old, new in (
        (["simulate", "--scale", "2"], ["scale", "--replicas", "2"]),
        (["simulate", "--rollout"], ["rollout"]),
        (["simulate", "--lose", "zone=a", "--replicas=1"], ["what-if", "--lose", "zone=a", "--pods", "1"]),
    ):
        before, after = (
            CliRunner().invoke(
                main.command, [*words, *cluster], standalone_mode=False, catch_exceptions=False
            )
            for words in (old, new)
        )

        assert "" == before.stderr
        assert before.stdout == after.stdout != ""


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
        pytest.param(["survive", "zone", "--all", "-A", "--cluster", "cluster.yaml"], 0, "", id="all lost"),
        pytest.param(["audit", "-A", "-n", "shop"], 2, "may not be combined", id="one, too"),
        pytest.param(["audit", "-n", "shop", "-A"], 2, "may not be combined", id="before it"),
        pytest.param(["explain", "deploy/web", "-A"], 2, "an object has one namespace", id="an object"),
        pytest.param(["survive", "zone", "-f", "web.yaml", "-A"], 2, "only be used with --all", id="a file"),
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


def test_an_old_name_behind_two_dashes_is_a_value() -> None:
    """Arguments may be called as options were."""
    command, _ = _find(["simulate"])
    context = command.make_context(
        "simulate", ["--", "--replicas"], parent=click.Context(main.command, info_name="x")
    )

    assert ("--replicas",) == context.params["words"]

"""Laws of all commands: an option of one value is taken once, and a word means one thing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from webhook.cli.command import Command, SharedOption
from webhook.cli.main import command as root


def _commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from _commands(found, f"{path} {name}")
        elif found is not None:
            yield f"{path} {name}", found


ALL = dict(_commands(root, "evenkeel"))
#: All but the server, whose arguments a chart's users append to those of the chart.
COMMANDS = {name: found for name, found in ALL.items() if name != "evenkeel serve"}
#: Options whose values depend on the command: severities or causes, one number or a range of them, the
#: suggestion of several, a key in a file.
DIFFER = frozenset({"--fail-on", "--replicas", "--diff", "--key", "--format"})


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command(name: str) -> None:
    """All commands are of the class that refuses what would be dropped."""
    assert isinstance(COMMANDS[name], Command)


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_twice(name: str) -> None:
    """An option of one value that is there twice is refused by its name, whatever else is wrong."""
    options = [
        option
        for option in COMMANDS[name].params
        if isinstance(option, click.Option) and not (option.multiple or option.is_flag or option.count)
    ]
    for option in options:
        spelled = option.opts[-1]
        twice = [spelled, *["x"] * option.nargs] * 2
        with pytest.raises(click.UsageError, match=spelled):
            COMMANDS[name].make_context(name, twice)


def _visible(command: click.Command) -> list[click.Option]:
    return [each for each in command.params if isinstance(each, click.Option) and not each.hidden]


def test_an_option_has_one_kind_of_value() -> None:
    """The name of an option's value in the help is the same in every command."""
    kinds: dict[str, set[str]] = {}
    for command in ALL.values():
        for option in _visible(command):
            value = "" if option.is_flag else option.make_metavar(click.Context(command))
            kinds.setdefault(option.opts[-1], set()).add(value)

    assert DIFFER == {long for long, found in kinds.items() if len(found) > 1}
    assert not [long for long, found in kinds.items() if found & {"TEXT", "INTEGER", "FLOAT"}]


def test_what_many_commands_share_has_one_meaning() -> None:
    """A shared option has one text in all commands, and the help of each ends with those that it has."""
    texts: dict[str, set[str]] = {}
    for name, command in ALL.items():
        shared = [each for each in _visible(command) if isinstance(each, SharedOption)]
        for option in shared:
            texts.setdefault(option.opts[-1], set()).add(option.help or "")
        words = [*name.split()[1:], "--help"]
        _, _, last = CliRunner().invoke(root, words, terminal_width=200).stdout.partition("Shared options:\n")
        shown = re.findall(r"^ *(?:-., )?(--[a-z-]+) ", last, re.MULTILINE)
        assert sorted(shown) == sorted(each.opts[-1] for each in shared)

    assert {1} == {len(found) for found in texts.values()}

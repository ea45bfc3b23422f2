"""Laws of all commands: an option of one value is taken once, and a word means one thing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

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
#: Options whose values depend on the command: severities or damages, what there is to compare with, one
#: number or a range of them, the suggestion of several, a key in a file.
DIFFER = frozenset({"--fail-on", "--from", "--replicas", "--diff", "--key", "--format"})


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
        if isinstance(option, click.Option) and not (option.multiple or option.is_flag)
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


def test_what_many_commands_share_is_said_once() -> None:
    """A shared option has one text in all commands, and the command that describes it shows it."""
    texts: dict[tuple[str, str], set[str]] = {}
    for command in ALL.values():
        for option in _visible(command):
            if isinstance(option, SharedOption):
                texts.setdefault((option.described_by, option.opts[-1]), set()).add(option.help or "")
    run = partial(CliRunner().invoke, root, terminal_width=200)
    shown = {"lint": run(["lint", "--help"]).stdout, "options": run(["options"]).stdout}

    assert {1} == {len(found) for found in texts.values()}
    assert not [
        option for by, option in texts if not re.search(rf"^ *(?:-., )?{option} ", shown[by], re.MULTILINE)
    ]

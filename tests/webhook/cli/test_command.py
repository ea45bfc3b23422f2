"""Every command takes an option of one value once: no input is dropped because another was named after it."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from webhook.cli.command import Command
from webhook.cli.main import command as root


def _commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from _commands(found, f"{path} {name}")
        elif found is not None:
            yield f"{path} {name}", found


#: All but the server, whose arguments a chart's users append to those of the chart.
COMMANDS = {name: found for name, found in _commands(root, "evenkeel") if name != "evenkeel serve"}


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

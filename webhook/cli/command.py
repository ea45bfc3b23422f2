"""The class of all commands: examples below the options, each option of one value once, one end of errors.

click lets the last of two values win, so a file that was named first would not be read without notice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
from click.core import ParameterSource

from policies.manifests import fields
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.sanitize import printable_lines
from webhook.cli.terminal import ExitCode, finish

#: Where the context of a command has the names of its parameters in the order in which they were given.
OPTION_ORDER: Final = "evenkeel.option_order"
#: Where it has its arguments as they were given.
ARGUMENTS: Final = "evenkeel.arguments"
#: How values are called of which a file or folder is read.
_READ: Final = ("FILE", "FILE|deduced", "FILE...", "DIR", "DIR...", "PATH")


class SharedOption(click.Option):
    """An option that many commands have, with one meaning: their help ends with it."""


class Command(click.Command):
    """A command that knows in which order its options were given, and takes each of one value once.

    Args:
        examples: Lines to type, which are shown below the options as they stand.
        last_counts: Whether the last value of an option counts, as where charts put those of their users.
        sections: The titles below which the help shows options, by their names.
    """

    def __init__(
        self,
        name: str | None,
        *,
        examples: str = "",
        last_counts: bool = False,
        sections: Mapping[str, str] | None = None,
        **attributes: Any,
    ) -> None:
        # The backspace keeps click from wrapping them.
        super().__init__(name, epilog=f"\b\n{examples}" if examples else None, **attributes)
        self._last_counts = last_counts
        self._sections = sections or {}

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            click.UsageError: An option of one value is there twice, among all else that click finds.
        """
        context.meta[ARGUMENTS] = list(args)
        # click knows the order only while it parses.
        given, _, order = self.make_parser(context).parse_args(args=list(args))
        context.meta[OPTION_ORDER] = [parameter.name for parameter in order]
        for parameter, times in () if self._last_counts else Counter(order).items():
            if times > 1 and isinstance(parameter, click.Option) and _takes_one(parameter):
                context.fail(f"{'/'.join(parameter.opts)} is given {times} times, but takes one value")
        for parameter in dict.fromkeys(order):
            _refuse_addresses(parameter, given.get(parameter.name or ""))
        return super().parse_args(context, args)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in their sections, those that many commands have last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        shared: list[tuple[str, str]] = []
        for parameter in self.get_params(context):
            record = parameter.get_help_record(context)
            if record is None or isinstance(parameter, click.Argument):
                continue
            if isinstance(parameter, SharedOption):
                shared.append(record)
            else:
                sections.setdefault(self._section(parameter), []).append(record)
        for title, records in (*sections.items(), ("Shared options", shared)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def _section(self, parameter: click.Parameter) -> str:
        return self._sections.get(parameter.name or "", "Options")

    def invoke(self, context: click.Context) -> Any:
        """Run the command; what is wrong in its files is printed as it stands, for editors to jump to."""
        try:
            return super().invoke(context)
        except DocumentError as error:
            click.echo(printable_lines(str(error)), err=True)
            finish(ExitCode.BAD_INPUT)


class CommandGroup(click.Group):
    """A group of such commands."""

    command_class = Command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each with the first paragraph of its help."""
        names = self.list_commands(context)
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_paragraph(self.commands[name].help or "")) for name in names])

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named, as click does; of another one, say which was meant."""
        if self.get_command(context, args[0]) is None:
            refuse_command(context, args[0], self.list_commands(context))
        return super().resolve_command(context, args)


def refuse_command(context: click.Context, name: str, known: Sequence[str]) -> None:
    """Say that there is no such command, and which was meant.

    Raises:
        click.UsageError: Always, unless it is an option, of which click says it.
    """
    if not name.startswith("-"):
        hint = fields.did_you_mean(name, known) or f"; there are {', '.join(known)}"
        context.fail(f"no such command: {name!r}{hint}")


def is_given(*parameters: str) -> bool:
    """Return whether any of these options of the command that runs was given."""
    source = click.get_current_context().get_parameter_source
    return any(source(name) is ParameterSource.COMMANDLINE for name in parameters)


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join(text.partition("\n\n")[0].split())


def _refuse_addresses(parameter: click.Parameter, given: object) -> None:
    """Make sure that no address is where a file or folder is read.

    Raises:
        UsageError: One is.
    """
    if parameter.metavar not in _READ:
        return
    option = f"{parameter.opts[-1]}: " if isinstance(parameter, click.Option) else ""
    for value in given if isinstance(given, list | tuple) else [given]:
        if isinstance(value, str) and "://" in value:
            from webhook.lint.files import NO_ADDRESS

            raise UsageError(f"{option}{fields.shown_name(value)}: {NO_ADDRESS}")


def _takes_one(option: click.Option) -> bool:
    return not (option.multiple or option.is_flag or option.count)

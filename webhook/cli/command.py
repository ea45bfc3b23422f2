"""The class of all commands: examples below the options, each option of one value once, one end of errors.

click lets the last of two values win, so a file that was named first would not be read without notice.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import click

from policies.manifests.errors import DocumentError
from policies.manifests.sanitize import printable_lines
from webhook.cli.terminal import ExitCode, finish

#: Where the context of a command has the names of its parameters in the order in which they were given.
OPTION_ORDER: Final = "evenkeel.option_order"


class Command(click.Command):
    """A command that knows in which order its options were given, and takes each of one value once.

    Args:
        examples: Lines to type, which are shown below the options as they stand.
        last_counts: Whether the last value of an option counts, as where charts put those of their users.
    """

    def __init__(
        self, name: str | None, *, examples: str = "", last_counts: bool = False, **attributes: Any
    ) -> None:
        # The backspace keeps click from wrapping them.
        super().__init__(name, epilog=f"\b\n{examples}" if examples else None, **attributes)
        self._last_counts = last_counts

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            click.UsageError: An option of one value is there twice, among all else that click finds.
        """
        # click knows the order only while it parses.
        _, _, order = self.make_parser(context).parse_args(args=list(args))
        context.meta[OPTION_ORDER] = [parameter.name for parameter in order]
        for parameter, times in () if self._last_counts else Counter(order).items():
            if times > 1 and isinstance(parameter, click.Option) and _takes_one(parameter):
                context.fail(f"{'/'.join(parameter.opts)} is given {times} times, but takes one value")
        return super().parse_args(context, args)

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


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join(text.partition("\n\n")[0].split())


def _takes_one(option: click.Option) -> bool:
    return not (option.multiple or option.is_flag or option.count)
